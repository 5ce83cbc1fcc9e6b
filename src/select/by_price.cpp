// SPDX-License-Identifier: BSD-3-Clause
#include "select/by_price.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "topo/fabric_of_tree.h"

namespace tutti::select {
namespace {

// A price takes 10 to 100 us among so many nodes and grows with them; beyond, each algorithm has
// its own tuning only.
constexpr uint32_t kTunedNodesMax = 64;

// Short segments fill a chain early and cost messages; long ones are the other way.
struct Pieces {
    uint64_t segment_bytes;
    uint32_t lanes_in_flight;
};
constexpr auto kPieces = std::to_array<Pieces>(
    {{4u << 10, 8}, {16u << 10, 8}, {64u << 10, 8}, {256u << 10, 4}, {1u << 20, 4}});
constexpr uint64_t kBlockPieceBytes = 16u << 10;
constexpr uint32_t kFewAtATime = 2;

std::vector<algo::Tuning> tunings(const algo::Algorithm& algorithm, const sched::Shape& shape,
                                  const topo::Placement& placement) {
    std::vector<algo::Tuning> all{{}};
    if (placement.nodes() > kTunedNodesMax) return all;
    if (is_vector(shape.collective)) {
        for (const auto& [segment_bytes, lanes] : kPieces) {
            const bool is_allowed =
                algorithm.segment_bytes_max == 0 || segment_bytes <= algorithm.segment_bytes_max;
            if (segment_bytes >= shape.bytes || !is_allowed) continue;
            all.push_back({.segment_bytes = segment_bytes, .lanes_in_flight = lanes});
        }
    } else if (algorithm.has_pieces && shape.bytes > kBlockPieceBytes) {
        all.push_back({.segment_bytes = kBlockPieceBytes});
    } else if (algorithm.has_fan_in) {
        all.push_back({.fan_in = kFewAtATime});
    }
    return all;
}

}  // namespace

Cluster cluster_of(const topo::Placement& placement, const price::ClusterParameters& parameters) {
    topo::Fabric fabric = topo::Fabric::one_switch(placement.nodes());
    fabric.host_bits_per_s = parameters.links.bits_per_s;
    fabric.latency_ns = parameters.links.latency_ns;
    if (const topo::OnSwitches* several = placement.switches()) {
        // A tree that is no fabric, for its depth, is priced as one switch.
        auto described = topo::fabric_of(several->tree(), parameters.links);
        if (described) fabric = std::move(described.value());
    }
    return {price::Network::on(std::move(fabric), parameters), parameters.node};
}

std::vector<Priced> by_price(const sched::Shape& shape, const topo::Placement& placement,
                             const Cluster& cluster, const CanRun& can_run) {
    std::vector<Priced> all;
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (algorithm.collective != shape.collective) continue;
        if (algorithm.has_multicast && cluster.network.multicast.mbit == 0) continue;
        std::optional<Priced> best;
        for (const algo::Tuning& tuning : tunings(algorithm, shape, placement)) {
            if (!can_run(algorithm, tuning)) continue;
            const uint64_t ns = predicted_ns(algorithm, shape, placement, tuning, cluster);
            if (!best || ns < best->ns) best = Priced{&algorithm, tuning, ns};
        }
        if (best) all.push_back(*best);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Priced& a, const Priced& b) { return a.ns < b.ns; });
    return all;
}

std::string price_text(const std::vector<Priced>& priced) {
    constexpr size_t kToldMax = 3;
    std::string text = format_duration(priced.front().ns);
    for (size_t i = 1; i < std::min(priced.size(), kToldMax); ++i) {
        text += std::string(i == 1 ? "; then " : ", ") + std::string(priced[i].algorithm->name) +
                ' ' + format_duration(priced[i].ns);
    }
    return text;
}

}  // namespace tutti::select
