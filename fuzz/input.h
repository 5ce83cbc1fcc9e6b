// SPDX-License-Identifier: BSD-3-Clause
// Numbers from what the fuzzer gives.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::fuzz {

// Zero where the input has ended.
class Input {
  public:
    Input(const uint8_t* data, size_t bytes) : data_(data), left_(bytes) {}
    [[nodiscard]] bool is_empty() const { return left_ == 0; }
    uint32_t below(uint32_t bound) {
        uint32_t value = 0;
        for (int i = 0; i < 2 && left_ > 0; ++i, --left_) value = value << 8 | *data_++;
        return value % bound;
    }

  private:
    const uint8_t* data_;
    size_t left_;
};

}  // namespace tutti::fuzz
