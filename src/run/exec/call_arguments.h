// SPDX-License-Identifier: BSD-3-Clause
// What a call gives to the Program that runs it, as plan/sched/program.h names it.
#pragma once

#include <cstdint>

#include "plan/sched/program.h"
#include "run/exec/executor.h"
#include "run/node/node_team.h"

namespace tutti::exec {

// The buffers. In place, one of them stands inside the other.
Arguments arguments_of(const node::Call& call, uint32_t rank);
// Of a vector form whose lengths not all ranks know: its blocks, but for those that are not
// significant on this rank.
sched::CallBlocks blocks_of(const node::Call& call, uint32_t rank);

}  // namespace tutti::exec
