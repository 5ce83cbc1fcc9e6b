// SPDX-License-Identifier: BSD-3-Clause
#include "lab/tune/file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/config/toml_text.h"
#include "base/text.h"
#include "base/topo/read/read.h"
#include "lab/tune/make_rules.h"
#include "plan/price/network.h"

namespace tutti::tune {
namespace {

constexpr uint64_t kBitsPerMbit = price::kBitsPerMbit;
constexpr uint64_t kRateMin = kBitsPerMbit;
constexpr uint64_t kTimeMax = 1'000'000'000;  // what a parameter may be
constexpr uint32_t kDecimalsOfMbit = 1000;

// Four digits: what is measured is no more exact, and people read it.
uint64_t four_digits(uint64_t value) {
    uint64_t unit = 1;
    while (value / unit >= 10'000) unit *= 10;
    return (value + unit / 2) / unit * unit;
}

std::string rate(uint64_t bits_per_s) {
    const uint64_t bits = four_digits(std::max(bits_per_s, kRateMin));
    return fmt::format("\"{}mbit\"", static_cast<double>(bits / (kBitsPerMbit / kDecimalsOfMbit)) /
                                         kDecimalsOfMbit);
}

std::string time(uint64_t ns) {
    return fmt::format("\"{}ns\"", std::min(four_digits(std::max<uint64_t>(ns, 1)), kTimeMax));
}

std::string bytes(uint64_t value) { return fmt::format("\"{}\"", bytes_word(value)); }

std::string parameters_text(const price::ClusterParameters& p) {
    std::string text = "[parameters]\n";
    const auto add = [&](std::string_view key, const std::string& value) {
        text += fmt::format("{} = {}\n", key, value);
    };
    add("latency", time(std::max<uint64_t>(p.links.latency_ns, 2)));
    add("rate", rate(p.links.bits_per_s));
    if (p.links.trunk_latency_ns != 0) add("hop", time(p.links.trunk_latency_ns));
    if (p.links.trunk_bits_per_s != 0) add("trunk", rate(p.links.trunk_bits_per_s));
    add("message", time(p.message_ns));
    add("eager", bytes(p.eager_bytes_max));
    if (p.burst_bytes != 0) add("burst", bytes(four_digits(p.burst_bytes)));
    if (p.both_ways_permille > 1000) {
        add("both_ways_percent", fmt::format("{}", (p.both_ways_permille + 5) / 10));
    }
    if (p.long_both_ways_permille > 1000) {
        add("long_both_ways_percent", fmt::format("{}", (p.long_both_ways_permille + 5) / 10));
    }
    if (p.long_in_turn) add("long_in_turn", "true");
    if (p.multicast.mbit != 0) {
        add("multicast_latency", time(p.multicast.latency_ns));
        add("multicast_rate", rate(p.multicast.mbit * kBitsPerMbit));
    }
    add("flag", time(p.node.flag_ns));
    add("copy", rate(p.node.copy_bytes_per_s * 8));
    add("fold", rate(p.node.reduce_bytes_per_s * 8));
    return text;
}

}  // namespace

price::ClusterParameters parameters_of(const survey::LinkFigures& figures,
                                       const price::ClusterParameters& assumed) {
    price::ClusterParameters parameters = assumed;
    parameters.links.latency_ns = figures.latency_ns;
    parameters.links.bits_per_s = figures.bits_per_s;
    parameters.links.trunk_latency_ns = figures.hop_ns;
    parameters.links.trunk_bits_per_s = figures.trunk_bits_per_s;
    parameters.message_ns = figures.post_ns;
    parameters.eager_bytes_max = figures.eager_bytes;
    parameters.burst_bytes = figures.burst_bytes;
    parameters.both_ways_permille = figures.both_ways_permille;
    parameters.long_both_ways_permille = figures.long_both_ways_permille;
    parameters.long_in_turn = figures.long_in_turn;
    return parameters;
}

Result<topo::Topology> topology_of(const topo::Fabric& fabric, std::span<const std::string> hosts) {
    topo::TopologyBuilder builder("tuned");
    const auto trunk = [&](uint32_t first_link, uint32_t count) {
        return topo::Topology::Link{.count = count,
                                    .bits_per_s = fabric.link_bits_per_s(first_link),
                                    .latency_ns = fabric.link_latency_ns(first_link)};
    };
    for (uint32_t at = 0; at < fabric.switches(); ++at) {
        // No host is called so.
        const auto made = builder.add_switch(fmt::format("#{}", at), 0);
        if (!made) return made.error();
    }
    for (uint32_t at = 0; at < fabric.switches(); ++at) {
        const uint32_t above = fabric.parent_of_switch[at];
        if (above == topo::kNoSwitch) continue;
        const auto made = builder.add_link({false, at}, {false, above},
                                           trunk(fabric.first_link(at), fabric.links_up(at)));
        if (!made) return made.error();
    }
    for (uint32_t host = 0; host < fabric.hosts(); ++host) {
        const auto number = builder.add_host(hosts[host], 0);
        if (!number) return number.error();
        builder.host(number.value()).adapters = 1;
        const auto made = builder.add_link(
            {true, number.value()}, {false, fabric.switch_of_host[host]}, trunk(2 * host, 1));
        if (!made) return made.error();
    }
    return builder.finish();
}

std::string tuned_text(const Tuned& tuned) {
    std::string text =
        "# Measured by tutti tune (docs/formats/tuned.md). Rules are for jobs of the size that\n"
        "# measured; others go by price, with these parameters.\n";
    std::string switches;
    if (tuned.switches) {
        // What a topology says of all its links stands before all tables.
        const std::string own = topo::print_own(*tuned.switches);
        const size_t tables = std::min(own.find("[["), own.size());
        text += own.substr(0, tables);
        switches = "\n" + own.substr(tables);
    }
    text += fmt::format("\n[tuned]\nmpi = {}\nhosts = {}\nprocessor = {}\non = {}\nabout = {}\n",
                        config::toml_string(tuned.fingerprint.mpi),
                        config::toml_string(tuned.fingerprint.hosts),
                        config::toml_string(tuned.fingerprint.processor),
                        config::toml_string(tuned.on), config::toml_string(tuned.about));
    if (tuned.parameters) text += "\n" + parameters_text(*tuned.parameters);
    for (const select::Rule& rule : tuned.rules) text += "\n" + rule_text(rule);
    return text + switches;
}

}  // namespace tutti::tune
