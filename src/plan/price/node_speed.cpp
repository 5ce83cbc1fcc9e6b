// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/node_speed.h"

#include <algorithm>
#include <cstddef>

#include "base/amounts.h"

namespace tutti::price {
namespace {

constexpr uint64_t kNsPerS = 1'000'000'000;

// Rounded up, so that these bytes take these nanoseconds again.
uint64_t bytes_per_s(uint64_t bytes, uint64_t ns) { return (bytes * kNsPerS + ns - 1) / ns; }

constexpr uint64_t kBytes = node::kMeasuredBytes[node::kMeasuredMiddle];
// 40 GB/s, as in a second-level cache of today. Of what no cache holds it may be half.
constexpr uint64_t kOwnNs = 1600;

// Of 64 KiB one way as the tuning cuts it.
struct Trip {
    uint64_t ns = 0;  // 0: not measured
    uint64_t pieces = 1;
    uint64_t piece_bytes = kBytes;
};

Trip trip_of(const node::Figures& figures, const node::Tuning& tuning) {
    Trip trip;
    const bool is_short = tuning.ring_bytes == node::kShortRingBytes && figures.short_ring_ns != 0;
    trip.ns = is_short ? figures.short_ring_ns : figures.way_ns[static_cast<size_t>(tuning.way)];
    trip.piece_bytes =
        std::clamp<uint64_t>(kBytes / tuning.pieces.count, tuning.pieces.bytes_min,
                             std::max(tuning.pieces.bytes_min, tuning.pieces.bytes_max));
    trip.pieces = (kBytes + trip.piece_bytes - 1) / trip.piece_bytes;
    return trip;
}

// Where the rest would be all of it, most of that was hidden.
uint64_t without(uint64_t ns, uint64_t rest_ns) {
    return std::max(ns - std::min(ns, rest_ns), (ns + 1) / 2);
}

uint64_t moving_ns(uint64_t bytes, uint64_t ns) { return (bytes * ns + kBytes / 2) / kBytes; }

}  // namespace

NodeParameters parameters_of(const node::Figures& figures, const node::Tuning& tuning) {
    NodeParameters result;
    result.flag_ns = figures.barrier_ns;
    const Trip trip = trip_of(figures, tuning);
    if (trip.ns == 0) return result;
    result.copy_bytes_per_s = bytes_per_s(kBytes, without(trip.ns, trip.pieces * result.flag_ns));
    return result;
}

std::optional<NodeSpeeds> speeds_of(const node::Figures& figures, const node::Tuning& tuning,
                                    uint32_t ranks) {
    const Trip trip = trip_of(figures, tuning);
    if (trip.ns == 0) return std::nullopt;
    NodeSpeeds speeds;
    speeds.flag_ns = figures.barrier_ns;
    speeds.own_ns = kOwnNs;
    const uint64_t first_of = kBytes / std::max<uint64_t>(trip.piece_bytes, 1);
    const uint64_t flags_ns = trip.pieces * speeds.flag_ns;
    const uint64_t one_way_ns = without(trip.ns, flags_ns);
    // Of more ranks each reads, and somebody folds, the blocks of several.
    const bool are_two = ranks == 2;
    const uint64_t both_ns = are_two ? figures.all_ways.ring[node::kMeasuredMiddle] : 0;
    const uint64_t folded_ns = are_two ? figures.fold_ns : 0;
    // Written while others read, but for the first piece.
    speeds.write_ns = one_way_ns;
    if (both_ns != 0) {
        const uint64_t both_moving_ns = without(both_ns, speeds.flag_ns + kOwnNs);
        const uint64_t left_ns = both_moving_ns - std::min(both_moving_ns, one_way_ns);
        speeds.write_ns = std::clamp(left_ns, one_way_ns / 8, one_way_ns);
    }
    const uint64_t first_ns = speeds.write_ns / std::max<uint64_t>(first_of, 1);
    if (figures.short_ns != 0) {
        const uint64_t short_ns = figures.short_ns - std::min(figures.short_ns, figures.barrier_ns);
        const uint64_t as_others_ns = moving_ns(node::kShortBytes, one_way_ns);
        speeds.start_ns = short_ns - std::min(short_ns, as_others_ns);
    }
    const uint64_t rest_ns = flags_ns + first_ns + speeds.start_ns;
    speeds.read_ns = without(trip.ns, rest_ns);
    speeds.fold_ns = folded_ns == 0 ? speeds.read_ns : without(folded_ns, rest_ns);
    return speeds;
}

std::optional<NodeSpeeds> single_speeds_of(const node::Figures& figures, uint64_t bytes) {
    const node::Times one_way = node::tuned_one_way(figures);
    NodeSpeeds speeds;
    speeds.flag_ns = figures.barrier_ns;
    speeds.own_ns = kOwnNs;
    for (size_t i = 0; i < node::kMeasuredBytes.size(); ++i) {
        const uint64_t ns = one_way.single[i];
        if (ns == 0 || (speeds.read_ns != 0 && node::kMeasuredBytes[i] > bytes)) continue;
        speeds.read_ns = ns * kBytes / node::kMeasuredBytes[i];
    }
    if (speeds.read_ns == 0) return std::nullopt;
    speeds.fold_ns = speeds.read_ns + kOwnNs;
    return speeds;
}

uint64_t time_ns(const node::Cost& cost, const NodeSpeeds& speeds) {
    const uint64_t read_bytes = cost.read_bytes - std::min(cost.read_bytes, cost.folded_bytes);
    const uint64_t start_bytes = std::min<uint64_t>(cost.read_bytes, node::kShortBytes);
    return cost.rounds * speeds.flag_ns + start_bytes * speeds.start_ns / node::kShortBytes +
           moving_ns(cost.written_bytes + cost.first_bytes, speeds.write_ns) +
           moving_ns(read_bytes, speeds.read_ns) + moving_ns(cost.folded_bytes, speeds.fold_ns) +
           moving_ns(cost.own_bytes, speeds.own_ns);
}

uint64_t time_ns(const node::Cost& cost, const NodeParameters& parameters) {
    return cost.rounds * parameters.flag_ns +
           bytes_ns(cost.written_bytes + cost.read_bytes, parameters.copy_bytes_per_s) +
           bytes_ns(cost.folded_bytes, parameters.reduce_bytes_per_s);
}

}  // namespace tutti::price
