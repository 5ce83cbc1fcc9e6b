// SPDX-License-Identifier: BSD-3-Clause
// The writes of a pair, by number from 1: how many are under way.
#pragma once

#include <cstdint>

#include "base/assert.h"

namespace tutti::transport::verbs {

// Writes that may be under way; as many, and those that only look whether the other end is there.
inline constexpr uint32_t kSends = 64;
// While so many are, none of long messages is added. More than kSignalEvery, so that one is told.
inline constexpr uint32_t kLongSends = 16;
// At least every so many writes one is signaled; see Slots::must_signal().
inline constexpr uint32_t kSignalEvery = 8;
static_assert(kLongSends > kSignalEvery && kLongSends < kSends);

class WriteCount {
  public:
    [[nodiscard]] bool may_begin() const { return last_ - complete_ < kSends; }
    // One from the program's memory: some are left for slots, and what goes by slots waits for no
    // more than these, as a queue pair keeps the order.
    [[nodiscard]] bool may_begin_long() const { return last_ - complete_ < kLongSends; }
    // The number of one that begins.
    uint64_t begin() { return ++last_; }
    [[nodiscard]] uint64_t last() const { return last_; }
    // All up to this one are complete.
    void complete(uint64_t number) {
        TUTTI_ASSERT(number <= last_, "only what was written is complete");
        if (number > complete_) complete_ = number;
    }
    [[nodiscard]] bool is_complete(uint64_t number) const { return number <= complete_; }

  private:
    uint64_t last_ = 0;
    uint64_t complete_ = 0;
};

}  // namespace tutti::transport::verbs
