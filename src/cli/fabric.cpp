// SPDX-License-Identifier: BSD-3-Clause
#include "cli/fabric.h"

#include <fmt/format.h>

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

}  // namespace

std::span<const OptionDoc> fabric_options() { return kFabricOptions; }

Result<topo::Fabric> read_fabric(const Words& words, uint32_t hosts) {
    std::vector<uint32_t> leaves{hosts};
    if (const std::string* text = words.find("--leaves")) {
        auto read = read_leaves(*text, hosts);
        if (!read) return read.error();
        leaves = std::move(read.value());
    }
    topo::Fabric fabric = topo::Fabric::leaves(leaves);
    const auto rate = read_rate(words, "--rate", fabric.host_bits_per_s);
    if (!rate) return rate.error();
    fabric.host_bits_per_s = rate.value();
    const auto trunk = read_rate(words, "--trunk", fabric.host_bits_per_s);
    if (!trunk) return trunk.error();
    fabric.trunk_bits_per_s = trunk.value();
    if (const std::string* text = words.find("--latency")) {
        const auto time = parse_duration(*text);
        if (!time || *time == 0)
            return wrong_value("--latency", *text, "a time such as 1us or 1.5ms");
        fabric.latency_ns = *time;
    }
    if (words.has("--trunk") && fabric.switches() < 2) {
        return Error{ErrorCode::kArgument, "--trunk: there is but one switch; see --leaves"};
    }
    return fabric;
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

}  // namespace tutti::cli
