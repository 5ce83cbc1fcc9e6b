// SPDX-License-Identifier: BSD-3-Clause
// Gatherv in which every rank sends its block straight to the root: see gather_direct.h.
#include "plan/algo/gather_direct.h"

namespace tutti::algo {

Algorithm gatherv_direct() {
    return {.name = GatherDirect::kName,
            .collective = TUTTI_GATHERV,
            .summary = "every rank sends to the root",
            .make = make<GatherDirect>,
            .steps = one_step,
            .has_single_blocks = true,
            .has_fan_in = true};
}

}  // namespace tutti::algo
