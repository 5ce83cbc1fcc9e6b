// SPDX-License-Identifier: BSD-3-Clause
// What a call costs by an algorithm: rounds, messages and bytes, counted from the schedules that
// its ranks would run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/topo/placement.h"
#include "lab/check/count.h"
#include "plan/algo/registry.h"
#include "plan/sched/program.h"
#include "plan/sched/shape.h"

namespace tutti::explain {

// Following every message of a schedule takes about a microsecond each.
inline constexpr uint64_t kOperationsMax = 4'000'000;
// Beyond that, so many ranks speak for all.
inline constexpr uint32_t kSampleRanks = 64;

// Rounds of all lanes of all ranks, full ones counted as several: near the number of operations.
uint64_t operations_about(const algo::Algorithm& algorithm, const sched::Shape& shape,
                          const topo::Placement& placement, const algo::Tuning& tuning);

struct Cost {
    bool is_followed = false;  // whether the rounds are known
    uint64_t rounds = 0;
    check::Count most;  // of the rank that has most, each number by itself
};

// Of all ranks' programs.
Cost cost_of(const topo::Placement& placement,
             std::span<const std::unique_ptr<sched::Program>> programs);
// Of some that speak for all; the rounds stay unknown.
Cost cost_of_some(std::span<const std::unique_ptr<sched::Program>> programs);
// The algorithm has no obstacle.
Cost cost_of(const algo::Algorithm& algorithm, const sched::Shape& shape,
             const topo::Placement& placement, const algo::Tuning& tuning);

}  // namespace tutti::explain
