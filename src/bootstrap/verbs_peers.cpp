// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/verbs_peers.h"

#include <algorithm>

#include "algo/halving.h"
#include "topo/switch_order.h"

namespace tutti::bootstrap {
namespace {

// Of node number `own` in the order that this placement has: the ranks at this place.
void add_near(std::vector<uint32_t>& peers, const topo::Placement& placement, uint32_t own,
              uint32_t place, const topo::SwitchOrder* switches) {
    const uint32_t nodes = placement.nodes();
    const auto add = [&](uint64_t node) {
        peers.push_back(placement.members(static_cast<uint32_t>(node % nodes))[place]);
    };
    for (uint64_t distance = 1; distance < nodes; distance *= 2) {
        add(own + distance);
        add(own + nodes - distance);
    }
    const algo::HalvingTree tree(nodes, 0, own, switches);
    if (!tree.is_root()) add(tree.parent());
    for (uint32_t i = 0; i < tree.children(); ++i) add(tree.child(i).leader);
}

}  // namespace

std::vector<uint32_t> verbs_peers(const topo::Placement& placement, uint32_t rank) {
    std::vector<uint32_t> peers;
    const uint32_t node = placement.node_of(rank);
    const uint32_t place = placement.index_on_node(rank);
    if (placement.ranks() - placement.members_min() <= kPeersOfAllMax) {
        for (uint32_t peer = 0; peer < placement.ranks(); ++peer) {
            if (placement.node_of(peer) != node) peers.push_back(peer);
        }
        return peers;
    }
    if (place >= placement.members_min()) return peers;
    add_near(peers, placement, node, place, nullptr);
    if (const topo::OnSwitches* on = placement.switches()) {
        add_near(peers, on->placement(), on->placement().node_of(rank), place, &on->order());
    }
    std::ranges::sort(peers);
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    return peers;
}

}  // namespace tutti::bootstrap
