// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/rdma/rdma_peers.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/assert.h"
#include "base/topo/switch_order.h"
#include "plan/algo/counter_tree.h"
#include "plan/algo/plan.h"
#include "plan/algo/registry.h"

namespace tutti::networks::rdma {
namespace {

// Between them they have the peers of all whose ranks send to few: ring, chain and bruck go where
// dissemination goes, scatter and gather along the tree of binomial, rabenseifner as pairwise.
struct Named {
    tutti_collective collective;
    std::string_view name;
};
constexpr std::array<Named, 5> kAlgorithms = {{{TUTTI_BARRIER, "dissemination"},
                                               {TUTTI_BARRIER, "tree"},
                                               {TUTTI_BCAST, "binomial"},
                                               {TUTTI_ALLREDUCE, "pairwise"},
                                               {TUTTI_ALLGATHER, "recursive_doubling"}}};

// With whom node number `own` of this order of nodes talks there: the ranks at this place. Root is
// the first node; that of a call changes few of a tree's edges.
void add_of(std::vector<uint32_t>& peers, const algo::Algorithm& algorithm,
            const topo::Placement& placement, uint32_t own, uint32_t place,
            const topo::SwitchOrder* switches) {
    sched::Shape shape;
    shape.collective = algorithm.collective;
    shape.ranks = placement.nodes();
    shape.bytes = algorithm.collective == TUTTI_BARRIER ? 0 : 1;
    shape.switches = switches;
    const auto program = algorithm.make(shape, own, {});
    const sched::Extent extent = program->extent();
    sched::Round round;
    for (uint64_t i = 0; i < extent.rounds; ++i) {
        program->read(0, i, round);
        for (const sched::Operation& one : round) {
            if (!sched::is_message(one.kind)) continue;
            peers.push_back(placement.members(one.peer)[place]);
        }
    }
}

}  // namespace

std::vector<uint32_t> peers_of(const topo::Placement& placement, uint32_t rank) {
    std::vector<uint32_t> peers;
    const uint32_t node = placement.node_of(rank);
    const uint32_t place = placement.index_on_node(rank);
    static_assert(kPeersOfAllMax == algo::kOneCounterMax, "one counter is connected with all");
    if (placement.ranks() - placement.members_min() <= kPeersOfAllMax) {
        for (uint32_t peer = 0; peer < placement.ranks(); ++peer) {
            if (placement.node_of(peer) != node) peers.push_back(peer);
        }
        return peers;
    }
    if (place >= placement.members_min()) return peers;
    for (const Named& named : kAlgorithms) {
        const algo::Algorithm* algorithm = algo::find(named.collective, named.name);
        TUTTI_ASSERT(algorithm, "the registry has it");
        add_of(peers, *algorithm, placement, node, place, nullptr);
        const auto along = algo::along_switches(*algorithm, placement);
        if (!along) continue;
        add_of(peers, *algorithm, *along->placement, along->placement->node_of(rank), place,
               along->switches);
    }
    std::ranges::sort(peers);
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    return peers;
}

bool all_reach_first(const topo::Placement& placement) {
    return placement.ranks() == placement.nodes() && placement.ranks() <= kPeersOfAllMax + 1;
}

}  // namespace tutti::networks::rdma
