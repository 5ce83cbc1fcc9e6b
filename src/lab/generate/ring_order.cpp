// SPDX-License-Identifier: BSD-3-Clause
#include "lab/generate/ring_order.h"

#include "base/topo/switch_order.h"

namespace tutti::generate {

std::vector<Stop> make_ring(const topo::SwitchTree& tree, std::span<const uint64_t> host_of_rank) {
    std::vector<Stop> ring;
    std::vector<size_t> stop_of_host(tree.place_of_host.size());
    const topo::SwitchOrder order(tree);
    for (const uint32_t host : order.nodes()) {
        stop_of_host[host] = ring.size();
        ring.push_back({host, {}});
    }
    for (uint32_t rank = 0; rank < host_of_rank.size(); ++rank) {
        ring[stop_of_host[host_of_rank[rank]]].ranks.push_back(rank);
    }
    std::erase_if(ring, [](const Stop& stop) { return stop.ranks.empty(); });
    return ring;
}

std::vector<uint32_t> ranks_of(std::span<const Stop> ring) {
    std::vector<uint32_t> ranks;
    for (const Stop& stop : ring) ranks.insert(ranks.end(), stop.ranks.begin(), stop.ranks.end());
    return ranks;
}

}  // namespace tutti::generate
