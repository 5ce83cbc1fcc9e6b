// SPDX-License-Identifier: BSD-3-Clause
// What a plan has inside: the rounds of the algorithm itself. Inside algo/ only.
#pragma once

#include <cstdint>
#include <memory>

#include "plan/algo/algorithms.h"

namespace tutti::algo {

// The algorithm's Program of the own node, for lanes of one length.
struct Inner {
    // None: this rank takes no part in them.
    Inner() = default;
    // is_told: the node's other members are told by multicasts.
    Inner(std::unique_ptr<Program> made, bool is_told);

    std::unique_ptr<Program> program;
    sched::Extent extent;
    // Where the closing operation goes, counted from the first inner round, and what of the round
    // before it waits for: it reads what the inner rounds wrote and need not wait for their sends.
    uint64_t closing_round = 0;
    uint64_t closing_after = sched::kAfterAll;
    // The first round of those with multicasts, which are the last ones.
    uint64_t telling_round = 0;
};

}  // namespace tutti::algo
