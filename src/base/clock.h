// SPDX-License-Identifier: BSD-3-Clause
// Time is an argument; code that must read it gets a Clock. Only the engine's border, transport/
// and cli/ make a real one.
#pragma once

#include <cstdint>

namespace tutti {

inline constexpr uint64_t kNsPerSecond = 1'000'000'000;

class Clock {
  public:
    virtual ~Clock() = default;
    // Monotone, nanoseconds, origin unspecified.
    virtual uint64_t now_ns() = 0;
};

}  // namespace tutti
