// SPDX-License-Identifier: BSD-3-Clause
// What a call costs: rounds, messages and bytes, counted from the real schedules of its ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "check/count.h"
#include "sched/program.h"
#include "topo/placement.h"

namespace tutti::price {

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

}  // namespace tutti::price
