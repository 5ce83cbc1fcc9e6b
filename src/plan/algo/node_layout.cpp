// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/node_layout.h"

#include <array>

#include "base/collectives.h"
#include "plan/sched/operation_kinds.h"

namespace tutti::algo {
namespace {

using sched::OperationKind;

constexpr Spots everywhere(Spot spot) { return {spot, spot, spot}; }

constexpr NodeLayout kNoNodeLevel{.opening = {},
                                  .input = everywhere(Spot::kInput),
                                  .output = everywhere(Spot::kOutput),
                                  .closing = {}};

// Blocks that are alike, and such as differ in length.
constexpr NodeLayout kOfAllgather{
    .opening = {OperationKind::kNodeGather, Amount::kLane, Amount::kNode},
    .input = {.alone = Spot::kInput, .elsewhere = Spot::kNodeOut},
    .output = everywhere(Spot::kAllOut),
    .closing = {OperationKind::kNodeBcast, Amount::kAll, Amount::kAll},
    .packing = Packing::kBehind,
    .lands_apart = true,
    .streams = true};
// Likewise.
constexpr NodeLayout kOfReduceScatter{
    .opening = {OperationKind::kNodeReduce, Amount::kAll, Amount::kAll},
    .input = {.alone = Spot::kAllIn, .elsewhere = Spot::kScratch},
    .output = {.alone = Spot::kOutput, .elsewhere = Spot::kBehind},
    .closing = {OperationKind::kNodeScatter, Amount::kLane, Amount::kNode},
    .scratch = Amount::kAll,
    .behind = Amount::kNode,
    .packing = Packing::kBefore,
    .lands_apart = true};

// At the root no scratch is taken: what it would hold stands in output (gather, reduce) or input
// (scatter) already.
constexpr std::array<NodeLayout, TUTTI_COLLECTIVE_COUNT> kNodeLayouts = {{
    // barrier
    {.opening = {OperationKind::kNodeArrive},
     .input = {},
     .output = everywhere(Spot::kOutput),
     .closing = {OperationKind::kNodeRelease},
     .lands_apart = true},
    // bcast
    {.opening = {},
     .input = {},
     .output = everywhere(Spot::kOutput),
     .closing = {OperationKind::kNodeBcast, Amount::kLane, Amount::kLane}},
    // reduce
    {.opening = {OperationKind::kNodeReduce, Amount::kLane, Amount::kLane},
     .input = {Spot::kInput, Spot::kOutput, Spot::kScratch},
     .output = everywhere(Spot::kOutput),
     .closing = {},
     .scratch = Amount::kLane},
    // allreduce
    {.opening = {OperationKind::kNodeReduce, Amount::kLane, Amount::kLane},
     .input = {.alone = Spot::kInput, .elsewhere = Spot::kOutput},
     .output = everywhere(Spot::kOutput),
     .closing = {OperationKind::kNodeBcast, Amount::kLane, Amount::kLane}},
    // gather
    {.opening = {OperationKind::kNodeGather, Amount::kLane, Amount::kNode},
     .input = {Spot::kInput, Spot::kNodeOut, Spot::kScratch},
     .output = everywhere(Spot::kAllOut),
     .closing = {},
     .scratch = Amount::kNode,
     .packing = Packing::kBehind,
     .lands_apart = true},
    // scatter
    {.opening = {},
     .input = everywhere(Spot::kAllIn),
     .output = {Spot::kOutput, Spot::kNodeIn, Spot::kScratch},
     .closing = {OperationKind::kNodeScatter, Amount::kLane, Amount::kNode},
     .scratch = Amount::kNode,
     .packing = Packing::kBefore,
     .lands_apart = true},
    // allgather
    kOfAllgather,
    // reduce_scatter_block
    kOfReduceScatter,
    // alltoall
    {.opening = {OperationKind::kNodeGather, Amount::kAll, Amount::kAllOfNode},
     .input = {.alone = Spot::kInput, .elsewhere = Spot::kBehind},
     .output = {.alone = Spot::kOutput, .elsewhere = Spot::kScratch},
     .closing = {OperationKind::kNodeScatter, Amount::kAll, Amount::kAllOfNode},
     .scratch = Amount::kAllOfNode,
     .behind = Amount::kAllOfNode,
     .sorts = true},
    // scan: among nodes see plan_prefix.h
    {.opening = {OperationKind::kNodeScan, Amount::kLane, Amount::kLane},
     .input = {.alone = Spot::kInput, .elsewhere = Spot::kOutput},
     .output = {.alone = Spot::kOutput, .elsewhere = Spot::kScratch},
     .closing = {OperationKind::kNodeBcast, Amount::kLane, Amount::kLane},
     .scratch = Amount::kLane,
     .lands_apart = true},
    // exscan: likewise
    {.opening = {OperationKind::kNodeExscan, Amount::kLane, Amount::kLane},
     .input = {.alone = Spot::kInput, .elsewhere = Spot::kOutput},
     .output = {.alone = Spot::kOutput, .elsewhere = Spot::kScratch},
     .closing = {OperationKind::kNodeBcast, Amount::kLane, Amount::kLane},
     .scratch = Amount::kLane,
     .behind = Amount::kLane,
     .lands_apart = true},
    kNoNodeLevel,      // gatherv
    kNoNodeLevel,      // scatterv
    kOfAllgather,      // allgatherv
    kNoNodeLevel,      // alltoallv
    kNoNodeLevel,      // alltoallw
    kOfReduceScatter,  // reduce_scatter
}};

constexpr bool are_sound() {
    for (size_t i = 0; i < kNodeLayouts.size(); ++i) {
        const NodeLayout& one = kNodeLayouts[i];
        const Collective& what = kCollectives[i];
        if (!has_node_level(one)) continue;
        // What is packed before is what an opening brings, if there is one.
        const bool takes_all = !one.opening.kind || one.opening.member == Amount::kAll;
        if (one.packing == Packing::kBefore && (!takes_all || what.input.holds != Holds::kAll)) {
            return false;
        }
        if (one.packing == Packing::kBehind && what.output.holds != Holds::kAll) return false;
        // Operands are folded before the leaders do, and nothing else is.
        const bool folds = one.opening.kind && sched::row_of(*one.opening.kind).folds;
        if (folds != is_reduction(what)) return false;
    }
    return true;
}
static_assert(are_sound());

}  // namespace

const NodeLayout& node_layout(tutti_collective collective) { return kNodeLayouts[collective]; }

}  // namespace tutti::algo
