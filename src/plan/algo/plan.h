// SPDX-License-Identifier: BSD-3-Clause
// From an algorithm to what a rank of the team really does: vectors are cut into lanes that run as
// a pipeline, and around every lane stands the node level.
//
// Where nodes have several ranks, the algorithm's participants are the nodes. In each lane one rank
// of a node is its leader (the root on its own node; of a scan the last rank; otherwise the ranks
// take turns by lane where Tuning::leaders says so), and
//   barrier    node arrive; barrier of the leaders; node release
//   bcast      bcast of the leaders beside node bcast, lane by lane
//   reduce     node reduce; reduce of the leaders
//   allreduce  node reduce; allreduce of the leaders; node bcast
//   gather     node gather; gather of the leaders (blocks of a node together)
//   scatter    scatter of the leaders; node scatter
//   allgather  node gather; allgather of the leaders; node bcast of what came
//   reduce_scatter_block  node reduce; reduce_scatter_block of the leaders; node scatter
//   allgatherv, reduce_scatter  likewise, a node's block being those of its ranks together, which
//              the node gathers or scatters by their lengths where these differ
//   alltoall   node gather of all blocks; alltoall of the leaders (blocks of a pair of nodes
//              together); node scatter
//   scan       node scan; exclusive scan of the leaders; node bcast of what it gave; folds of that
// What the leaders multicast reaches all ranks of all nodes, so it takes the place of the node's
// closing operation: the other members receive what their leader multicasts or receives so.
// Node operations are numbered so that all members of a node run them in the same order: with W
// lanes in flight, the W first lanes' opening operations, then by turns a lane's closing ones and
// the opening ones of the lane that takes its slot. Some calls run without the node level (flat):
// scans and non-commutative operators over nodes whose ranks are not consecutive; over such nodes
// gather, scatter, allgather and reduce_scatter, of blocks alike or not, beyond kPackedBytesMax,
// and each alltoall; alltoall where all blocks of a node's ranks are beyond it; and algorithms that
// ask for it.
//
// Where the placement knows the switches, nodes take part in the order of a walk through them
// (base/topo/switch_order.h): rings and chains pass each link once each way, trees are cut between
// switches; algorithms that reach far take part in that order dealt out. Not where the order of
// ranks is to be kept and differs: operators that do not commute, algorithms that fold from the
// left, blocks too long to be packed, Tuning::order. Ranks that are participants by themselves go
// host after host along the same walk, where no blocks would be packed for it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/topo/placement.h"
#include "plan/algo/registry.h"

namespace tutti::algo {

// All blocks together. Packing reads and writes each byte once more at memory speed, which is less
// than a second passage through the network; the bound is for the scratch memory that it takes.
inline constexpr uint64_t kPackedBytesMax = 16u << 20;

// The order in which nodes take part, and where trees are cut in it; none: in the middle.
struct Followed {
    const topo::Placement* placement = nullptr;
    const topo::SwitchOrder* switches = nullptr;
};
// That of the switches that an algorithm follows, unless the call minds; none: that of ranks.
std::optional<Followed> along_switches(const Algorithm& algorithm,
                                       const topo::Placement& placement);

// The Program of `rank`. shape.ranks are the ranks of the placement, shape.nodes is not set; shape
// and the algorithm must go together (see obstacle below). The placement must outlive the Program.
std::unique_ptr<Program> make_plan(const Algorithm& algorithm, const Shape& shape,
                                   const topo::Placement& placement, Rank rank,
                                   const Tuning& tuning);

// The Programs of all ranks, likewise.
using Programs = std::vector<std::unique_ptr<Program>>;
Programs make_plans(const Algorithm& algorithm, const Shape& shape,
                    const topo::Placement& placement, const Tuning& tuning);

// What the participants of a plan do among themselves in its first lane, without the node level
// around it. The placement must outlive it and its programs.
struct InnerLane {
    const Algorithm* algorithm = nullptr;
    Shape shape;  // of the lane, ranks being participants
    Tuning tuning;
    std::vector<uint32_t> node_of;  // of the placement, by participant: several on one where flat
    uint64_t lanes = 1;
    uint32_t lanes_in_flight = 1;
    sched::OwnLengths lengths = {};  // to which the shape may refer

    // As those who price take it.
    [[nodiscard]] std::unique_ptr<Program> program(Rank participant) const {
        const auto made_by = algorithm->has_bundles() ? algorithm->make_priced : algorithm->make;
        return made_by(shape, participant, tuning);
    }
};
InnerLane inner_lane(const Algorithm& algorithm, const Shape& shape,
                     const topo::Placement& placement, const Tuning& tuning);

// As Algorithm::obstacle, for the shape that the algorithm would see inside the plan.
std::string_view plan_obstacle(const Algorithm& algorithm, const Shape& shape,
                               const topo::Placement& placement, const Tuning& tuning);

// Whether ranks of a node have leaders that take part for them; else every rank does by itself.
bool has_leaders(tutti_collective collective);

// What the leader of the fullest node copies before, and again behind, what leaders do, to sort
// blocks by nodes and by ranks; 0: nothing is sorted.
uint64_t plan_sorted_bytes(const Algorithm& algorithm, const Shape& shape,
                           const topo::Placement& placement, const Tuning& tuning);

// The most scratch that any rank's plan takes, all slots together, in bytes.
uint64_t plan_scratch_bytes(const Algorithm& algorithm, const Shape& shape,
                            const topo::Placement& placement, const Tuning& tuning);

}  // namespace tutti::algo
