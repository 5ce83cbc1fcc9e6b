// SPDX-License-Identifier: BSD-3-Clause
#include "price/bound.h"

#include <algorithm>
#include <vector>

#include "base/amounts.h"

namespace tutti::price {
namespace {

// Through any host's link, one way.
uint64_t host_bytes(const sched::Shape& shape, const topo::Placement& placement) {
    const uint64_t hosts = placement.nodes();
    const uint64_t root_members = placement.members(placement.node_of(shape.root)).size();
    if (!has_data(shape.collective)) return 0;
    if (shape.collective == TUTTI_ALLREDUCE) {
        // Patarasuk, Yuan 2007, lemma 1, with hosts for processes. Multicast does not help: for
        // each element hosts - 1 receptions join the operands before the first host has the result,
        // and as many others bring it to the rest.
        return 2 * (hosts - 1) * (shape.bytes / hosts) +
               2 * (hosts - 1) * (shape.bytes % hosts) / hosts;
    }
    if (is_vector(shape.collective)) return shape.bytes;
    // Blocks of all others go to, or come from, one host, or each.
    const uint64_t members = has_root(shape.collective) ? root_members : placement.members_min();
    return (placement.ranks() - members) * shape.bytes;
}

// Through a switch's link to the one above it, one way. members: ranks on hosts below the switch,
// of which one is the root if has_root.
uint64_t trunk_bytes(const sched::Shape& shape, uint64_t members, bool has_root) {
    const uint64_t others = shape.ranks - members;
    if (!has_data(shape.collective)) return 0;
    if (is_vector(shape.collective)) return shape.bytes;
    if (tutti::has_root(shape.collective)) return (has_root ? others : members) * shape.bytes;
    return std::max(members, others) * shape.bytes;
}

// A time for the links between switches: something of every collective passes each of them that has
// ranks on both sides.
uint64_t trunk_ns(const sched::Shape& shape, const topo::Placement& placement,
                  const topo::Fabric& fabric) {
    std::vector<uint64_t> members(fabric.switches());
    std::vector<bool> has_root(fabric.switches());
    for (uint32_t host = 0; host < placement.nodes(); ++host) {
        const bool is_root = host == placement.node_of(shape.root);
        for (uint32_t at = fabric.switch_of_host[host]; at != topo::kNoSwitch;
             at = fabric.parent_of_switch[at]) {
            members[at] += placement.members(host).size();
            if (is_root) has_root[at] = true;
        }
    }
    const std::vector<uint32_t> hosts = fabric.hosts_of_switch();
    uint64_t most_ns = 0;
    for (uint32_t at = 0; at < fabric.switches(); ++at) {
        if (members[at] == 0 || members[at] == placement.ranks()) continue;
        // From a host up to the switch, by the link, and down, by another one if no host is there.
        const uint32_t hops = hosts[fabric.parent_of_switch[at]] > 0 ? 3 : 4;
        const uint64_t bytes = trunk_bytes(shape, members[at], has_root[at]);
        most_ns = std::max(most_ns,
                           fabric.latency_ns * hops / 2 + bits_ns(bytes, fabric.trunk_bits_per_s));
    }
    return most_ns;
}

}  // namespace

uint64_t bound_ns(const sched::Shape& shape, const topo::Placement& placement,
                  const topo::Fabric& fabric) {
    if (shape.bytes == 0 && shape.collective != TUTTI_BARRIER) return 0;
    const uint64_t near_ns =
        fabric.latency_ns + bits_ns(host_bytes(shape, placement), fabric.host_bits_per_s);
    return std::max(near_ns, trunk_ns(shape, placement, fabric));
}

}  // namespace tutti::price
