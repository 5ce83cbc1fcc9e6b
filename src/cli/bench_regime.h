// SPDX-License-Identifier: BSD-3-Clause
// Whether the cores stayed where they were while something was measured. A virtual machine's are
// moved between one die and two, and every figure of a node hangs on that.
#pragma once

#include <algorithm>

namespace tutti::cli {

// Microseconds that a flag needs from one core to another, one way.
struct FlagLatency {
    double before_us = 0;
    double after_us = 0;
};

// On a virtual AMD EPYC the flag needs 0.04 to 0.07 us within a die and 0.21 to 0.28 between two: a
// factor of 3 at least from one place to another, and of 1.3 within a minute in one place.
inline constexpr double kMovedFactor = 1.6;

inline bool cores_moved(const FlagLatency& flag) {
    const auto [low, high] = std::minmax(flag.before_us, flag.after_us);
    return high > kMovedFactor * low;
}

}  // namespace tutti::cli
