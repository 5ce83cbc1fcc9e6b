// SPDX-License-Identifier: BSD-3-Clause
// Reduce along a chain that ends at the root: see reduce_chain.h.
#include "plan/algo/reduce_chain.h"

namespace tutti::algo {

Algorithm reduce_rotated_chain() {
    return {.name = ReduceChain::kRotatedName,
            .collective = TUTTI_REDUCE,
            .summary = "segments along a chain that ends at the root",
            .obstacle = unless_commutative,
            .make = [](const Shape& shape, Rank rank, const Tuning&) -> std::unique_ptr<Program> {
                return std::make_unique<ReduceChain>(shape, rank, true);
            },
            .scratch_bytes = reduce_chain_scratch,
            .steps = passing_steps,
            .segment_bytes = kChainSegment};
}

}  // namespace tutti::algo
