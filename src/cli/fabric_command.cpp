// SPDX-License-Identifier: BSD-3-Clause
#include "cli/fabric_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/files/whole_file.h"
#include "base/text.h"
#include "base/topo/read/read.h"
#include "cli/command_line.h"
#include "cli/discover.h"
#include "cli/fabric_file.h"
#include "cli/job_options.h"
#include "cli/scenario_options.h"
#include "lab/explain/fabric_drawing.h"
#include "lab/explain/fabric_text.h"

namespace tutti::cli {
namespace {

constexpr auto kFabricCommandOptions = std::to_array<OptionDoc>({
    {"--fabric", "FILE", "The same as FILE"},
    {"--hosts", "N|LIST", "Only the first N hosts, or these: n[0-7],login"},
    {"--ranks", "N", "With so many ranks on these hosts: which rank is on which host"},
    {"--placement", "WORD",
     "block: neighbours share a host (default); round-robin; random:SEED; or a host for each rank"},
    {"--svg", "FILE", "Draw the tree: the root on top, hosts below their switches"},
    {"--toml", "", "Print the description in Tutti's own format (docs/formats/topology.md)"},
    {"--discover", "", "Read the InfiniBand fabric by ibnetdiscover, and print it in that format"},
    {"-o", "FILE", "With --discover: write to FILE, not to standard output"},
});

constexpr std::string_view kFabricSummary =
    "The tree of switches that algorithms will go by, and the hosts on it, read from a\n"
    "description of the cluster: Tutti's own, ibnetdiscover's output or cache, Slurm's\n"
    "topology.conf or topology.yaml, a lab's state. Without FILE: TUTTI_FABRIC,\n"
    "/etc/tutti/fabric.*, or Slurm's beside $SLURM_CONF.";

using explain::counted;

std::string summary_of(const topo::Topology& topology, const topo::SwitchTree& tree) {
    uint64_t links = 0;
    for (const topo::Topology::Link& link : topology.links) links += link.count;
    std::vector<uint32_t> level;  // by node; parents come first
    for (const topo::SwitchTree::Node& node : tree.nodes) {
        level.push_back(node.parent == topo::kNoNode ? 1 : level[node.parent] + 1);
    }
    const uint32_t levels = *std::max_element(level.begin(), level.end());
    return fmt::format("{}: {}, {}, {}; as a tree: {} in {}", printable(topology.source),
                       counted(topology.hosts.size(), "host", "hosts"),
                       counted(topology.switches.size(), "switch", "switches"),
                       counted(links, "link", "links"), counted(tree.nodes.size(), "node", "nodes"),
                       counted(levels, "level", "levels"));
}

Result<explain::FabricView> view_of_ranks(const DescribedCluster& cluster,
                                          const CommandLine& command_line) {
    const auto ranks = command_line.count("--ranks", 1, 1, kRanksMax);
    if (!ranks) return ranks.error();
    const auto job = read_job_hosts(command_line, static_cast<uint32_t>(ranks.value()), cluster);
    if (!job) return job.error();
    auto view =
        explain::view_at(*cluster.topology, cluster.tree, job.value().names, job.value().found);
    const topo::Placement placement = job.value().placement();
    for (uint32_t host = 0; host < placement.nodes(); ++host) {
        view.ranks.push_back(explain::ranks_text(placement.members(host)));
    }
    return view;
}

Result<Done> print_tree(topo::Topology topology, const CommandLine& command_line) {
    auto tree = topo::make_switch_tree(topology);
    if (!tree) return tree.error();
    const DescribedCluster cluster{std::make_shared<const topo::Topology>(std::move(topology)),
                                   std::move(tree.value())};
    const auto view = command_line.has("--ranks")
                          ? view_of_ranks(cluster, command_line)
                          : view_of_hosts(*cluster.topology, cluster.tree, command_line);
    if (!view) return view.error();
    const std::string summary = summary_of(*cluster.topology, cluster.tree);
    const std::string* file = command_line.find("--svg");
    if (!file) {
        if (!command_line.has("--hosts") && !command_line.has("--ranks"))
            fmt::print("{}\n\n", summary);
        fmt::print("{}", fabric_text(view.value()));
        return Done{};
    }
    const auto text = explain::draw_fabric(summary, view.value());
    if (!text) return wrong(fmt::format("--svg: {}", text.error().message));
    const auto problem = files::write_whole(*file, text.value());
    if (problem.empty()) return Done{};
    return wrong(fmt::format("--svg: {}: {}", printable(*file), problem));
}

Result<Done> discover(const CommandLine& command_line) {
    for (const char* option : {"--fabric", "--hosts", "--ranks", "--svg", "--toml"}) {
        if (command_line.has(option)) return wrong(fmt::format("{}: not with --discover", option));
    }
    if (!command_line.others().empty()) {
        return wrong(fmt::format("fabric: unexpected word {}; see -o",
                                 printable(command_line.others().front())));
    }
    const std::string* file = command_line.find("-o");
    if (file) {
        const auto obstacle = files::obstacle(*file);
        if (!obstacle.empty()) return wrong(fmt::format("-o: {}: {}", printable(*file), obstacle));
    }
    const auto topology = discover_fabric();
    if (!topology) return topology.error();
    const std::string text = topo::print_own(topology.value());
    if (!file) {
        fmt::print("{}", text);
        return Done{};
    }
    const auto problem = files::write_whole(*file, text);
    if (problem.empty()) return Done{};
    return wrong(fmt::format("-o: {}: {}", printable(*file), problem));
}

Result<Done> show(const CommandLine& command_line) {
    if (command_line.has("--discover")) return discover(command_line);
    if (command_line.has("-o")) return wrong("-o: only with --discover");
    if (command_line.has("--placement") && !command_line.has("--ranks")) {
        return wrong("--placement needs --ranks");
    }
    for (const char* option : {"--hosts", "--ranks", "--svg"}) {
        if (command_line.has("--toml") && command_line.has(option)) {
            return wrong(fmt::format("{}: not with --toml", option));
        }
    }
    auto topology = read_named_topology("fabric", command_line, command_line.others());
    if (!topology) return topology.error();
    if (!command_line.has("--toml")) return print_tree(std::move(topology.value()), command_line);
    fmt::print("{}", topo::print_own(topology.value()));
    return Done{};
}

}  // namespace

int fabric_main(std::span<const std::string> arguments) {
    const auto command_line = CommandLine::parse("fabric", arguments, kFabricCommandOptions);
    if (command_line && command_line.value().wants_help()) {
        fmt::print("{}", help_text(kFabricSummary, "tutti fabric [FILE] [options]",
                                   kFabricCommandOptions));
        return 0;
    }
    const auto done =
        command_line ? show(command_line.value()) : Result<Done>(command_line.error());
    if (done) return 0;
    fmt::print(stderr, "tutti: {}\n", done.error().message);
    return 2;
}

}  // namespace tutti::cli
