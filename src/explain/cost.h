// SPDX-License-Identifier: BSD-3-Clause
// The cost of an algorithm for a call, from the schedules that it would run.
#pragma once

#include <cstdint>

#include "algo/registry.h"
#include "price/cost.h"
#include "sched/shape.h"
#include "topo/placement.h"

namespace tutti::explain {

// Following every message of a schedule takes about a microsecond each.
inline constexpr uint64_t kOperationsMax = 4'000'000;
// Beyond that, so many ranks speak for all.
inline constexpr uint32_t kSampleRanks = 64;

// Rounds of all lanes of all ranks: near the number of operations.
uint64_t operations_about(const algo::Algorithm& algorithm, const sched::Shape& shape,
                          const topo::Placement& placement, const algo::Tuning& tuning);

// The algorithm has no obstacle.
price::Cost cost_of(const algo::Algorithm& algorithm, const sched::Shape& shape,
                    const topo::Placement& placement, const algo::Tuning& tuning);

}  // namespace tutti::explain
