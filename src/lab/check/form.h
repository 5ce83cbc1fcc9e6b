// SPDX-License-Identifier: BSD-3-Clause
// Checks of each Program by itself, operation by operation: blocks within their buffers, numbers
// within their bounds, messages ascending, the orders of node operations and of multicasts without
// gaps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/topo/placement.h"
#include "lab/check/pair_blocks.h"
#include "plan/sched/operation_kinds.h"
#include "plan/sched/program.h"
#include "plan/sched/shape.h"

namespace tutti::check {

using sched::Block;
using sched::Buffer;
using sched::Operation;
using sched::Program;
using sched::Rank;
using sched::Shape;

// The blocks of an operation that it reads and writes.
struct Touched {
    Block reads[2];  // operands that stay as they are
    Block landing;   // kRecvReduce: where the message is received into; kMeet: its message buffer
    Block to;
};
// is_root: of a node operation.
Touched touched(const Operation& op, bool is_root);

// Whether its members wait for each other: where nothing moves, each is done at once by itself.
inline bool is_meeting(const Operation& op) {
    if (sched::has_no_blocks(op.kind)) return true;
    return sched::node_bytes(op) != 0 || sched::root_block(op).bytes != 0;
}

// Appends lines to `faults`, which it leaves at most `lines_max` long. blocks: see prove().
void check_form(const Shape& shape, const topo::Placement& placement,
                std::span<const std::unique_ptr<Program>> programs, const PairBlocks* blocks,
                size_t lines_max, std::vector<std::string>& faults);

}  // namespace tutti::check
