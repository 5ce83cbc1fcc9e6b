// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/bound.h"

#include <algorithm>
#include <vector>

#include "base/amounts.h"

namespace tutti::price {
namespace {

// Ranks on one side of a link or of several side by side: on the host, or below the switch.
struct Side {
    uint64_t members = 0;
    bool has_root = false;
    // Of a vector form: the blocks of these ranks.
    uint64_t own_bytes = 0;
    // Of a scan: ranks here before one on the other side, and ranks there before one here.
    uint64_t leaving = 0;
    uint64_t entering = 0;
};

Side side_of_host(const sched::Shape& shape, const topo::Placement& placement, uint32_t host) {
    if (host >= placement.nodes()) return {};
    Side side{placement.members(host).size(), host == placement.node_of(shape.root)};
    if (shape.lengths.are_there()) {
        for (const uint32_t rank : placement.members(host)) {
            side.own_bytes += shape.block_bytes(rank);
        }
    }
    if (!is_prefix(shape.collective)) return side;
    for (const uint32_t rank : placement.members(host)) {
        const bool is_last = rank + 1 == shape.ranks;
        if (!is_last && placement.node_of(rank + 1) != host) ++side.leaving;
        if (rank > 0 && placement.node_of(rank - 1) != host) ++side.entering;
    }
    return side;
}

// Of the switches above one host: those that are not above the other one.
template <class Visit>
void visit_above(const topo::Fabric& fabric, uint32_t host, uint32_t other, Visit visit) {
    const auto is_above_other = [&](uint32_t at) {
        uint32_t above = fabric.switch_of_host[other];
        while (above != topo::kNoSwitch && above != at) above = fabric.parent_of_switch[above];
        return above == at;
    };
    for (uint32_t at = fabric.switch_of_host[host]; at != topo::kNoSwitch;
         at = fabric.parent_of_switch[at]) {
        if (is_above_other(at)) return;
        visit(at);
    }
}

// By switch.
std::vector<Side> sides_of_switches(const sched::Shape& shape, const topo::Placement& placement,
                                    const topo::Fabric& fabric) {
    std::vector<Side> sides(fabric.switches());
    for (uint32_t host = 0; host < placement.nodes(); ++host) {
        const Side own = side_of_host(shape, placement, host);
        for (uint32_t at = fabric.switch_of_host[host]; at != topo::kNoSwitch;
             at = fabric.parent_of_switch[at]) {
            sides[at].members += own.members;
            sides[at].has_root |= own.has_root;
            sides[at].own_bytes += own.own_bytes;
        }
    }
    if (!is_prefix(shape.collective)) return sides;
    for (sched::Rank rank = 1; rank < shape.ranks; ++rank) {
        const uint32_t from = placement.node_of(rank - 1);
        const uint32_t to = placement.node_of(rank);
        visit_above(fabric, from, to, [&](uint32_t at) { ++sides[at].leaving; });
        visit_above(fabric, to, from, [&](uint32_t at) { ++sides[at].entering; });
    }
    return sides;
}

bool is_cut(const sched::Shape& shape, const Side& side) {
    return side.members > 0 && side.members < shape.ranks;
}

// What leaves a side, or comes to it, whichever is more; there are ranks on both.
uint64_t cut_bytes(const sched::Shape& shape, const Side& side) {
    const uint64_t others = shape.ranks - side.members;
    if (!has_data(shape.collective)) return 0;
    // Of each stretch of ranks that ends there before a rank here, the fold must come by itself: an
    // operator with an inverse gives it from the results and vectors here.
    if (is_prefix(shape.collective)) return std::max(side.leaving, side.entering) * shape.bytes;
    if (is_vector(shape.collective)) return shape.bytes;
    if (is_between_all(shape.collective)) return side.members * others * shape.bytes;
    if (has_root(shape.collective)) return (side.has_root ? others : side.members) * shape.bytes;
    // All blocks here go there, or partial results of those there.
    if (shape.lengths.are_there()) {
        return std::max(side.own_bytes, shape.all_blocks_bytes() - side.own_bytes);
    }
    return std::max(side.members, others) * shape.bytes;
}

// Through some host's link, one way. Patarasuk, Yuan 2007, lemma 1, with hosts for processes: that
// is the mean of all. Multicast does not help: for each element hosts - 1 receptions join the
// operands before the first host has the result, and as many others bring it to the rest.
uint64_t allreduce_bytes(const sched::Shape& shape, const topo::Placement& placement) {
    const uint64_t hosts = placement.nodes();
    return 2 * (hosts - 1) * (shape.bytes / hosts) +
           2 * (hosts - 1) * (shape.bytes % hosts) / hosts;
}

// The mean rate of the hosts' links, which all together carry what lemma 1 says; rounded up.
uint64_t mean_rate(const topo::Placement& placement, const topo::Fabric& fabric) {
    uint64_t whole = 0;
    uint64_t rest = 0;
    const uint64_t hosts = placement.nodes();
    for (uint32_t host = 0; host < hosts; ++host) {
        const uint64_t rate = fabric.link_bits_per_s(2 * host);
        whole += rate / hosts;
        rest += rate % hosts;
    }
    return whole + (rest + hosts - 1) / hosts;
}

// The quickest link of its kind, this way: 0 up, 1 down.
uint64_t least_host_ns(const topo::Placement& placement, const topo::Fabric& fabric, uint32_t way) {
    uint64_t least = UINT64_MAX;
    for (uint32_t host = 0; host < placement.nodes(); ++host) {
        least = std::min(least, fabric.link_latency_ns(2 * host + way));
    }
    return least;
}

uint64_t least_trunk_ns(const topo::Fabric& fabric, uint32_t way) {
    uint64_t least = UINT64_MAX;
    for (uint32_t at = 0; at < fabric.switches(); ++at) {
        if (fabric.parent_of_switch[at] == topo::kNoSwitch) continue;
        least = std::min(least, fabric.link_latency_ns(fabric.first_link(at) + way));
    }
    return least;
}

// A time for the links of hosts.
uint64_t hosts_ns(const sched::Shape& shape, const topo::Placement& placement,
                  const topo::Fabric& fabric) {
    const uint64_t least_up_ns = least_host_ns(placement, fabric, 0);
    const uint64_t least_down_ns = least_host_ns(placement, fabric, 1);
    uint64_t most_ns = 0;
    for (uint32_t host = 0; host < placement.nodes(); ++host) {
        const Side side = side_of_host(shape, placement, host);
        const uint64_t bytes = is_cut(shape, side) ? cut_bytes(shape, side) : 0;
        // It sends or receives.
        const uint64_t way_ns = std::min(fabric.link_latency_ns(2 * host) + least_down_ns,
                                         least_up_ns + fabric.link_latency_ns(2 * host + 1));
        most_ns = std::max(most_ns, way_ns + bits_ns(bytes, fabric.link_bits_per_s(2 * host)));
    }
    if (shape.collective != TUTTI_ALLREDUCE) return most_ns;
    return std::max(most_ns,
                    least_up_ns + least_down_ns +
                        bits_ns(allreduce_bytes(shape, placement), mean_rate(placement, fabric)));
}

// A time for the links between switches: something of every collective passes each cut that has
// ranks on both sides.
uint64_t trunks_ns(const sched::Shape& shape, const topo::Placement& placement,
                   const topo::Fabric& fabric) {
    if (fabric.switches() == 1) return 0;
    const std::vector<Side> sides = sides_of_switches(shape, placement, fabric);
    const std::vector<uint32_t> hosts = fabric.hosts_of_switch();
    // From a host up to the switch, by the link, and down, by another one if no host is there.
    const uint64_t up_ns = least_host_ns(placement, fabric, 0);
    const uint64_t down_ns = least_host_ns(placement, fabric, 1);
    const uint64_t far_down_ns = least_trunk_ns(fabric, 1) + down_ns;
    uint64_t most_ns = 0;
    for (uint32_t at = 0; at < fabric.switches(); ++at) {
        if (!is_cut(shape, sides[at])) continue;
        const uint32_t link = fabric.first_link(at);
        const bool is_near = hosts[fabric.parent_of_switch[at]] > 0;
        const uint64_t way_ns =
            up_ns + fabric.link_latency_ns(link) + (is_near ? down_ns : far_down_ns);
        // n links side by side have n times the rate of one.
        const uint64_t links = fabric.links_up(at);
        const uint64_t bytes = cut_bytes(shape, sides[at]);
        most_ns = std::max(
            most_ns, way_ns + bits_ns((bytes + links - 1) / links, fabric.link_bits_per_s(link)));
    }
    return most_ns;
}

}  // namespace

uint64_t bound_ns(const sched::Shape& shape, const topo::Placement& placement,
                  const topo::Fabric& fabric) {
    if (shape.bytes == 0 && shape.collective != TUTTI_BARRIER) return 0;
    if (placement.nodes() == 1) return 0;
    return std::max(hosts_ns(shape, placement, fabric), trunks_ns(shape, placement, fabric));
}

LeastLoad least_load(const sched::Shape& shape, const topo::Placement& placement,
                     const topo::Fabric& fabric) {
    LeastLoad most;
    const auto consider = [&](uint64_t bytes, uint64_t bits_per_s) {
        const uint64_t ns = bits_ns(bytes, bits_per_s);
        if (ns > most.ns) most = {bytes, ns};
    };
    // The mean of all hosts comes first: where their links are alike, it is what each carries.
    if (shape.collective == TUTTI_ALLREDUCE) {
        consider(allreduce_bytes(shape, placement), mean_rate(placement, fabric));
    }
    for (uint32_t host = 0; host < placement.nodes(); ++host) {
        const Side side = side_of_host(shape, placement, host);
        if (!is_cut(shape, side)) continue;
        consider(cut_bytes(shape, side), fabric.link_bits_per_s(2 * host));
    }
    const std::vector<Side> sides = sides_of_switches(shape, placement, fabric);
    for (uint32_t at = 0; at < fabric.switches(); ++at) {
        if (!is_cut(shape, sides[at])) continue;
        const uint64_t links = fabric.links_up(at);
        consider((cut_bytes(shape, sides[at]) + links - 1) / links,
                 fabric.link_bits_per_s(fabric.first_link(at)));
    }
    return most;
}

}  // namespace tutti::price
