// SPDX-License-Identifier: BSD-3-Clause
// Gather in which every rank sends its block straight to the root: see rooted_direct.h.
#include "plan/algo/rooted_direct.h"

namespace tutti::algo {

Algorithm gather_direct() {
    return {.name = RootedDirect::kName,
            .collective = TUTTI_GATHER,
            .summary = "every rank sends to the root",
            .obstacle = if_block_too_long,
            .make = make<RootedDirect>,
            .steps = one_step,
            .has_single_blocks = true,
            .has_fan_in = true,
            .fan_in_max = RootedDirect::kAtOnceMax};
}

}  // namespace tutti::algo
