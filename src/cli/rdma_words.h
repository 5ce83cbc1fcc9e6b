// SPDX-License-Identifier: BSD-3-Clause
// What `tutti explain` says of messages by RDMA.
#pragma once

#include "sched/shape.h"
#include "select/select.h"
#include "topo/placement.h"

namespace tutti::cli {

// A line: with how many others each rank is connected, what that registers, and, where that is not
// too much to follow, how many of the chosen algorithm's messages go so. For a team whose members
// all have a port.
void print_rdma(const sched::Shape& shape, const topo::Placement& placement,
                const select::Choice& choice);

}  // namespace tutti::cli
