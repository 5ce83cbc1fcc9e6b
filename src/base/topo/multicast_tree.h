// SPDX-License-Identifier: BSD-3-Clause
// The part of a fabric over which a team's multicasts go: from the sender's host up to the lowest
// switch that has all members below it, and from every switch that they pass down to all others.
// Each of its links carries a multicast once, in one direction. Of parallel links all multicasts of
// a team take the one that leads to its lowest host: a switch's table names one way for a group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/topo/fabric.h"

namespace tutti::topo {

class MulticastTree {
  public:
    // hosts: those of the members, each once, at least one.
    MulticastTree(const Fabric& fabric, std::span<const uint32_t> hosts);

    // Links in Fabric's numbers. The first one of a sender's multicasts; the tree has other hosts.
    [[nodiscard]] static uint32_t first_link(uint32_t host) { return 2 * host; }
    // Calls visit(link) for each link that follows on this one: none behind that to a host.
    template <class Visit>
    void for_each_next(uint32_t link, const Visit& visit) const;
    // Whether the link ends at a host, and at which.
    [[nodiscard]] bool ends_at_host(uint32_t link) const {
        return fabric_.is_host_link(link) && link % 2 == 1;
    }
    [[nodiscard]] static uint32_t host_of(uint32_t link) { return link / 2; }

  private:
    [[nodiscard]] uint32_t end_of(uint32_t link) const;

    [[nodiscard]] uint32_t link_above(uint32_t at) const {
        return fabric_.first_link(at) + 2 * (lowest_number_ % fabric_.links_up(at));
    }

    Fabric fabric_;
    uint32_t lowest_number_ = 0;  // of the hosts
    uint32_t top_ = 0;
    std::vector<std::vector<uint32_t>> down_links_;  // by switch, of those with members behind them
};

template <class Visit>
void MulticastTree::for_each_next(uint32_t link, const Visit& visit) const {
    if (ends_at_host(link)) return;
    const bool climbs = link % 2 == 0;
    const uint32_t at = end_of(link);
    for (const uint32_t down : down_links_[at]) {
        // Not back to where it comes from.
        if (!climbs || down != link + 1) visit(down);
    }
    if (climbs && at != top_) visit(link_above(at));
}

}  // namespace tutti::topo
