// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/measured.h"

#include <algorithm>

#include "base/text.h"
#include "plan/price/network.h"

namespace tutti::select {
namespace {

// As parameters may have it (parameter_presets.cpp); products of two times, and of two ratios,
// are then below 2^60.
constexpr uint64_t kLatencyMax = 1'000'000'000;
constexpr uint64_t kMbitMax = 100'000'000;

// What a message costs, as bytes on its link; the built-in rules say of themselves that they are
// for 1 to 4 KiB (built_in.toml). Where they were measured, prices by latency and rate alone are
// not better (docs/price.md).
constexpr uint64_t kRulesBytesMax = 8u << 10;

sched::Speed bounded(const sched::Speed& speed) {
    return {std::clamp<uint64_t>(speed.latency_ns, 1, kLatencyMax),
            std::clamp<uint64_t>(speed.mbit, 1, kMbitMax)};
}

// As a measured latency has it: the processors of both ends are in it.
uint64_t whole_ns(const price::ClusterParameters& parameters) {
    return std::max<uint64_t>(parameters.links.latency_ns + 2 * parameters.message_ns, 1);
}

uint64_t ratio_permille(uint64_t one, uint64_t other) {
    return std::max(one, other) * 1000 / std::max<uint64_t>(std::min(one, other), 1);
}

bool puts_measured_first(const Settings& settings, const Rules& rules) {
    return settings.rules.price == PriceChoice::kOn || !rules.preset().empty();
}

}  // namespace

std::string speed_text(const sched::Speed& speed) {
    return format_duration(speed.latency_ns) + " and " + std::to_string(speed.mbit) + " Mbit/s";
}

bool admits_measured(const Settings& settings, const Rules& rules) {
    if (settings.rules.price == PriceChoice::kOff) return false;
    if (rules.parameters() && rules.preset().empty()) return false;
    return rules.has_built_in_after() || rules.source() == Rules::built_in().source();
}

bool admits_measured(const Settings& settings, const Rules& rules, tutti_collective collective) {
    if (has_private_lengths(collective)) return false;  // no price is of their lengths
    if (settings.rules.price != PriceChoice::kOn && is_reduction(collective)) return false;
    return admits_measured(settings, rules);
}

Prices* leading_prices(const Settings& settings, const Rules& rules, Prices* told,
                       Prices* measured) {
    return measured && puts_measured_first(settings, rules) ? measured : told;
}

bool suits_built_in(const sched::Speed& speed) {
    const auto [latency_ns, mbit] = bounded(speed);
    return latency_ns * mbit / 8000 <= kRulesBytesMax;
}

const Preset& nearest_preset(const sched::Speed& speed) {
    const auto [latency_ns, mbit] = bounded(speed);
    const auto distance = [latency = latency_ns, rate = mbit](const Preset& preset) {
        const price::ClusterParameters& parameters = preset.parameters;
        return ratio_permille(latency, whole_ns(parameters)) *
               ratio_permille(rate * price::kBitsPerMbit, parameters.links.bits_per_s);
    };
    return *std::ranges::min_element(presets(), {}, distance);
}

price::ClusterParameters with_measured(const price::ClusterParameters& parameters,
                                       const sched::Speed& speed) {
    const auto [latency_ns, mbit] = bounded(speed);
    price::ClusterParameters result = parameters;
    const uint64_t whole = whole_ns(parameters);
    const auto scaled = [latency = latency_ns, whole](uint64_t ns) {
        return std::min(ns, kLatencyMax) * latency / whole;
    };
    topo::LinkDefaults& links = result.links;
    links.latency_ns = std::max<uint64_t>(scaled(links.latency_ns), 2);
    if (links.trunk_latency_ns != 0) {
        links.trunk_latency_ns = std::max<uint64_t>(scaled(links.trunk_latency_ns), 1);
    }
    result.message_ns = scaled(result.message_ns);
    if (links.trunk_bits_per_s != 0) {
        const uint64_t told = std::max<uint64_t>(links.bits_per_s / price::kBitsPerMbit, 1);
        const uint64_t trunk = links.trunk_bits_per_s / price::kBitsPerMbit;
        links.trunk_bits_per_s = std::max<uint64_t>(trunk * mbit / told, 1) * price::kBitsPerMbit;
    }
    links.bits_per_s = mbit * price::kBitsPerMbit;
    // It is payload's that was measured, both ways at once.
    result.payload_permille = 1000;
    result.both_ways_permille = 1000;
    result.long_both_ways_permille = 0;
    return result;
}

bool measured_counts(const Settings& settings, const Rules& rules, const sched::Shape& shape,
                     const topo::Placement& placement) {
    const sched::Speed& speed = shape.message_speed;
    if (speed.mbit == 0 || placement.nodes() == 1) return false;
    if (!admits_measured(settings, rules, shape.collective)) return false;
    return puts_measured_first(settings, rules) || !suits_built_in(speed);
}

std::optional<Prices> measured_prices(const Settings& settings, const Rules& rules,
                                      const sched::Shape& shape, const topo::Placement& placement) {
    if (!measured_counts(settings, rules, shape, placement)) return std::nullopt;
    return prices_by_speed(rules, shape.message_speed, placement);
}

Prices prices_by_speed(const Rules& rules, const sched::Speed& speed,
                       const topo::Placement& placement) {
    const Preset* named = rules.preset().empty() ? nullptr : find_preset(rules.preset());
    const Preset& preset = named ? *named : nearest_preset(speed);
    return Prices(
        placement, cluster_of(placement, with_measured(preset.parameters, speed)),
        "by price, measured messages (" + speed_text(speed) + ", else as " + preset.name + ")");
}

}  // namespace tutti::select
