// SPDX-License-Identifier: BSD-3-Clause
// What a call costs, counted from the real schedules of its ranks.
#pragma once

#include <cstdint>

#include "algo/registry.h"
#include "check/count.h"
#include "sched/shape.h"
#include "topo/placement.h"

namespace tutti::cli {

// Following every message of a schedule takes about a microsecond each.
inline constexpr uint64_t kOperationsMax = 4'000'000;
// Beyond that, so many ranks speak for all.
inline constexpr uint32_t kSampleRanks = 64;

struct Cost {
    bool is_followed = false;  // whether the rounds are known
    uint64_t rounds = 0;
    check::Count most;  // of the rank that has most, each number by itself
};

// Rounds of all lanes of all ranks: near the number of operations.
uint64_t operations_about(const algo::Algorithm& algorithm, const sched::Shape& shape,
                          const topo::Placement& placement, const algo::Tuning& tuning);

// The algorithm has no obstacle.
Cost cost_of(const algo::Algorithm& algorithm, const sched::Shape& shape,
             const topo::Placement& placement, const algo::Tuning& tuning);

}  // namespace tutti::cli
