// SPDX-License-Identifier: BSD-3-Clause
#include "topo/multicast_tree.h"

#include "base/assert.h"

namespace tutti::topo {

MulticastTree::MulticastTree(const Fabric& fabric, std::span<const uint32_t> hosts)
    : hosts_(fabric.hosts()),
      switch_of_host_(fabric.switch_of_host),
      parent_of_switch_(fabric.parent_of_switch),
      down_links_(fabric.switches()) {
    TUTTI_ASSERT(!hosts.empty(), "a team has members");
    std::vector<uint32_t> members_below(fabric.switches());
    for (const uint32_t host : hosts) {
        down_links_[switch_of_host_[host]].push_back(2 * host + 1);
        for (uint32_t at = switch_of_host_[host]; at != kNoSwitch; at = parent_of_switch_[at]) {
            ++members_below[at];
        }
    }
    top_ = switch_of_host_[hosts[0]];
    while (members_below[top_] < hosts.size()) top_ = parent_of_switch_[top_];
    for (uint32_t at = 0; at < fabric.switches(); ++at) {
        const uint32_t parent = parent_of_switch_[at];
        if (parent != kNoSwitch && members_below[at] > 0) {
            down_links_[parent].push_back(2 * (hosts_ + at) + 1);
        }
    }
}

// The switch to which a link leads that does not end at a host.
uint32_t MulticastTree::end_of(uint32_t link) const {
    if (link < 2 * hosts_) return switch_of_host_[link / 2];
    const uint32_t at = link / 2 - hosts_;
    return link % 2 == 0 ? parent_of_switch_[at] : at;
}

}  // namespace tutti::topo
