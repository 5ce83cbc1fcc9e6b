// SPDX-License-Identifier: BSD-3-Clause
#include "cli/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tutti::cli {
namespace {

constexpr auto kFabricOptions = std::to_array<OptionDoc>({
    {"--rate", "RATE", "Of each host's link, each way (default: 100Gbit)"},
    {"--latency", "TIME", "From host to host over one switch (default: 1us)"},
    {"--leaves", "N,N...", "Hosts on each leaf switch, under one switch (default: all on one)"},
    {"--trunk", "RATE", "Of each leaf's link to that switch, each way (default: as --rate)"},
});

Result<uint64_t> read_rate(const Words& words, std::string_view name, uint64_t fallback) {
    const std::string* text = words.find(name);
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

// Through any host's link, one way.
uint64_t host_bytes(const sched::Shape& shape, const topo::Placement& placement) {
    const uint64_t hosts = placement.nodes();
    const uint64_t root_members = placement.members(placement.node_of(shape.root)).size();
    switch (shape.collective) {
        case TUTTI_BCAST:
        case TUTTI_REDUCE:
            return shape.bytes;
        case TUTTI_ALLREDUCE:
            // Patarasuk, Yuan 2007, lemma 1, with hosts for processes. Multicast does not help:
            // for each element hosts - 1 receptions join the operands before the first host has
            // the result, and as many others bring it to the rest.
            return 2 * (hosts - 1) * (shape.bytes / hosts) +
                   2 * (hosts - 1) * (shape.bytes % hosts) / hosts;
        case TUTTI_GATHER:
        case TUTTI_SCATTER:
            return (placement.ranks() - root_members) * shape.bytes;
        case TUTTI_ALLGATHER:
            return (placement.ranks() - placement.members_min()) * shape.bytes;
        default:
            return 0;
    }
}

// Through any leaf's link, one way.
uint64_t trunk_bytes(const sched::Shape& shape, const topo::Placement& placement,
                     std::span<const uint32_t> leaves) {
    uint64_t members_min = placement.ranks();
    uint64_t root_members = 0;
    const uint32_t root_host = placement.node_of(shape.root);
    uint32_t host = 0;
    for (const uint32_t hosts : leaves) {
        uint64_t members = 0;
        const bool has_root = root_host >= host && root_host < host + hosts;
        for (const uint32_t end = host + hosts; host < end; ++host) {
            members += placement.members(host).size();
        }
        members_min = std::min(members_min, members);
        if (has_root) root_members = members;
    }
    switch (shape.collective) {
        case TUTTI_BCAST:
        case TUTTI_REDUCE:
        case TUTTI_ALLREDUCE:
            return shape.bytes;
        case TUTTI_GATHER:
        case TUTTI_SCATTER:
            return (placement.ranks() - root_members) * shape.bytes;
        case TUTTI_ALLGATHER:
            return (placement.ranks() - members_min) * shape.bytes;
        default:
            return 0;
    }
}

uint64_t time_ns(uint64_t bytes, uint64_t bits_per_s) {
    const double bits = static_cast<double>(bytes) * 8;
    return static_cast<uint64_t>(bits * 1e9 / static_cast<double>(bits_per_s));
}

}  // namespace

std::span<const OptionDoc> fabric_options() { return kFabricOptions; }

Result<Fabric> read_fabric(const Words& words, uint32_t hosts) {
    Fabric fabric;
    const auto rate = read_rate(words, "--rate", fabric.bits_per_s);
    if (!rate) return rate.error();
    fabric.bits_per_s = rate.value();
    const auto trunk = read_rate(words, "--trunk", fabric.bits_per_s);
    if (!trunk) return trunk.error();
    fabric.trunk_bits_per_s = trunk.value();
    if (const std::string* text = words.find("--latency")) {
        const auto time = parse_duration(*text);
        if (!time || *time == 0)
            return wrong_value("--latency", *text, "a time such as 1us or 1.5ms");
        fabric.latency_ns = *time;
    }
    if (const std::string* text = words.find("--leaves")) {
        auto leaves = read_leaves(*text, hosts);
        if (!leaves) return leaves.error();
        fabric.leaves = std::move(leaves.value());
    }
    if (words.has("--trunk") && fabric.leaves.size() < 2) {
        return Error{ErrorCode::kArgument, "--trunk: there is but one switch; see --leaves"};
    }
    return fabric;
}

transport::sim::Network Fabric::network(uint32_t hosts) const {
    auto network = leaves.empty() ? transport::sim::Network::one_switch(hosts)
                                  : transport::sim::Network::leaves(leaves);
    network.host_bits_per_s = bits_per_s;
    network.trunk_bits_per_s = trunk_bits_per_s;
    network.latency_ns = latency_ns;
    return network;
}

std::string Fabric::text() const {
    std::string text = fmt::format("{} Mbit/s, {}", static_cast<double>(bits_per_s) / 1e6,
                                   format_duration(latency_ns));
    if (leaves.size() < 2) return text;
    return text + fmt::format(", leaves of {} hosts, {} Mbit/s between them",
                              fmt::join(leaves, ", "), static_cast<double>(trunk_bits_per_s) / 1e6);
}

uint64_t bound_ns(const sched::Shape& shape, const topo::Placement& placement,
                  const Fabric& fabric) {
    if (shape.bytes == 0 && shape.collective != TUTTI_BARRIER) return 0;
    const uint64_t near_ns =
        fabric.latency_ns + time_ns(host_bytes(shape, placement), fabric.bits_per_s);
    if (fabric.leaves.size() < 2) return near_ns;
    // Something of every collective goes from a leaf to another.
    const uint64_t trunk = trunk_bytes(shape, placement, fabric.leaves);
    const uint64_t far_ns = 2 * fabric.latency_ns + time_ns(trunk, fabric.trunk_bits_per_s);
    return std::max(near_ns, far_ns);
}

}  // namespace tutti::cli
