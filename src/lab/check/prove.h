// SPDX-License-Identifier: BSD-3-Clause
// The proof of a whole collective from the Programs of all its ranks: they run against each other
// in the abstract, every ready operation posted, a send complete only when its receive is posted,
// and a multicast only when all ranks have begun it. Since all operations of a rank that touch the
// same bytes are shown to be ordered, what one such run does, every run does.
//
// Proved, with buffers apart and with the input in place:
//   - every output byte holds what the collective says: each contribution exactly once; under an
//     operator that does not commute, in the order of ranks; in an allreduce, folded in the same
//     order on every rank, operand by operand, so that all get the same bits (in a scan each rank
//     has a result of its own);
//   - a barrier lets nobody go before everybody came;
//   - nothing deadlocks; every message has both its ends, equally long, numbered as program.h says;
//   - every multicast is sent by one rank and received by all others, with the same order and
//     length everywhere, and gets through with no more under way than program.h allows;
//   - two operations of a rank that touch the same bytes, one of them writing, are ordered by the
//     rules of program.h, for which lanes need node operations: the order of multicasts alone is
//     not taken for an order of lanes; nothing is read before it is written; input is never
//     written;
//   - blocks stay within their buffers, lanes and rounds within their bounds, vectors are cut
//     between elements only;
//   - node operations agree on all members of a node; those that move nothing make nobody wait.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/topo/placement.h"
#include "lab/check/pair_blocks.h"
#include "plan/sched/program.h"
#include "plan/sched/shape.h"

namespace tutti::check {

using sched::Program;
using sched::Shape;

// Lines beyond this are not collected: most faults bring others with them.
inline constexpr size_t kFaultLinesMax = 20;

// What is proved beyond that, where it is asked for.
struct Demands {
    bool left_fold = false;  // of a reduction: ((r0 + r1) + r2) + ..., for TUTTI_REPRODUCIBLE
};

struct Faults {
    std::vector<std::string> lines;  // empty: proved
};

// programs[r] is rank r's; placement tells which of them share a node (node operations need it).
// Takes time and memory in proportion to operations and to the pieces in which buffers are cut, not
// to bytes. blocks: of a vector form whose lengths only pairs of ranks know; the programs are given
// theirs. nullptr: all blocks are as long as the shape says.
Faults prove(const Shape& shape, const topo::Placement& placement,
             std::span<const std::unique_ptr<Program>> programs, const Demands& demands = {},
             const PairBlocks* blocks = nullptr);

}  // namespace tutti::check
