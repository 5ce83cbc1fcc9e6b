// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/fabric_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "base/topo/read/hostlist.h"

namespace tutti::explain {
namespace {

// A chain of switches may be as long as a file; its lines may not.
constexpr uint32_t kIndentedMax = 20;

// In Gbit/s, three decimals behind the dot at most, or three digits where it begins with zeros.
std::string rate_text(uint64_t bits_per_s) {
    const double rate = static_cast<double>(bits_per_s) / 1e9;
    if (rate < 1) return fmt::format("{:.3g}", rate);
    std::string text = fmt::format("{:.3f}", rate);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

// Two names of one host would be two hosts of the tree.
std::string same_host(const std::vector<std::string>& names, const std::vector<uint32_t>& found) {
    std::unordered_map<std::string_view, size_t> by_name;
    std::unordered_map<uint32_t, size_t> by_host;
    for (size_t i = 0; i < names.size(); ++i) {
        if (!by_name.emplace(names[i], i).second) return printable(names[i]) + " is named twice";
        if (found[i] == topo::kNoNode) continue;
        const auto [first, is_new] = by_host.emplace(found[i], i);
        if (is_new) continue;
        return printable(names[first->second]) + " and " + printable(names[i]) + " are one host";
    }
    return {};
}

// Where all switches of a node are in one rack or chassis.
std::string common_place(const FabricView& view, uint32_t node) {
    const auto& switches = view.tree.nodes[node].switches;
    std::string text;
    const auto tell = [&](std::string_view what, auto member) {
        if (switches.empty()) return;
        const std::string& first = view.topology.switches[switches.front()].*member;
        const bool is_common = std::all_of(switches.begin(), switches.end(), [&](uint32_t at) {
            return view.topology.switches[at].*member == first;
        });
        if (!first.empty() && is_common) text += fmt::format(", {} {}", what, printable(first));
    };
    tell("rack", &topo::Topology::Switch::rack);
    tell("chassis", &topo::Topology::Switch::chassis);
    return text;
}

// Hosts that are alike: by their links and adapters, in the order of the first.
struct Alike {
    topo::Trunk up;
    uint32_t adapters = 0;
    std::vector<std::string> names;
    std::string occupied;  // "n0 (ranks 0-3), n1 (rank 4)"; empty where nobody said
};

std::vector<std::vector<Alike>> hosts_by_node(const FabricView& view) {
    std::vector<std::vector<Alike>> groups(view.tree.nodes.size());
    for (uint32_t host = 0; host < view.names.size(); ++host) {
        const auto& place = view.tree.place_of_host[host];
        auto& here = groups[place.node];
        auto found = std::find_if(here.begin(), here.end(), [&](const Alike& one) {
            return one.up == place.up && one.adapters == view.adapters[host];
        });
        if (found == here.end()) {
            here.push_back({place.up, view.adapters[host], {}, {}});
            found = here.end() - 1;
        }
        found->names.push_back(view.names[host]);
        if (view.ranks.empty()) continue;
        found->occupied += fmt::format("{}{} ({})", found->occupied.empty() ? "" : ", ",
                                       printable(view.names[host]), view.ranks[host]);
    }
    return groups;
}

}  // namespace

std::string counted(uint64_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string ranks_text(std::span<const uint32_t> ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (size_t first = 0; first < ranks.size();) {
        size_t last = first;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (first > 0) text += ',';
        text += std::to_string(ranks[first]);
        if (last > first) text += '-' + std::to_string(ranks[last]);
        first = last + 1;
    }
    return text;
}

FabricView whole_view(const topo::Topology& topology, topo::SwitchTree tree) {
    FabricView view{topology, std::move(tree), {}, {}, {}};
    for (const topo::Topology::Host& host : topology.hosts) {
        view.names.push_back(host.name);
        view.adapters.push_back(host.adapters);
    }
    return view;
}

FabricView view_at(const topo::Topology& topology, const topo::SwitchTree& tree,
                   const std::vector<std::string>& hosts, const std::vector<uint32_t>& found) {
    FabricView view{topology, topo::restrict_tree(tree, found), hosts, {}, {}};
    for (const uint32_t host : found) {
        view.adapters.push_back(host == topo::kNoNode ? 0 : topology.hosts[host].adapters);
    }
    return view;
}

Result<FabricView> view_of(const topo::Topology& topology, const topo::SwitchTree& tree,
                           const std::vector<std::string>& hosts,
                           std::vector<std::string>& unknown) {
    const auto found = topo::find_hosts(topology, hosts);
    const std::string fault = same_host(hosts, found);
    if (!fault.empty()) return Error{ErrorCode::kArgument, fault};
    for (size_t i = 0; i < hosts.size(); ++i) {
        if (found[i] == topo::kNoNode) unknown.push_back(hosts[i]);
    }
    return view_at(topology, tree, hosts, found);
}

std::string name_of_node(const FabricView& view, uint32_t node) {
    std::vector<std::string> names;
    for (const uint32_t at : view.tree.nodes[node].switches) {
        names.push_back(view.topology.switches[at].name);
    }
    return names.empty() ? "(no switch)" : topo::fold_hostlist(names);
}

std::string text_of(const topo::Trunk& trunk) {
    std::string text = counted(trunk.links, "link", "links");
    if (trunk.bits_per_s != 0) {
        text += fmt::format(" of {} Gbit/s", rate_text(trunk.bits_per_s));
    }
    if (trunk.latency_ns != 0) text += ", " + format_duration(trunk.latency_ns);
    return text;
}

std::string fabric_text(const FabricView& view) {
    const auto groups = hosts_by_node(view);
    std::vector<uint32_t> depth(view.tree.nodes.size());
    std::string text;
    for (uint32_t node = 0; node < view.tree.nodes.size(); ++node) {
        const topo::SwitchTree::Node& one = view.tree.nodes[node];
        if (one.parent != topo::kNoNode) depth[node] = depth[one.parent] + 1;
        const uint32_t indent = 2 * std::min(depth[node], kIndentedMax);
        text += fmt::format("{:{}}{}", "", indent, name_of_node(view, node));
        if (one.switches.size() > 1) text += fmt::format(" ({} switches)", one.switches.size());
        text += common_place(view, node);
        if (one.up.links > 0) text += "; up: " + text_of(one.up);
        text += '\n';
        for (const Alike& alike : groups[node]) {
            text += fmt::format(
                "{:{}}{}: {}", "", indent + 4, counted(alike.names.size(), "host", "hosts"),
                alike.occupied.empty() ? topo::fold_hostlist(alike.names) : alike.occupied);
            if (alike.adapters > 1) {
                text += fmt::format(" ({} adapters{})", alike.adapters,
                                    alike.names.size() > 1 ? " each" : "");
            }
            if (alike.adapters == 0) text += "; not in the file";
            if (alike.up.links > 0) text += "; " + text_of(alike.up);
            text += '\n';
        }
    }
    return text;
}

}  // namespace tutti::explain
