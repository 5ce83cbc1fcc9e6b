// SPDX-License-Identifier: BSD-3-Clause
// Reduce along a chain in the order of ranks: see reduce_chain.h.
#include "plan/algo/reduce_chain.h"

namespace tutti::algo {

Algorithm reduce_chain() {
    return {.name = ReduceChain::kName,
            .collective = TUTTI_REDUCE,
            .summary = "segments along a chain, folded from the left: the canonical order",
            .make = [](const Shape& shape, Rank rank, const Tuning&) -> std::unique_ptr<Program> {
                return std::make_unique<ReduceChain>(shape, rank, false);
            },
            .scratch_bytes = reduce_chain_scratch,
            .steps = [](const Shape& shape, const Tuning&) -> uint64_t { return shape.ranks; },
            .segment_bytes = kChainSegment,
            .lanes_in_flight = kReturningLanes,
            .folds_from_left = true};
}

}  // namespace tutti::algo
