// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan by recursive doubling, in the fewest stages: see exscan_doubling.h.
#include "plan/algo/exscan_doubling.h"

namespace tutti::algo {

Algorithm exscan_doubling() {
    return {.name = ExscanDoubling::kName,
            .collective = TUTTI_EXSCAN,
            .summary = "whole vectors up the line of ranks, over doubling distances",
            .make = [](const Shape& shape, Rank rank, const Tuning&) -> std::unique_ptr<Program> {
                return std::make_unique<ExscanDoubling>(shape, rank, false);
            },
            .scratch_bytes = exscan_doubling_scratch};
}

}  // namespace tutti::algo
