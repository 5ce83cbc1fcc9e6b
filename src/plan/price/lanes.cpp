// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/lanes.h"

#include <algorithm>

#include "base/amounts.h"
#include "plan/price/lane_walk.h"
#include "plan/price/share.h"

namespace tutti::price {

namespace {

// The slowest of all hosts' links.
uint64_t host_bits_per_s(const Network& network) {
    uint64_t least = UINT64_MAX;
    for (uint32_t host = 0; host < network.fabric.hosts(); ++host) {
        least = std::min(least, network.fabric.link_bits_per_s(2 * host));
    }
    return least;
}

}  // namespace

std::optional<LaneTimes> followed_lanes(const Network& network, const NodeParameters& node,
                                        const Lanes& lanes, uint64_t messages_max) {
    if (lanes.participants > messages_max) return std::nullopt;
    LaneWalk walk(network, node, lanes);
    if (!walk.go(messages_max)) return std::nullopt;
    const uint64_t last_ns = lanes.late_ns.empty() ? 0 : std::ranges::max(lanes.late_ns);
    const uint64_t first_ns = less_ns(walk.end_ns(), last_ns);
    return LaneTimes{first_ns, first_ns + walk.further_ns(), walk.operations()};
}

LaneTimes estimated_lanes(const Network& network, const NodeParameters& node, const Lanes& lanes,
                          sched::Rank participant) {
    const Share share = share_of(network, lanes, participant, true);
    const uint64_t bits_per_s = host_bits_per_s(network);
    const auto rated_ns = [&](uint64_t bytes) {
        return bits_ns(bytes, network.payload_bits_per_s(bits_per_s));
    };
    const uint64_t both = std::min(share.sent_bytes, share.received_bytes);
    const uint64_t link_ns = rated_ns(std::max(share.sent_bytes, share.received_bytes)) +
                             network.stretch_ns(rated_ns(both), share.asking > 0);
    const uint64_t burst_ns = bits_ns(network.burst_bytes, bits_per_s);
    const uint64_t moving_ns =
        share.work_ns(network, node) + network.multicast_ns(share.multicast_bytes);
    // A request and its answer are two more ways.
    const uint64_t ways = share.rounds + (share.asking > 0 ? 2 * share.rounds : 0);
    const uint64_t latency_ns =
        share.multicast_bytes > 0 ? network.multicast.latency_ns : ways * share.way_ns;
    return {latency_ns + moving_ns + less_ns(link_ns, burst_ns),
            latency_ns + lanes.count * moving_ns + less_ns(lanes.count * link_ns, burst_ns), 0};
}

}  // namespace tutti::price
