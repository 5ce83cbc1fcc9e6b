// SPDX-License-Identifier: BSD-3-Clause
#include "select/by_price.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "algo/plan.h"
#include "base/text.h"
#include "topo/fabric_of_tree.h"

namespace tutti::select {
namespace {

// A price takes 10 to 100 us among so many participants and grows with them; beyond, each algorithm
// has its own tuning only.
constexpr uint32_t kTunedParticipantsMax = 64;
// Rankings that a team remembers: sizes of some collectives.
constexpr size_t kRankingsMax = 64;

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
    const algo::InnerLane lane = algo::inner_lane(algorithm, shape, placement, {});
    if (lane.shape.ranks > kTunedParticipantsMax) return all;
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
    if (const topo::SwitchTree* tree = placement.switch_tree()) {
        // A tree that is no fabric, for its depth, is priced as one switch.
        auto described = topo::fabric_of(*tree, parameters.links);
        if (described) fabric = std::move(described.value());
    }
    return {price::Network::on(std::move(fabric), parameters), parameters.node};
}

std::vector<Priced> by_price(const sched::Shape& shape, const topo::Placement& placement,
                             const Cluster& cluster) {
    std::vector<Priced> all;
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (algorithm.collective != shape.collective) continue;
        if (algorithm.has_multicast && cluster.network.multicast.mbit == 0) continue;
        if (!algo::plan_obstacle(algorithm, shape, placement, {}).empty()) continue;
        for (const algo::Tuning& tuning : tunings(algorithm, shape, placement)) {
            if (!algo::plan_obstacle(algorithm, shape, placement, tuning).empty()) continue;
            const Prediction found = predict(algorithm, shape, placement, tuning, cluster);
            if (!found.is_followed) return {};
            all.push_back({&algorithm, tuning, found.ns});
        }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Priced& a, const Priced& b) { return a.ns < b.ns; });
    return all;
}

sched::Shape size_class(sched::Shape shape) {
    shape.root = 0;
    shape.sizes_are_compared = true;
    if (shape.bytes == 0) return shape;
    const uint64_t power = std::bit_ceil(shape.bytes);
    const uint64_t between = power / 4 * 3;
    const uint64_t size = power >= 4 && shape.bytes <= between ? between : power;
    // Of a reduction still whole elements.
    shape.bytes = (size + shape.element_bytes - 1) / shape.element_bytes * shape.element_bytes;
    return shape;
}

const Prices::Ranking& Prices::of(const sched::Shape& shape) {
    const sched::Shape priced = size_class(shape);
    const auto found = std::ranges::find(known_, priced, &Ranking::shape);
    if (found != known_.end()) return *found;
    const sched::Speed& measured = priced.multicast_speed;
    std::vector<Priced> ranked;
    if (cluster_.network.multicast.mbit == 0 && measured.mbit != 0) {
        Cluster known = cluster_;
        known.network.multicast = measured;
        ranked = by_price(priced, placement_, known);
    } else {
        ranked = by_price(priced, placement_, cluster_);
    }
    if (known_.size() < kRankingsMax) {
        known_.push_back({priced, std::move(ranked)});
        return known_.back();
    }
    Ranking& oldest = known_[next_];
    next_ = (next_ + 1) % kRankingsMax;
    oldest = {priced, std::move(ranked)};
    return oldest;
}

std::string price_text(std::span<const Priced> priced, const Priced& chosen) {
    constexpr size_t kToldMax = 2;
    std::string text = format_duration(chosen.ns);
    std::vector<const algo::Algorithm*> told{chosen.algorithm};
    for (const Priced& one : priced) {
        if (told.size() > kToldMax) break;
        if (std::ranges::find(told, one.algorithm) != told.end()) continue;
        text += std::string(told.size() == 1 ? "; then " : ", ") +
                std::string(one.algorithm->name) + ' ' + format_duration(one.ns);
        told.push_back(one.algorithm);
    }
    return text;
}

}  // namespace tutti::select
