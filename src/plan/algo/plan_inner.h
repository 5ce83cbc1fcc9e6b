// SPDX-License-Identifier: BSD-3-Clause
// What a plan has inside: the rounds of the algorithm itself. Inside algo/ only.
#pragma once

#include <cstdint>
#include <memory>

#include "plan/algo/algorithms.h"
#include "plan/algo/plan_layout.h"

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

// Where a buffer of the algorithm stands in those of the call.
struct Mapped {
    sched::Buffer buffer = sched::Buffer::kNone;
    uint64_t offset = 0;
};

// How inner rounds stand in a lane of a rank's Program.
struct InnerPlace {
    uint64_t lane = 0;
    Mapped input;
    Mapped output;
    uint64_t scratch_offset = 0;     // of the algorithm's own
    uint64_t multicasts_before = 0;  // in earlier lanes
    bool follows_opening = false;
    // What the algorithm receives into its output is nothing that the opening touches.
    bool lands_apart = false;
};
// Puts one of them into `out`, as ranks and the call's buffers have it.
void read_inner(const Inner& inner, uint64_t round, const Layout& layout, const InnerPlace& place,
                sched::Round& out);

}  // namespace tutti::algo
