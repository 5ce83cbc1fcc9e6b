// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/fabric_of_tree.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tutti::topo {
namespace {

Error too_large(const std::string& what) { return {ErrorCode::kArgument, what}; }

// Calls is_met(trunk) for every link of hosts and between switches.
template <class Test>
bool is_met_by_any(const SwitchTree& tree, const Test& is_met) {
    const auto is_place = [&](const SwitchTree::Place& place) { return is_met(place.up); };
    const auto is_node = [&](const SwitchTree::Node& node) {
        return node.parent != kNoNode && is_met(node.up);
    };
    return std::any_of(tree.place_of_host.begin(), tree.place_of_host.end(), is_place) ||
           std::any_of(tree.nodes.begin(), tree.nodes.end(), is_node);
}

}  // namespace

Result<Fabric> fabric_of(const SwitchTree& tree, const LinkDefaults& defaults) {
    Fabric fabric;
    fabric.host_bits_per_s = fabric.trunk_bits_per_s = defaults.bits_per_s;
    if (defaults.trunk_bits_per_s != 0) fabric.trunk_bits_per_s = defaults.trunk_bits_per_s;
    fabric.latency_ns = defaults.latency_ns;
    fabric.trunk_latency_ns = defaults.trunk_latency_ns;
    std::vector<Trunk> host_links;
    std::vector<Trunk> switch_links;
    std::vector<uint32_t> levels;
    uint64_t links = 2 * (uint64_t{tree.place_of_host.size()} + tree.nodes.size());
    for (const SwitchTree::Node& node : tree.nodes) {
        const bool is_root = node.parent == kNoNode;
        levels.push_back(is_root ? 1 : levels[node.parent] + 1);
        if (levels.back() > kSwitchLevelsMax) {
            return too_large("more than " + std::to_string(kSwitchLevelsMax) +
                             " levels of switches, one above the other");
        }
        fabric.parent_of_switch.push_back(is_root ? kNoSwitch : node.parent);
        switch_links.push_back(node.up);
        switch_links.back().links = std::max(node.up.links, 1u);
        links += 2 * uint64_t{switch_links.back().links};
    }
    if (links > kFabricLinksMax) {
        return too_large("more than " + std::to_string(kFabricLinksMax / 2) +
                         " links, parallel ones counted each");
    }
    for (const SwitchTree::Place& place : tree.place_of_host) {
        fabric.switch_of_host.push_back(place.node);
        host_links.push_back(place.up);
        host_links.back().links = 1;
    }
    fabric.set_host_links(std::move(host_links));
    fabric.set_switch_links(std::move(switch_links));
    return fabric;
}

bool lacks_rate(const SwitchTree& tree) {
    return is_met_by_any(tree, [](const Trunk& up) { return up.bits_per_s == 0; });
}

bool lacks_latency(const SwitchTree& tree) {
    return is_met_by_any(tree, [](const Trunk& up) { return up.latency_ns == 0; });
}

}  // namespace tutti::topo
