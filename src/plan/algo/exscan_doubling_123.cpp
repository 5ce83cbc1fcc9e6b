// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan by recursive doubling over the distances 1, 2, 3, 6, 12 ...: see
// exscan_doubling.h.
#include "plan/algo/exscan_doubling.h"

namespace tutti::algo {

Algorithm exscan_doubling_123() {
    return {
        .name = ExscanDoubling::kName123,
        .collective = TUTTI_EXSCAN,
        .summary = "over the distances 1, 2, 3, 6, 12 ...: one fold a stage, at times a stage more",
        .make = [](const Shape& shape, Rank rank, const Tuning&) -> std::unique_ptr<Program> {
            return std::make_unique<ExscanDoubling>(shape, rank, true);
        },
        .scratch_bytes = exscan_doubling_scratch,
        // ceil(log2(p - 1) + log2(4/3)); two ranks have one stage.
        .steps = [](const Shape& shape, const Tuning&) -> uint64_t {
            const uint64_t others = shape.ranks - uint64_t{1};
            return others <= 1 ? others : 2 + ceil_log2((others + 2) / 3);
        }};
}

}  // namespace tutti::algo
