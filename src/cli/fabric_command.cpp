// SPDX-License-Identifier: BSD-3-Clause
#include "cli/fabric_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/text_file.h"
#include "cli/words.h"
#include "explain/fabric_text.h"
#include "topo/read/hostlist.h"
#include "topo/read/read.h"

namespace tutti::cli {
namespace {

constexpr auto kFabricCommandOptions = std::to_array<OptionDoc>({
    {"--hosts", "LIST", "Only these hosts, as n[0-7],login"},
    {"--toml", "", "Print all of it in Tutti's own format (docs/formats/topology.md)"},
});

std::string counted(uint64_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

void print_summary(const topo::Topology& topology, const topo::SwitchTree& tree) {
    uint64_t links = 0;
    for (const topo::Topology::Link& link : topology.links) links += link.count;
    uint32_t levels = 0;
    for (uint32_t node = 0; node < tree.nodes.size(); ++node) {
        levels = std::max(levels, tree.depth_of(node) + 1);
    }
    const uint64_t switches = topology.switches.size();
    fmt::print("{}: {}, {}, {}; as a tree: {} in {}\n\n", printable(topology.source),
               counted(topology.hosts.size(), "host", "hosts"),
               counted(switches, "switch", "switches"), counted(links, "link", "links"),
               counted(tree.nodes.size(), "node", "nodes"), counted(levels, "level", "levels"));
}

Result<Done> print_tree(const topo::Topology& topology, const Words& words) {
    auto tree = topo::make_switch_tree(topology);
    if (!tree) return tree.error();
    const std::string* list = words.find("--hosts");
    if (!list) {
        print_summary(topology, tree.value());
        fmt::print("{}", fabric_text(explain::whole_view(topology, std::move(tree.value()))));
        return Done{};
    }
    const auto hosts = topo::expand_hostlist(*list, topo::kHostsMax);
    if (!hosts) return wrong(fmt::format("--hosts: {}", hosts.error().message));
    std::vector<std::string> unknown;
    const auto view = explain::view_of(topology, tree.value(), hosts.value(), unknown);
    if (!unknown.empty()) {
        fmt::print(stderr, "tutti: {}: {} not there; on a leaf of {} own: {}\n",
                   printable(topology.source), unknown.size() == 1 ? "a host is" : "hosts are",
                   unknown.size() == 1 ? "its" : "their", printable(topo::fold_hostlist(unknown)));
    }
    fmt::print("{}", fabric_text(view));
    return Done{};
}

Result<Done> show(const Words& words) {
    if (words.others().empty()) return wrong("fabric: which file?");
    if (words.others().size() > 1) {
        return wrong(fmt::format("fabric: unexpected word {}", printable(words.others()[1])));
    }
    const std::string& name = words.others().front();
    const auto text = read_text_file(name, topo::kTopologyBytesMax);
    if (!text) return text.error();
    const auto topology = topo::read_topology(text.value(), name);
    if (!topology) return topology.error();
    if (words.has("--toml")) {
        if (words.has("--hosts")) return wrong("--hosts: not with --toml");
        fmt::print("{}", topo::print_own(topology.value()));
        return Done{};
    }
    return print_tree(topology.value(), words);
}

}  // namespace

int fabric_main(std::span<const std::string> arguments) {
    const auto words = Words::parse("fabric", arguments, kFabricCommandOptions);
    if (words && words.value().wants_help()) {
        fmt::print("{}", help_text("The tree of switches that algorithms go by, and the hosts on "
                                   "it, read from a description of the cluster.",
                                   "tutti fabric FILE [options]", kFabricCommandOptions));
        return 0;
    }
    const auto done = words ? show(words.value()) : Result<Done>(words.error());
    if (done) return 0;
    fmt::print(stderr, "tutti: {}\n", done.error().message);
    return 2;
}

}  // namespace tutti::cli
