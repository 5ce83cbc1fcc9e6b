// SPDX-License-Identifier: BSD-3-Clause
#include "cli/fabric_options.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text.h"
#include "base/topo/fabric_of_tree.h"
#include "cli/parameter_options.h"
#include "lab/explain/fabric_text.h"

namespace tutti::cli {
namespace {

constexpr auto kFabricOptions = std::to_array<OptionDoc>({
    kParametersOption,
    {"--rate", "RATE",
     "Rate of each host's link, or where --fabric gives none (default: --parameters', or 100Gbit)"},
    {"--latency", "TIME",
     "Latency from host to host over a switch, or where --fabric gives none (default: 1us)"},
    {"--leaves", "N,N...", "Hosts on each leaf switch, under one switch (default: all on one)"},
    {"--trunk", "RATE",
     "Rate of each leaf's link to that switch, each way (default: --parameters', or as --rate)"},
});

Result<uint64_t> read_rate(const CommandLine& command_line, std::string_view name,
                           uint64_t fallback) {
    const std::string* text = command_line.find(name);
    if (!text) return fallback;
    const auto rate = parse_rate(*text);
    if (!rate) return wrong_value(name, *text, "a rate such as 100Gbit or 25mbit");
    return *rate;
}

Result<std::vector<uint32_t>> read_leaves(const std::string& list, uint32_t hosts) {
    std::vector<uint32_t> leaves;
    uint64_t sum = 0;
    for (const std::string_view text : split(list, ',')) {
        const auto count = parse_count(text);
        if (!count || *count == 0 || *count > hosts) {
            return wrong_value("--leaves", list, "hosts on each leaf, such as 8,8");
        }
        leaves.push_back(static_cast<uint32_t>(*count));
        sum += *count;
    }
    if (sum == hosts) return leaves;
    return wrong_value("--leaves", list, fmt::format("{} hosts together", hosts));
}

// What may also be said beside a description of the cluster.
Result<topo::LinkDefaults> read_defaults(const CommandLine& command_line,
                                         topo::LinkDefaults defaults) {
    const auto rate = read_rate(command_line, "--rate", defaults.bits_per_s);
    if (!rate) return rate.error();
    defaults.bits_per_s = rate.value();
    if (command_line.has("--rate")) defaults.trunk_bits_per_s = 0;
    if (const std::string* text = command_line.find("--latency")) {
        const auto time = parse_duration(*text);
        if (!time || *time < 2) {
            return wrong_value("--latency", *text, "a time such as 1us or 1.5ms");
        }
        defaults.latency_ns = *time;
        defaults.trunk_latency_ns = 0;
    }
    return defaults;
}

std::string text_of(const topo::Fabric& fabric) {
    std::string text =
        fmt::format("{} Mbit/s, {}", static_cast<double>(fabric.host_bits_per_s) / 1e6,
                    format_duration(fabric.latency_ns));
    if (fabric.switches() < 2) return text;
    std::vector<uint32_t> leaves = fabric.hosts_of_switch();
    std::erase(leaves, 0u);  // the switch above them
    return text + fmt::format(", leaves of {} hosts, {} Mbit/s between them",
                              fmt::join(leaves, ", "),
                              static_cast<double>(fabric.trunk_bits_per_s) / 1e6);
}

// The hosts in the order of a call's nodes.
void reorder(const JobHosts& job, topo::Fabric& fabric) {
    std::vector<uint32_t> switch_of_host;
    for (const uint32_t host : job.order) switch_of_host.push_back(fabric.switch_of_host[host]);
    fabric.switch_of_host = std::move(switch_of_host);
    fabric.number_of_host = job.order;
}

Result<NamedFabric> plain_fabric(const CommandLine& command_line, const JobHosts& job,
                                 const price::ClusterParameters& parameters) {
    const auto hosts = static_cast<uint32_t>(job.order.size());
    std::vector<uint32_t> leaves{hosts};
    if (const std::string* text = command_line.find("--leaves")) {
        auto read = read_leaves(*text, hosts);
        if (!read) return read.error();
        leaves = std::move(read.value());
    }
    topo::Fabric fabric = topo::Fabric::leaves(leaves);
    const auto defaults = read_defaults(command_line, parameters.links);
    if (!defaults) return defaults.error();
    fabric.host_bits_per_s = defaults.value().bits_per_s;
    fabric.latency_ns = defaults.value().latency_ns;
    fabric.trunk_latency_ns = defaults.value().trunk_latency_ns;
    const uint64_t trunks = defaults.value().trunk_bits_per_s;
    const auto trunk = read_rate(command_line, "--trunk", trunks ? trunks : fabric.host_bits_per_s);
    if (!trunk) return trunk.error();
    fabric.trunk_bits_per_s = trunk.value();
    if (command_line.has("--trunk") && fabric.switches() < 2) {
        return wrong("--trunk: there is but one switch; see --leaves");
    }
    std::string text = text_of(fabric);
    reorder(job, fabric);
    return NamedFabric{std::move(fabric), std::move(text), job.names, {}, parameters};
}

// What a description says may not be said again: nobody would know which of both holds.
Result<Done> check_beside_file(const CommandLine& command_line, const topo::SwitchTree& tree,
                               const std::string& source) {
    for (const char* option : {"--leaves", "--trunk"}) {
        if (command_line.has(option)) return wrong(fmt::format("{}: not with --fabric", option));
    }
    const auto known = [&](std::string_view option, std::string_view what) {
        return wrong(
            fmt::format("{}: {} says the {} of every link here", option, printable(source), what));
    };
    if (command_line.has("--rate") && !topo::lacks_rate(tree)) return known("--rate", "rate");
    if (command_line.has("--latency") && !topo::lacks_latency(tree))
        return known("--latency", "latency");
    return Done{};
}

Result<NamedFabric> described_fabric(const CommandLine& command_line, const JobHosts& job,
                                     std::span<const uint32_t> others,
                                     const price::ClusterParameters& parameters) {
    const topo::Topology& topology = *job.cluster->topology;
    std::vector<uint32_t> hosts = job.found;
    hosts.insert(hosts.end(), others.begin(), others.end());
    NamedFabric named;
    named.host_names = job.names;
    named.parameters = parameters;
    for (const uint32_t host : others) named.host_names.push_back(topology.hosts[host].name);
    const explain::FabricView view{
        topology, topo::restrict_tree(job.cluster->tree, hosts), named.host_names, {}};
    if (const auto done = check_beside_file(command_line, view.tree, topology.source); !done) {
        return done.error();
    }
    const auto defaults = read_defaults(command_line, parameters.links);
    if (!defaults) return defaults.error();
    auto fabric = topo::fabric_of(view.tree, defaults.value());
    if (!fabric) {
        return wrong(fmt::format("{}: {}", printable(topology.source), fabric.error().message));
    }
    named.fabric = std::move(fabric.value());
    for (uint32_t host = 0; host < hosts.size(); ++host) {
        const bool is_known = hosts[host] != topo::kNoNode;
        named.fabric.number_of_host.push_back(is_known ? hosts[host] : host);
    }
    named.text = fmt::format("{}, {}", printable(topology.source),
                             explain::counted(named.fabric.switches(), "switch", "switches"));
    for (uint32_t node = 0; node < view.tree.nodes.size(); ++node) {
        named.switch_names.push_back(explain::name_of_node(view, node));
    }
    return named;
}

}  // namespace

std::span<const OptionDoc> fabric_options() { return kFabricOptions; }

Result<NamedFabric> read_fabric(const CommandLine& command_line, const JobHosts& job,
                                std::span<const uint32_t> others,
                                const price::ClusterParameters& assumed) {
    const auto parameters = read_parameters(command_line, assumed);
    if (!parameters) return parameters.error();
    return job.cluster ? described_fabric(command_line, job, others, parameters.value())
                       : plain_fabric(command_line, job, parameters.value());
}

}  // namespace tutti::cli
