// SPDX-License-Identifier: BSD-3-Clause
#include "transport/sim/network.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::transport::sim {
namespace {

// Switches from this one to the root, or kDepthMax + 1 if the root is not found.
uint32_t depth(const Network& network, uint32_t at) {
    uint32_t levels = 0;
    while (at != kNoSwitch && levels <= kDepthMax) {
        at = at < network.switches() ? network.parent_of_switch[at] : 0;
        ++levels;
    }
    return levels;
}

}  // namespace

Network Network::one_switch(uint32_t hosts) { return leaves({&hosts, 1}); }

Network Network::leaves(std::span<const uint32_t> hosts_of_leaf) {
    Network network;
    const auto count = static_cast<uint32_t>(hosts_of_leaf.size());
    for (uint32_t leaf = 0; leaf < count; ++leaf) {
        network.parent_of_switch.push_back(count > 1 ? count : kNoSwitch);
        network.switch_of_host.insert(network.switch_of_host.end(), hosts_of_leaf[leaf], leaf);
    }
    if (count > 1) network.parent_of_switch.push_back(kNoSwitch);
    return network;
}

bool Network::is_valid() const {
    const auto roots = std::count(parent_of_switch.begin(), parent_of_switch.end(), kNoSwitch);
    if (hosts() == 0 || roots != 1) return false;
    if (host_bits_per_s == 0 || trunk_bits_per_s == 0 || memory_bytes_per_s == 0) return false;
    if (latency_ns < 2 || memory_ns < 1 || multicast_slots < 1) return false;
    for (uint32_t at = 0; at < switches(); ++at) {
        const uint32_t parent = parent_of_switch[at];
        if (parent != kNoSwitch && parent >= switches()) return false;
        if (depth(*this, at) > kDepthMax) return false;
    }
    return std::all_of(switch_of_host.begin(), switch_of_host.end(),
                       [this](uint32_t at) { return at < switches(); });
}

Route route(const Network& network, uint32_t from_host, uint32_t to_host) {
    TUTTI_ASSERT(from_host != to_host, "a route between two hosts");
    const auto switch_link = [&](uint32_t at) { return 2 * (network.hosts() + at); };
    Route route;
    route.add(2 * from_host);
    uint32_t up = network.switch_of_host[from_host];
    uint32_t down = network.switch_of_host[to_host];
    uint32_t up_levels = depth(network, up);
    uint32_t down_levels = depth(network, down);
    std::array<uint32_t, kDepthMax> descent{};
    uint32_t descents = 0;
    while (up != down) {
        const bool climbs = up_levels >= down_levels;
        if (up_levels <= down_levels) {
            descent[descents++] = switch_link(down) + 1;
            down = network.parent_of_switch[down];
            --down_levels;
        }
        if (climbs) {
            route.add(switch_link(up));
            up = network.parent_of_switch[up];
            --up_levels;
        }
    }
    while (descents > 0) route.add(descent[--descents]);
    route.add(2 * to_host + 1);
    return route;
}

}  // namespace tutti::transport::sim
