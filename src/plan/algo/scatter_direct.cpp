// SPDX-License-Identifier: BSD-3-Clause
// Scatter in which the root sends every rank its block: see rooted_direct.h.
#include "plan/algo/rooted_direct.h"

namespace tutti::algo {

Algorithm scatter_direct() {
    return {.name = RootedDirect::kName,
            .collective = TUTTI_SCATTER,
            .summary = "the root sends to every rank",
            .obstacle = if_block_too_long,
            .make = make<RootedDirect>,
            .steps = one_step,
            .has_single_blocks = true,
            .has_fan_in = true,
            .fan_in_max = RootedDirect::kAtOnceMax};
}

}  // namespace tutti::algo
