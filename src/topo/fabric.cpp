// SPDX-License-Identifier: BSD-3-Clause
#include "topo/fabric.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::topo {
namespace {

// Switches from this one to the root, or kSwitchLevelsMax + 1 if the root is not found.
uint32_t depth(const Fabric& fabric, uint32_t at) {
    uint32_t levels = 0;
    while (at != kNoSwitch && levels <= kSwitchLevelsMax) {
        at = at < fabric.switches() ? fabric.parent_of_switch[at] : 0;
        ++levels;
    }
    return levels;
}

}  // namespace

Fabric Fabric::one_switch(uint32_t hosts) { return leaves({&hosts, 1}); }

Fabric Fabric::leaves(std::span<const uint32_t> hosts_of_leaf) {
    Fabric fabric;
    const auto count = static_cast<uint32_t>(hosts_of_leaf.size());
    for (uint32_t leaf = 0; leaf < count; ++leaf) {
        fabric.parent_of_switch.push_back(count > 1 ? count : kNoSwitch);
        fabric.switch_of_host.insert(fabric.switch_of_host.end(), hosts_of_leaf[leaf], leaf);
    }
    if (count > 1) fabric.parent_of_switch.push_back(kNoSwitch);
    return fabric;
}

std::vector<uint32_t> Fabric::hosts_of_switch() const {
    std::vector<uint32_t> hosts(switches());
    for (const uint32_t at : switch_of_host) ++hosts[at];
    return hosts;
}

bool Fabric::is_valid() const {
    const auto roots = std::count(parent_of_switch.begin(), parent_of_switch.end(), kNoSwitch);
    if (hosts() == 0 || roots != 1) return false;
    if (host_bits_per_s == 0 || trunk_bits_per_s == 0 || latency_ns < 2) return false;
    for (uint32_t at = 0; at < switches(); ++at) {
        const uint32_t parent = parent_of_switch[at];
        if (parent != kNoSwitch && parent >= switches()) return false;
        if (depth(*this, at) > kSwitchLevelsMax) return false;
    }
    return std::all_of(switch_of_host.begin(), switch_of_host.end(),
                       [this](uint32_t at) { return at < switches(); });
}

LinkRoute link_route(const Fabric& fabric, uint32_t from_host, uint32_t to_host) {
    TUTTI_ASSERT(from_host != to_host, "a route between two hosts");
    const auto switch_link = [&](uint32_t at) { return 2 * (fabric.hosts() + at); };
    LinkRoute route;
    route.add(2 * from_host);
    uint32_t up = fabric.switch_of_host[from_host];
    uint32_t down = fabric.switch_of_host[to_host];
    uint32_t up_levels = depth(fabric, up);
    uint32_t down_levels = depth(fabric, down);
    std::array<uint32_t, kSwitchLevelsMax> descent{};
    uint32_t descents = 0;
    while (up != down) {
        const bool climbs = up_levels >= down_levels;
        if (up_levels <= down_levels) {
            descent[descents++] = switch_link(down) + 1;
            down = fabric.parent_of_switch[down];
            --down_levels;
        }
        if (climbs) {
            route.add(switch_link(up));
            up = fabric.parent_of_switch[up];
            --up_levels;
        }
    }
    while (descents > 0) route.add(descent[--descents]);
    route.add(2 * to_host + 1);
    return route;
}

}  // namespace tutti::topo
