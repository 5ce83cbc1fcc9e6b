// SPDX-License-Identifier: BSD-3-Clause
#include "price/node_speed.h"

#include <algorithm>
#include <cstddef>

#include "base/amounts.h"

namespace tutti::price {
namespace {

constexpr uint64_t kNsPerS = 1'000'000'000;

// Rounded up, so that these bytes take these nanoseconds again.
uint64_t bytes_per_s(uint64_t bytes, uint64_t ns) { return (bytes * kNsPerS + ns - 1) / ns; }

}  // namespace

NodeParameters parameters_of(const node::Figures& figures, const node::Tuning& tuning) {
    NodeParameters result;
    result.flag_ns = figures.barrier_ns;
    const bool is_short = tuning.ring_bytes == node::kShortRingBytes && figures.short_ring_ns != 0;
    const uint64_t trip_ns =
        is_short ? figures.short_ring_ns : figures.way_ns[static_cast<size_t>(tuning.way)];
    if (trip_ns == 0) return result;
    constexpr uint64_t kBytes = node::kMeasuredBytes[node::kMeasuredMiddle];
    const uint64_t piece_bytes =
        std::clamp<uint64_t>(kBytes / tuning.pieces.count, tuning.pieces.bytes_min,
                             std::max(tuning.pieces.bytes_min, tuning.pieces.bytes_max));
    const uint64_t flags_ns = (kBytes + piece_bytes - 1) / piece_bytes * result.flag_ns;
    // Where flags would be all of it, most of them were hidden.
    const uint64_t copy_ns = std::max(trip_ns - std::min(trip_ns, flags_ns), (trip_ns + 1) / 2);
    result.copy_bytes_per_s = bytes_per_s(kBytes, copy_ns);
    return result;
}

uint64_t single_bytes_per_s(const node::Figures& figures, uint64_t bytes) {
    const node::Times one_way = node::tuned_one_way(figures);
    uint64_t rate = 0;
    for (size_t i = 0; i < node::kMeasuredBytes.size(); ++i) {
        const uint64_t ns = one_way.single[i];
        if (ns == 0 || (rate != 0 && node::kMeasuredBytes[i] > bytes)) continue;
        rate = bytes_per_s(node::kMeasuredBytes[i], ns);
    }
    return rate;
}

uint64_t time_ns(const node::Cost& cost, const NodeParameters& parameters) {
    return cost.rounds * parameters.flag_ns +
           bytes_ns(cost.written_bytes + cost.read_bytes, parameters.copy_bytes_per_s) +
           bytes_ns(cost.folded_bytes, parameters.reduce_bytes_per_s);
}

}  // namespace tutti::price
