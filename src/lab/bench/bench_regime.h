// SPDX-License-Identifier: BSD-3-Clause
// Whether the cores stayed where they were while something was measured. A virtual machine's are
// moved between one die and two, and every figure of a node hangs on that.
#pragma once

#include "run/node/tuning.h"

namespace tutti::bench {

// Microseconds that a flag needs from one core to another, one way.
struct FlagLatency {
    double before_us = 0;
    double after_us = 0;
};

inline bool cores_moved(const FlagLatency& flag) {
    return node::has_moved(flag.before_us, flag.after_us);
}

}  // namespace tutti::bench
