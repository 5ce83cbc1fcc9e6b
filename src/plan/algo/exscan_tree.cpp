// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan up and down a binary tree in the order of ranks: see scan_tree.h.
#include "plan/algo/scan_tree.h"

namespace tutti::algo {

Algorithm exscan_tree() {
    return {.name = ScanTree::kName,
            .collective = TUTTI_EXSCAN,
            .summary = "segments up and down a binary tree",
            .make = [](const Shape& shape, Rank rank, const Tuning&) -> std::unique_ptr<Program> {
                return std::make_unique<ScanTree>(shape, rank, true);
            },
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                return shape.ranks == 1 ? 0 : ScanTree::areas(true) * align_up(shape.bytes);
            },
            .steps = scan_tree_steps,
            .segment_bytes = kChainSegment,
            .lanes_in_flight = kReturningLanes};
}

}  // namespace tutti::algo
