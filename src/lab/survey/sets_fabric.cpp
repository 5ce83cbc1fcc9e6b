// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "lab/survey/sets.h"

namespace tutti::survey {
namespace {

constexpr double kBitsPerByteNs = 8e9;  // bytes per nanosecond in bits per second

uint64_t rounded(double value) {
    if (value < 1) return 1;
    const double digits = std::pow(10.0, std::floor(std::log10(value)) - 3);
    return static_cast<uint64_t>(std::round(value / digits) * digits);
}

uint32_t depth_of(const HostSets& sets, uint32_t set) {
    uint32_t depth = 0;
    for (; sets[set].parent != kNoSet; set = sets[set].parent) ++depth;
    return depth;
}

uint32_t meeting(const HostSets& sets, uint32_t one, uint32_t other) {
    uint32_t deep = depth_of(sets, one);
    uint32_t level = depth_of(sets, other);
    for (; deep > level; --deep) one = sets[one].parent;
    for (; level > deep; --level) other = sets[other].parent;
    while (one != other) {
        one = sets[one].parent;
        other = sets[other].parent;
    }
    return one;
}

// By set: the median round trip between hosts whose ways meet on its switch; 0: none is known.
std::vector<double> trips_over(const HostSets& sets, uint32_t hosts,
                               std::span<const RoundTrip> trips) {
    const std::vector<uint32_t> at = innermost(sets, hosts);
    std::vector<std::vector<double>> seen(sets.size());
    for (const auto& [who, time_ns] : trips) {
        const uint32_t one = at[who.from];
        const uint32_t other = at[who.to];
        // A host that no innermost set has is not known to be near anybody.
        if (one == kNoSet || !sets[one].children.empty()) continue;
        if (other == kNoSet || !sets[other].children.empty()) continue;
        seen[meeting(sets, one, other)].push_back(static_cast<double>(time_ns));
    }
    std::vector<double> over;
    over.reserve(seen.size());
    for (auto& times : seen) over.push_back(times.empty() ? 0 : median(std::move(times)));
    return over;
}

// Of each switch's link upwards: half of what the way over the parent takes longer, one way; the
// other half is that of its sibling. Where it takes no longer, a nanosecond, for something it
// takes.
std::vector<uint64_t> latencies_up(const HostSets& sets, const std::vector<double>& over) {
    std::vector<uint64_t> up(sets.size(), 1);
    for (uint32_t set = 1; set < sets.size(); ++set) {
        const double above = over[sets[set].parent];
        if (above == 0 || over[set] == 0) continue;
        up[set] = static_cast<uint64_t>(std::max(1.0, (above - over[set]) / 4));
    }
    return up;
}

}  // namespace

topo::Fabric fabric_of(const HostSets& sets, const HostSpeeds& speeds,
                       std::span<const RoundTrip> trips) {
    const auto hosts = static_cast<uint32_t>(speeds.own.size());
    topo::Fabric fabric;
    if (speeds.usual > 0) fabric.host_bits_per_s = rounded(speeds.usual * kBitsPerByteNs);
    fabric.trunk_bits_per_s = fabric.host_bits_per_s;
    const std::vector<double> over = trips_over(sets, hosts, trips);
    std::vector<double> near;
    for (uint32_t set = 0; set < sets.size(); ++set) {
        if (sets[set].children.empty() && over[set] > 0) near.push_back(over[set]);
    }
    if (!near.empty()) {
        fabric.latency_ns = std::max<uint64_t>(2, static_cast<uint64_t>(median(near) / 2));
    }
    const std::vector<uint64_t> latency_up = latencies_up(sets, over);
    std::vector<topo::Trunk> up;
    for (uint32_t set = 0; set < sets.size(); ++set) {
        fabric.parent_of_switch.push_back(set == 0 ? topo::kNoSwitch : sets[set].parent);
        const double crossing = sets[set].crossing;
        up.push_back({1, set == 0 ? 0 : rounded(crossing * kBitsPerByteNs), latency_up[set]});
    }
    const std::vector<uint32_t> at = innermost(sets, hosts);
    std::vector<topo::Trunk> own(hosts, {1, 0, 0});
    for (uint32_t host = 0; host < hosts; ++host) {
        if (speeds.own[host] > 0) own[host].bits_per_s = rounded(speeds.own[host] * kBitsPerByteNs);
        if (at[host] != kNoSet && sets[at[host]].children.empty()) {
            fabric.switch_of_host.push_back(at[host]);
            continue;
        }
        fabric.switch_of_host.push_back(fabric.switches());
        fabric.parent_of_switch.push_back(0);
        up.push_back({1, own[host].bits_per_s, 1});
    }
    fabric.set_host_links(std::move(own));
    fabric.set_switch_links(std::move(up));
    TUTTI_ASSERT(fabric.is_valid(), "a tree of switches");
    return fabric;
}

}  // namespace tutti::survey
