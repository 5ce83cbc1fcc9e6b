// SPDX-License-Identifier: BSD-3-Clause
#include "run/site/job_fabric.h"

#include <algorithm>
#include <utility>

#include "base/read_whole.h"
#include "base/text.h"
#include "base/topo/read/hostlist.h"
#include "base/topo/read/read.h"

namespace tutti::site {
namespace {

Result<topo::Topology> read_file(const std::string& name) {
    const auto text = read_whole(name, topo::kTopologyBytesMax);
    if (!text) return Error{ErrorCode::kArgument, printable(name) + ": cannot be read"};
    return topo::read_plain_topology(*text, name);
}

// A switch of each node, named as no host is: all that these names are for is to tell them apart.
Result<topo::Topology> topology_of(const topo::SwitchTree& part, const topo::Topology& whole,
                                   const std::vector<std::string>& hosts) {
    topo::TopologyBuilder builder(whole.source);
    for (uint32_t node = 0; node < part.nodes.size(); ++node) {
        const auto made = builder.add_switch("#" + std::to_string(node), 0);
        if (!made) return made.error();
        if (part.nodes[node].chassis == topo::kNoNode) continue;
        const uint32_t first = part.nodes[node].switches.front();
        builder.at_switch(made.value()).chassis = whole.switches[first].chassis;
    }
    const auto link = [&](topo::TopologyBuilder::End below, uint32_t node,
                          const topo::Trunk& trunk) {
        const uint32_t count = std::clamp(trunk.links, 1u, topo::kParallelMax);
        return builder.add_link(
            below, {false, node},
            {.count = count, .bits_per_s = trunk.bits_per_s, .latency_ns = trunk.latency_ns});
    };
    for (uint32_t node = 1; node < part.nodes.size(); ++node) {
        const topo::SwitchTree::Node& one = part.nodes[node];
        if (const auto made = link({false, node}, one.parent, one.up); !made) return made.error();
    }
    for (uint32_t host = 0; host < hosts.size(); ++host) {
        const auto number = builder.add_host(hosts[host], 0);
        if (!number) return number.error();
        builder.host(number.value()).adapters = 1;
        const topo::SwitchTree::Place& place = part.place_of_host[host];
        const auto made = link({true, number.value()}, place.node, place.up);
        if (!made) return made.error();
    }
    return builder.finish();
}

}  // namespace

Result<FabricPart> fabric_part(const std::string& file, std::span<const std::string> hosts) {
    const auto whole = read_file(file);
    if (!whole) return whole.error();
    const auto tree = topo::make_switch_tree(whole.value());
    if (!tree) return tree.error();
    std::vector<std::string> names(hosts.begin(), hosts.end());
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    const std::vector<uint32_t> found = topo::find_hosts(whole.value(), names);
    FabricPart result;
    std::vector<std::string> missing;
    for (size_t i = 0; i < names.size(); ++i) {
        if (found[i] == topo::kNoNode) missing.push_back(names[i]);
    }
    if (!missing.empty()) result.missing = topo::fold_hostlist(missing);
    // Hosts of which nothing is known have no order but that of ranks.
    if (missing.size() == names.size()) return result;
    const auto part = topology_of(topo::restrict_tree(tree.value(), found), whole.value(), names);
    if (!part) return part.error();
    result.text = topo::print_own(part.value());
    return result;
}

uint32_t JobFabric::find(std::string_view host) const {
    const auto found = std::find(hosts.begin(), hosts.end(), host);
    return found == hosts.end() ? topo::kNoNode : static_cast<uint32_t>(found - hosts.begin());
}

Result<JobFabric> parse_fabric_part(std::string_view text) {
    auto topology = topo::read_own(text, "fabric");
    if (!topology) return topology.error();
    auto tree = topo::make_switch_tree(topology.value());
    if (!tree) return tree.error();
    JobFabric result{std::move(tree.value()), {}};
    for (topo::Topology::Host& host : topology.value().hosts) {
        result.hosts.push_back(std::move(host.name));
    }
    return result;
}

}  // namespace tutti::site
