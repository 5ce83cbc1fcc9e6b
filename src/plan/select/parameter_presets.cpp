// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/parameter_presets.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"
#include "base/forever.h"
#include "base/text.h"
#include "plan/price/network.h"
#include "plan/select/parameters_table.h"

namespace tutti::select {
namespace {

using config::in_order;
using config::located;
using config::read_text;
using config::trouble;
using config::Trouble;
using price::ClusterParameters;

// Slower links take times that are too long to count.
constexpr uint64_t kBitsPerSecondMin = price::kBitsPerMbit;
// A second is more than any network takes for a message.
constexpr uint64_t kTimeMax = 1'000'000'000;
// More than any shaper's bucket holds; a time at every rate above.
constexpr uint64_t kBurstMax = uint64_t{1} << 30;

// What a key sets; what it expects, where it could not.
struct Key {
    std::string_view name;
    std::string_view expects;
    bool (*set)(ClusterParameters& parameters, std::string_view text);
};

bool set_time(uint64_t& target, std::string_view text, uint64_t least) {
    const auto time = parse_duration(text);
    if (!time || *time < least || *time > kTimeMax) return false;
    target = *time;
    return true;
}

bool set_rate(uint64_t& target, std::string_view text) {
    const auto rate = parse_rate(text);
    if (!rate || *rate < kBitsPerSecondMin) return false;
    target = *rate;
    return true;
}

bool set_bytes(uint64_t& target, std::string_view text, uint64_t most = UINT64_MAX) {
    const auto bytes = parse_bytes(text);
    if (!bytes || *bytes > most) return false;
    target = *bytes;
    return true;
}

// Within a node rates are written as those of links are, and counted in bytes.
bool set_bytes_per_s(uint64_t& target, std::string_view text) {
    uint64_t bits = 0;
    if (!set_rate(bits, text)) return false;
    target = bits / 8;
    return true;
}

constexpr std::string_view kTime = "a time such as \"1.5us\", at most 1 s";
constexpr std::string_view kBytes = "a number of bytes such as \"64K\"";
constexpr std::string_view kRate = "a rate such as \"97gbit\", at least 1mbit";

constexpr auto kKeys = std::to_array<Key>({
    {"latency", kTime, [](auto& p, auto text) { return set_time(p.links.latency_ns, text, 2); }},
    {"rate", kRate, [](auto& p, auto text) { return set_rate(p.links.bits_per_s, text); }},
    {"hop", kTime, [](auto& p, auto text) { return set_time(p.links.trunk_latency_ns, text, 1); }},
    {"trunk", kRate, [](auto& p, auto text) { return set_rate(p.links.trunk_bits_per_s, text); }},
    {"message", kTime, [](auto& p, auto text) { return set_time(p.message_ns, text, 0); }},
    {"eager", kBytes, [](auto& p, auto text) { return set_bytes(p.eager_bytes_max, text); }},
    {"burst", "a number of bytes such as \"20K\", at most 1G",
     [](auto& p, auto text) { return set_bytes(p.burst_bytes, text, kBurstMax); }},
    {"multicast_latency", kTime,
     [](auto& p, auto text) { return set_time(p.multicast.latency_ns, text, 1); }},
    {"multicast_rate", kRate,
     [](auto& p, auto text) {
         uint64_t bits = 0;
         if (!set_rate(bits, text)) return false;
         p.multicast.mbit = bits / price::kBitsPerMbit;
         return true;
     }},
    {"flag", kTime, [](auto& p, auto text) { return set_time(p.node.flag_ns, text, 1); }},
    {"copy", kRate,
     [](auto& p, auto text) { return set_bytes_per_s(p.node.copy_bytes_per_s, text); }},
    {"fold", kRate,
     [](auto& p, auto text) { return set_bytes_per_s(p.node.reduce_bytes_per_s, text); }},
});

struct Percent {
    std::string_view name;
    int64_t least;
    int64_t most;
    uint32_t ClusterParameters::*permille;
};
constexpr auto kPercents = std::to_array<Percent>({
    {"payload_percent", 10, 100, &ClusterParameters::payload_permille},
    {"foreign_percent", 100, 10'000, &ClusterParameters::foreign_permille},
    {"both_ways_percent", 100, 10'000, &ClusterParameters::both_ways_permille},
    {"long_both_ways_percent", 100, 10'000, &ClusterParameters::long_both_ways_permille},
});

constexpr std::string_view kInTurn = "long_in_turn";

Trouble unknown(const toml::key& key, std::span<const std::string_view> beside) {
    std::vector<std::string_view> known(beside.begin(), beside.end());
    for (const Key& one : kKeys) known.push_back(one.name);
    for (const Percent& one : kPercents) known.push_back(one.name);
    known.push_back(kInTurn);
    return config::unknown_key(key, known);
}

Trouble read_percent(const toml::node& node, const Percent& percent,
                     ClusterParameters& parameters) {
    const auto* number = node.as_integer();
    if (!number || number->get() < percent.least || number->get() > percent.most) {
        return trouble(node, std::string(percent.name) + " = " + config::shown(node) +
                                 ": expected a number from " + std::to_string(percent.least) +
                                 " to " + std::to_string(percent.most));
    }
    parameters.*percent.permille = static_cast<uint32_t>(number->get() * 10);
    return std::nullopt;
}

Trouble read_parameter(const toml::key& key, const toml::node& node, ClusterParameters& parameters,
                       std::span<const std::string_view> beside) {
    const auto percent = std::ranges::find(kPercents, key.str(), &Percent::name);
    if (percent != kPercents.end()) return read_percent(node, *percent, parameters);
    if (key.str() == kInTurn) {
        if (const auto value = config::switch_of(node)) {
            parameters.long_in_turn = *value;
            return std::nullopt;
        }
        return trouble(
            node, std::string(kInTurn) + " = " + config::shown(node) + ": expected true or false");
    }
    const auto known = std::ranges::find(kKeys, key.str(), &Key::name);
    if (known == kKeys.end()) return unknown(key, beside);
    const auto* text = node.as_string();
    if (text && known->set(parameters, text->get())) return std::nullopt;
    return trouble(node, std::string(key.str()) + " = " + config::shown(node) + ": expected " +
                             std::string(known->expects));
}

constexpr auto kPresetKeys = std::to_array<std::string_view>({"name", "about"});

Trouble read_preset(const toml::table& table, Preset& preset) {
    for (const auto& [key, value] : in_order(table)) {
        Trouble wrong = key->str() == "name" ? read_text(*value, "name", preset.name)
                        : key->str() == "about"
                            ? read_text(*value, "about", preset.about)
                            : read_parameter(*key, *value, preset.parameters, kPresetKeys);
        if (wrong) return wrong;
    }
    return std::nullopt;
}

std::vector<Preset> read_presets() {
    const auto parsed = config::parse_toml(presets_text(), "presets.toml");
    TUTTI_ASSERT(parsed, "the presets are right: a test reads them");
    std::vector<Preset> all;
    for (const toml::node& one : *parsed.value().get("preset")->as_array()) {
        const Trouble wrong = read_preset(*one.as_table(), all.emplace_back());
        TUTTI_ASSERT(!wrong, "the presets are right: a test reads them");
    }
    return all;
}

}  // namespace

Trouble read_parameters(const toml::node& node, ClusterParameters& parameters) {
    if (const auto* name = node.as_string()) {
        const Preset* preset = find_preset(name->get());
        if (preset) parameters = preset->parameters;
        if (preset) return std::nullopt;
        return trouble(node, "unknown preset " + printable(name->get()) + ": " + preset_names());
    }
    const auto* table = node.as_table();
    if (!table) {
        return trouble(node, "parameters are written as [parameters], or are a preset's name");
    }
    for (const auto& [key, value] : in_order(*table)) {
        if (auto wrong = read_parameter(*key, *value, parameters, {})) return wrong;
    }
    const bool has_latency = parameters.multicast.latency_ns != 0;
    if (has_latency != (parameters.multicast.mbit != 0)) {
        return trouble(node, std::string("multicast_") + (has_latency ? "rate" : "latency") +
                                 " is missing: give both values of multicasts, or neither");
    }
    return std::nullopt;
}

std::span<const Preset> presets() {
    static const Forever<std::vector<Preset>> all(read_presets);
    return *all;
}

std::string preset_names() {
    std::string all;
    for (const Preset& one : presets()) all += (all.empty() ? "" : ", ") + one.name;
    return all;
}

const Preset* find_preset(std::string_view name) {
    const auto found = std::ranges::find(presets(), name, &Preset::name);
    return found == presets().end() ? nullptr : &*found;
}

}  // namespace tutti::select
