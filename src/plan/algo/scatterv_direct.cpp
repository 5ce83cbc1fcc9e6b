// SPDX-License-Identifier: BSD-3-Clause
// Scatterv in which the root sends every rank its block: see scatter_direct.h.
#include "plan/algo/scatter_direct.h"

namespace tutti::algo {

Algorithm scatterv_direct() {
    return {.name = ScatterDirect::kName,
            .collective = TUTTI_SCATTERV,
            .summary = "the root sends to every rank",
            .make = make<ScatterDirect>,
            .steps = one_step,
            .has_single_blocks = true,
            .has_fan_in = true};
}

}  // namespace tutti::algo
