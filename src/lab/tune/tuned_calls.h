// SPDX-License-Identifier: BSD-3-Clause
// Which calls `tutti tune` measures, and which algorithms run beside your MPI's own.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/topo/placement.h"
#include "plan/algo/registry.h"
#include "plan/select/by_price.h"

namespace tutti::tune {

// Of a vector, or of one rank's block; the barrier has none.
inline constexpr auto kSizes = std::to_array<uint64_t>(
    {8, 128, 1u << 10, 4u << 10, 16u << 10, 64u << 10, 256u << 10, 1u << 20, 4u << 20});

struct Candidate {
    std::string algorithm;  // as a rule names it
    algo::Tuning tuning = {};
    // As TUTTI_ALLREDUCE takes it: "ring:segment=64K,lanes=4".
    [[nodiscard]] std::string text() const;
    bool operator==(const Candidate&) const = default;
};

struct PlannedCall {
    tutti_collective collective = TUTTI_BARRIER;
    uint64_t bytes = 0;
    std::vector<Candidate> candidates;  // the likeliest first
    uint64_t ns = 0;                    // what the first one will take
};

// Of all collectives, the shortest calls first, so that what there is no time for are the longest.
// Candidates across hosts: the cheapest tuning of the cheapest three algorithms by price, but none
// of thrice the lowest price; what the built-in rules choose; and what multicasts, which has no
// price yet. On one host the node level.
std::vector<PlannedCall> plan_calls(const topo::Placement& placement,
                                    const select::Cluster& cluster);

}  // namespace tutti::tune
