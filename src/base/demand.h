// SPDX-License-Identifier: BSD-3-Clause
// How much something that is not there yet would have been used.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti {

// By the calls of a team, whose members count the same ones, and so know alike when it is worth the
// time that it takes to bring it.
class Demand {
  public:
    // Each call counts for call_bytes and for what it moves; so many in all are enough.
    constexpr Demand(uint64_t call_bytes, uint64_t enough_bytes)
        : call_bytes_(call_bytes), enough_bytes_(enough_bytes) {}
    void await() { is_awaited_ = true; }
    void end() { is_awaited_ = false; }
    [[nodiscard]] bool is_awaited() const { return is_awaited_; }
    void count(uint64_t bytes) {
        if (!is_awaited_ || is_enough()) return;
        counted_bytes_ += call_bytes_ + std::min(bytes, enough_bytes_);
    }
    [[nodiscard]] bool is_enough() const { return counted_bytes_ >= enough_bytes_; }

  private:
    const uint64_t call_bytes_;
    const uint64_t enough_bytes_;
    uint64_t counted_bytes_ = 0;
    bool is_awaited_ = false;
};

}  // namespace tutti
