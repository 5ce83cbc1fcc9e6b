// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/by_price.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "base/topo/fabric_of_tree.h"
#include "plan/algo/plan.h"

namespace tutti::select {
namespace {

// A price takes 10 to 100 us among so many participants and grows with them; beyond, each algorithm
// has its own tuning only, and the cheapest the others too.
constexpr uint32_t kTunedParticipantsMax = 64;
// What takes so many times the best price at least is not priced: among many hosts prices are
// extrapolated, and off by less.
constexpr uint64_t kLeftOut = 2;
// Rankings that a team remembers: sizes of some collectives.
constexpr size_t kRankingsMax = 64;

// Of a barrier and an allreduce, by what rules say of them, and once more.
constexpr size_t kContestsMax = 4;
// A walk of so many takes some 0.3 ms, and there are up to 28 for each contender.
constexpr uint64_t kContestMessagesMax = 2048;

// Short segments fill a chain early and cost messages; long ones are the other way.
struct Pieces {
    uint64_t segment_bytes;
    uint32_t lanes_in_flight;
};
constexpr auto kPieces = std::to_array<Pieces>(
    {{4u << 10, 8}, {16u << 10, 8}, {64u << 10, 8}, {256u << 10, 4}, {1u << 20, 4}});
constexpr uint64_t kBlockPieceBytes = 16u << 10;
constexpr uint32_t kFewAtATime = 2;
// Of a vector that is one lane, all of which is followed.
constexpr uint64_t kLanePiecesMax = 64;
// A flatter tree saves latency, and its leaders send more.
constexpr auto kFlatterTrees = std::to_array<uint32_t>({4, 8});
constexpr uint64_t kFlatterBytesMax = 16u << 10;
// Fewer steps and bytes, and more messages.
constexpr auto kRadices = std::to_array<uint32_t>({4, 8});

bool are_many(const algo::Algorithm& algorithm, const sched::Shape& shape,
              const topo::Placement& placement) {
    return algo::inner_lane(algorithm, shape, placement, {}).shape.ranks > kTunedParticipantsMax;
}

// The algorithm's own first.
std::vector<algo::Tuning> tunings(const algo::Algorithm& algorithm, const sched::Shape& shape,
                                  const topo::Placement& placement) {
    std::vector<algo::Tuning> all{{}};
    if (is_vector(shape.collective) && !algorithm.has_multicast) {
        // Multicasts are pieces of segments already, as long as they may be; many short ones take
        // what no price has.
        for (const auto& [segment_bytes, lanes] : kPieces) {
            const bool is_allowed =
                algorithm.segment_bytes_max == 0 || segment_bytes <= algorithm.segment_bytes_max;
            if (segment_bytes >= shape.bytes || !is_allowed) continue;
            if (algorithm.has_pieces && shape.bytes / segment_bytes > kLanePiecesMax) continue;
            all.push_back({.segment_bytes = segment_bytes,
                           .lanes_in_flight = algorithm.has_pieces ? 0 : lanes});
        }
    } else if (algorithm.has_pieces && shape.bytes > kBlockPieceBytes) {
        all.push_back({.segment_bytes = kBlockPieceBytes});
    } else if (algorithm.has_radix) {
        for (const uint32_t radix : kRadices) all.push_back({.fan_in = radix});
    } else if (algorithm.has_fan_in && !algorithm.has_levels) {
        all.push_back({.fan_in = kFewAtATime});
    }
    if (algorithm.has_levels && shape.bytes <= kFlatterBytesMax) {
        for (const uint32_t fan_in : kFlatterTrees) all.push_back({.fan_in = fan_in});
    }
    // Leaders save messages and copy all blocks of their nodes, also those that each has to have.
    const bool is_shared = placement.members_max() > 1;
    const bool copies = is_between_all(shape.collective) || has_lengths(shape.collective);
    if (copies && is_shared && !algorithm.is_flat && placement.ranks() <= kTunedParticipantsMax) {
        all.push_back({.flat = true});
    }
    return all;
}

// Of a reduction still whole elements.
uint64_t class_of(uint64_t bytes, uint64_t element_bytes) {
    if (bytes == 0) return 0;
    const uint64_t power = std::bit_ceil(bytes);
    const uint64_t between = power / 4 * 3;
    const uint64_t size = power >= 4 && bytes <= between ? between : power;
    return (size + element_bytes - 1) / element_bytes * element_bytes;
}

void tune_the_first(const sched::Shape& shape, const topo::Placement& placement,
                    const Cluster& cluster, std::vector<Priced>& all) {
    if (all.empty()) return;
    const algo::Algorithm& algorithm = *all.front().algorithm;
    if (!are_many(algorithm, shape, placement)) return;
    // In lanes its scatters and rings meet on links otherwise among many than among few.
    if (algorithm.collective == TUTTI_BCAST && algorithm.name == "scatter_allgather") return;
    // Its own number of blocks is about the best, and each further price follows all messages.
    if (algorithm.name == "circulant") return;
    const uint64_t best_ns = all.front().ns;
    for (const algo::Tuning& tuning : tunings(algorithm, shape, placement)) {
        // Of trees of few at a time the levels are too coarse to grow by a law.
        const bool is_coarse = tuning.fan_in != 0 && !algorithm.has_radix;
        if (tuning == algo::Tuning{} || is_coarse) continue;
        if (!algo::plan_obstacle(algorithm, shape, placement, tuning).empty()) continue;
        if (least_ns(algorithm, shape, placement, tuning, cluster) > best_ns) continue;
        const Prediction found = predict(algorithm, shape, placement, tuning, cluster);
        if (found.method != Method::kEstimated) all.push_back({&algorithm, tuning, found.ns});
    }
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
    Cluster cluster{price::Network::on(std::move(fabric), parameters), parameters.node};
    cluster.outline = price::outline_of(cluster.network.fabric);
    return cluster;
}

std::vector<Priced> by_price(const sched::Shape& shape, const topo::Placement& placement,
                             const Cluster& cluster) {
    std::vector<Priced> all;  // first the least that it can take
    // Nobody knows the lengths that a price would be of: the rules choose.
    if (has_private_lengths(shape.collective)) return all;
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (algorithm.collective != shape.collective) continue;
        // It pays where ranks come late (plan/select/skew_threshold.h); here all begin together.
        if (algorithm.follows_arrival) continue;
        if (algorithm.is_only_named) continue;
        if (algorithm.has_multicast && cluster.network.multicast.mbit == 0) continue;
        if (!algo::plan_obstacle(algorithm, shape, placement, {}).empty()) continue;
        const bool has_its_own_only = are_many(algorithm, shape, placement);
        for (const algo::Tuning& tuning : tunings(algorithm, shape, placement)) {
            if (has_its_own_only && tuning != algo::Tuning{}) continue;
            if (!algo::plan_obstacle(algorithm, shape, placement, tuning).empty()) continue;
            all.push_back(
                {&algorithm, tuning, least_ns(algorithm, shape, placement, tuning, cluster)});
        }
    }
    const auto is_cheaper = [](const Priced& a, const Priced& b) { return a.ns < b.ns; };
    std::vector<Priced*> order;
    for (Priced& one : all) order.push_back(&one);
    std::ranges::stable_sort(order,
                             [&](const Priced* a, const Priced* b) { return is_cheaper(*a, *b); });
    uint64_t best_ns = UINT64_MAX;
    for (Priced* one : order) {
        const bool can_win = one->ns / kLeftOut <= best_ns;
        Prediction found{.method = Method::kEstimated};
        if (can_win) found = predict(*one->algorithm, shape, placement, one->tuning, cluster);
        if (found.method == Method::kEstimated) {
            one->algorithm = nullptr;
            continue;
        }
        one->ns = found.ns;
        best_ns = std::min(best_ns, found.ns);
    }
    std::erase_if(all, [](const Priced& one) { return one.algorithm == nullptr; });
    std::stable_sort(all.begin(), all.end(), is_cheaper);
    tune_the_first(shape, placement, cluster, all);
    std::stable_sort(all.begin(), all.end(), is_cheaper);
    return all;
}

sched::Shape size_class(sched::Shape shape) {
    shape.root = 0;
    shape.sizes_are_compared = true;
    shape.bytes = class_of(shape.bytes, shape.element_bytes);
    shape.lengths = {};
    return shape;
}

sched::OwnLengths length_class(const sched::Shape& shape) {
    if (!shape.lengths.are_there() || shape.ranks < 2) return {};
    const uint64_t all = shape.all_blocks_bytes();
    if (shape.bytes <= 2 * (all / shape.ranks)) return {};
    const uint64_t other = (all - shape.bytes) / (shape.ranks - 1);
    std::vector<uint64_t> lengths(shape.ranks, class_of(other, shape.element_bytes));
    lengths[0] = class_of(shape.bytes, shape.element_bytes);
    return sched::OwnLengths(lengths);
}

// What it is measured to take counts where nobody told what multicasts take.
Cluster Prices::cluster_for(const sched::Shape& shape) const {
    Cluster cluster = cluster_;
    if (cluster.network.multicast.mbit == 0) cluster.network.multicast = shape.multicast_speed;
    return cluster;
}

std::optional<uint64_t> Prices::price(const sched::Shape& shape, const algo::Algorithm& algorithm,
                                      const algo::Tuning& tuning) {
    auto& [priced, ranked, others, lengths] = ranking(shape);
    const auto is_it = [&](const Priced& one) {
        return one.algorithm == &algorithm && one.tuning == tuning;
    };
    if (const auto one = std::ranges::find_if(ranked, is_it); one != ranked.end()) return one->ns;
    auto one = std::ranges::find_if(others, is_it);
    if (one == others.end()) {
        Prediction found{.method = Method::kEstimated};
        if (algo::plan_obstacle(algorithm, priced, placement_, tuning).empty()) {
            found = predict(algorithm, priced, placement_, tuning, cluster_for(priced));
        }
        others.push_back({&algorithm, tuning, found.method == Method::kEstimated ? 0 : found.ns});
        one = std::prev(others.end());
    }
    return one->ns == 0 ? std::nullopt : std::optional(one->ns);
}

std::optional<uint64_t> Prices::faster_from(const sched::Shape& shape, const Contender& follower,
                                            const Contender& fixed) {
    const auto is_it = [&](const Contest& one) {
        return one.shape == shape && one.follower == follower && one.fixed == fixed;
    };
    const auto known = std::ranges::find_if(contests_, is_it);
    if (known != contests_.end()) return known->from_ns;
    if (contests_.size() == kContestsMax) contests_.erase(contests_.begin());
    contests_.push_back({shape, follower, fixed,
                         faster_from_ns(follower, fixed, shape, placement_, cluster_for(shape),
                                        kContestMessagesMax)});
    return contests_.back().from_ns;
}

Prices::Ranking& Prices::ranking(const sched::Shape& shape) {
    sched::Shape priced = size_class(shape);
    sched::OwnLengths lengths = length_class(shape);
    priced.lengths = lengths.view();
    const auto found = std::ranges::find(known_, priced, &Ranking::shape);
    if (found != known_.end()) return *found;
    std::vector<Priced> ranked = by_price(priced, placement_, cluster_for(priced));
    Ranking made{priced, std::move(ranked), {}, std::move(lengths)};
    if (known_.size() < kRankingsMax) {
        known_.push_back(std::move(made));
        return known_.back();
    }
    Ranking& oldest = known_[next_];
    next_ = (next_ + 1) % kRankingsMax;
    oldest = std::move(made);
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
