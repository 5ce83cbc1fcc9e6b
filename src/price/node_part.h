// SPDX-License-Identifier: BSD-3-Clause
// What the node level around a schedule takes.
#pragma once

#include <cstdint>

#include "price/parameters.h"
#include "sched/program.h"

namespace tutti::price {

// A node operation of a node of so many ranks, by what the node level would do (node/cost.h) on
// the way that all take with all: of its root, or of the next rank, whichever takes longer.
uint64_t node_operation_ns(const sched::Operation& operation, uint32_t members,
                           const NodeParameters& parameters);

}  // namespace tutti::price
