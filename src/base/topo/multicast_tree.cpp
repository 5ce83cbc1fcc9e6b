// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/multicast_tree.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::topo {

MulticastTree::MulticastTree(const Fabric& fabric, std::span<const uint32_t> hosts)
    : fabric_(fabric), down_links_(fabric.switches()) {
    TUTTI_ASSERT(!hosts.empty(), "a team has members");
    lowest_number_ = UINT32_MAX;
    for (const uint32_t host : hosts) {
        lowest_number_ = std::min(lowest_number_, fabric.number_of(host));
    }
    const auto& parents = fabric_.parent_of_switch;
    std::vector<uint32_t> members_below(fabric.switches());
    for (const uint32_t host : hosts) {
        down_links_[fabric.switch_of_host[host]].push_back(2 * host + 1);
        for (uint32_t at = fabric.switch_of_host[host]; at != kNoSwitch; at = parents[at]) {
            ++members_below[at];
        }
    }
    top_ = fabric.switch_of_host[hosts[0]];
    while (members_below[top_] < hosts.size()) top_ = parents[top_];
    for (uint32_t at = 0; at < fabric.switches(); ++at) {
        if (parents[at] != kNoSwitch && members_below[at] > 0) {
            down_links_[parents[at]].push_back(link_above(at) + 1);
        }
    }
}

// The switch to which a link leads that does not end at a host.
uint32_t MulticastTree::end_of(uint32_t link) const {
    if (fabric_.is_host_link(link)) return fabric_.switch_of_host[link / 2];
    const uint32_t at = fabric_.switch_below(link);
    return link % 2 == 0 ? fabric_.parent_of_switch[at] : at;
}

}  // namespace tutti::topo
