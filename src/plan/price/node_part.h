// SPDX-License-Identifier: BSD-3-Clause
// The time of the node level around a schedule.
#pragma once

#include <cstdint>

#include "plan/price/cluster_parameters.h"
#include "plan/sched/program.h"

namespace tutti::price {

struct NodeTimes {
    uint64_t all_ns = 0;   // of its root, or of the next rank, whichever takes longer
    uint64_t root_ns = 0;  // that its root's processor copies and folds
};

// A node operation of a node of so many ranks, by what the node level would do (run/node/cost.h) on
// the way that all take with all.
NodeTimes node_operation_times(const sched::Operation& operation, uint32_t members,
                               const NodeParameters& parameters);

}  // namespace tutti::price
