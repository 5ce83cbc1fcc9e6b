// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/outline.h"

#include <algorithm>
#include <numeric>

namespace tutti::price {
namespace {

// Hosts below each switch.
std::vector<uint64_t> hosts_below(const topo::Fabric& fabric) {
    std::vector<uint64_t> below(fabric.switches());
    for (uint32_t at : fabric.switch_of_host) {
        for (; at != topo::kNoSwitch; at = fabric.parent_of_switch[at]) ++below[at];
    }
    return below;
}

// By switch: the hosts below it that have the same one of its parallel links, the most of them.
std::vector<uint64_t> most_on_a_link(const topo::Fabric& fabric) {
    std::vector<uint64_t> first(fabric.switches());
    uint64_t links = 0;
    for (uint32_t at = 0; at < fabric.switches(); ++at) {
        first[at] = links;
        links += fabric.links_up(at);
    }
    std::vector<uint64_t> on_link(links);
    std::vector<uint64_t> most(fabric.switches(), 1);
    for (uint32_t host = 0; host < fabric.hosts(); ++host) {
        for (uint32_t at = fabric.switch_of_host[host]; at != topo::kNoSwitch;
             at = fabric.parent_of_switch[at]) {
            const uint64_t link = first[at] + fabric.number_of(host) % fabric.links_up(at);
            most[at] = std::max(most[at], ++on_link[link]);
        }
    }
    return most;
}

void rank_leaves(const topo::Fabric& fabric, Outline& outline) {
    const std::vector<uint32_t> hosts = fabric.hosts_of_switch();
    std::vector<uint32_t> order(hosts.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return hosts[a] > hosts[b]; });
    outline.leaf_of_switch.resize(hosts.size());
    for (uint32_t i = 0; i < order.size(); ++i) outline.leaf_of_switch[order[i]] = i;
    outline.leaves = static_cast<uint32_t>(
        std::ranges::count_if(hosts, [](uint32_t count) { return count > 0; }));
}

// The longest way from the root to a switch with hosts.
uint64_t way_ns(const topo::Fabric& fabric, uint32_t up_or_down) {
    uint64_t longest_ns = 0;
    const std::vector<uint32_t> hosts = fabric.hosts_of_switch();
    for (uint32_t leaf = 0; leaf < fabric.switches(); ++leaf) {
        if (hosts[leaf] == 0) continue;
        uint64_t sum = 0;
        for (uint32_t at = leaf; fabric.parent_of_switch[at] != topo::kNoSwitch;
             at = fabric.parent_of_switch[at]) {
            sum += fabric.link_latency_ns(fabric.first_link(at) + up_or_down);
        }
        longest_ns = std::max(longest_ns, sum);
    }
    return longest_ns;
}

}  // namespace

Outline outline_of(const topo::Fabric& fabric) {
    Outline outline;
    outline.hosts = fabric.hosts();
    outline.host_bits_per_s = outline.share_bits_per_s = outline.flow_bits_per_s = UINT64_MAX;
    for (uint32_t host = 0; host < fabric.hosts(); ++host) {
        outline.host_bits_per_s =
            std::min(outline.host_bits_per_s, fabric.link_bits_per_s(2 * host));
        outline.host_up_ns = std::max(outline.host_up_ns, fabric.link_latency_ns(2 * host));
        outline.host_down_ns = std::max(outline.host_down_ns, fabric.link_latency_ns(2 * host + 1));
    }
    rank_leaves(fabric, outline);
    if (outline.leaves == 1) return outline;
    const std::vector<uint64_t> below = hosts_below(fabric);
    const std::vector<uint64_t> most = most_on_a_link(fabric);
    for (uint32_t at = 0; at < fabric.switches(); ++at) {
        // Of switches that hold all hosts nothing goes up.
        if (below[at] == 0 || below[at] == fabric.hosts()) continue;
        const uint64_t rate = fabric.link_bits_per_s(fabric.first_link(at));
        outline.flow_bits_per_s = std::min(outline.flow_bits_per_s, rate);
        outline.share_bits_per_s =
            std::min(outline.share_bits_per_s, std::max<uint64_t>(rate / most[at], 1));
    }
    outline.trunk_up_ns = way_ns(fabric, 0);
    outline.trunk_down_ns = way_ns(fabric, 1);
    return outline;
}

uint32_t Outline::hosts_of_leaf_min() const {
    if (leaves == 1) return 1;
    const uint64_t alone = std::min(host_bits_per_s, flow_bits_per_s);
    return static_cast<uint32_t>(
        std::clamp<uint64_t>((alone + share_bits_per_s - 1) / share_bits_per_s, 1, hosts));
}

topo::Fabric small_fabric(const Outline& outline, uint32_t hosts_of_leaf, uint32_t leaves) {
    const std::vector<uint32_t> hosts(leaves, hosts_of_leaf);
    topo::Fabric fabric = topo::Fabric::leaves(hosts);
    fabric.host_bits_per_s = outline.host_bits_per_s;
    fabric.latency_ns = outline.host_up_ns + outline.host_down_ns;
    if (leaves == 1) return fabric;
    // Side by side as there, as far as there are several.
    const uint64_t rate = outline.share_bits_per_s * hosts_of_leaf;
    const uint64_t links = std::max<uint64_t>(rate / outline.flow_bits_per_s, 1);
    fabric.trunk_bits_per_s = std::max<uint64_t>(rate / links, 1);
    fabric.trunk_latency_ns = (outline.trunk_up_ns + outline.trunk_down_ns) / 2;
    if (links == 1) return fabric;
    const topo::Trunk trunk{static_cast<uint32_t>(links), fabric.trunk_bits_per_s, 0};
    fabric.set_switch_links(std::vector<topo::Trunk>(fabric.switches(), trunk));
    return fabric;
}

}  // namespace tutti::price
