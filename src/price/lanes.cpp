// SPDX-License-Identifier: BSD-3-Clause
#include "price/lanes.h"

#include <algorithm>

#include "base/amounts.h"
#include "price/lane_walk.h"

namespace tutti::price {

namespace {

// Longer programs are read so far, and the rest is as long in proportion.
constexpr uint64_t kReadRoundsMax = 4096;

// What one participant does in a lane.
struct Share {
    uint64_t rounds = 0;  // with messages
    uint64_t sent_bytes = 0;
    uint64_t received_bytes = 0;
    uint64_t multicast_bytes = 0;
    uint64_t messages = 0;
    uint64_t asking = 0;  // of these
    uint64_t folded_bytes = 0;
    uint64_t copied_bytes = 0;
    uint64_t way_ns = 0;  // the longest to a peer
};

void add(const Network& network, const Lanes& lanes, uint32_t host, const sched::Operation& op,
         Share& share) {
    using sched::OperationKind;
    if (sched::is_message(op.kind)) {
        const bool sends = op.kind == OperationKind::kSend;
        const uint64_t bytes = sends ? op.left.bytes : op.to.bytes;
        const uint32_t peer = lanes.host_of[op.peer];
        ++share.messages;
        share.asking += bytes > network.eager_bytes_max ? 1 : 0;
        if (peer != host) {
            (sends ? share.sent_bytes : share.received_bytes) += bytes;
            const topo::LinkRoute route = topo::link_route(network.fabric, host, peer);
            share.way_ns = std::max(share.way_ns, route_latency_ns(network.fabric, route));
        }
    }
    if (op.kind == OperationKind::kRecvReduce || op.kind == OperationKind::kReduce) {
        share.folded_bytes += op.to.bytes;
    }
    if (op.kind == OperationKind::kCopy) share.copied_bytes += op.to.bytes;
    if (op.kind == OperationKind::kMulticast) share.multicast_bytes += op.left.bytes;
    if (op.kind == OperationKind::kRecvMulticast) share.multicast_bytes += op.to.bytes;
}

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
                                        const Lanes& lanes) {
    if (lanes.participants > kFollowedMessagesMax) return std::nullopt;
    LaneWalk walk(network, node, lanes);
    if (!walk.go()) return std::nullopt;
    const uint64_t first_ns = walk.end_ns();
    return LaneTimes{first_ns, first_ns + walk.further_ns()};
}

LaneTimes estimated_lanes(const Network& network, const NodeParameters& node, const Lanes& lanes,
                          sched::Rank participant) {
    const auto program = lanes.program(participant);
    const uint64_t rounds = program->extent().rounds;
    const uint64_t read = std::min(rounds, kReadRoundsMax);
    Share share;
    sched::Round round;
    for (uint64_t k = 0; k < read; ++k) {
        program->read(0, k, round);
        const uint64_t before = share.messages;
        for (const sched::Operation& op : round) {
            add(network, lanes, lanes.host_of[participant], op, share);
        }
        share.rounds += share.messages > before ? 1 : 0;
    }
    const auto whole = [&](uint64_t amount) { return read == 0 ? 0 : amount * rounds / read; };
    const uint64_t bits_per_s = host_bits_per_s(network);
    const uint64_t most = whole(std::max(share.sent_bytes, share.received_bytes));
    const uint64_t both = whole(std::min(share.sent_bytes, share.received_bytes));
    const auto rated_ns = [&](uint64_t bytes) {
        return bits_ns(bytes, network.payload_bits_per_s(bits_per_s));
    };
    const uint64_t link_ns = rated_ns(most) + network.stretch_ns(rated_ns(both));
    const uint64_t burst_ns = bits_ns(network.burst_bytes, bits_per_s);
    const uint64_t moving_ns = whole(share.messages) * network.message_ns +
                               network.multicast_ns(whole(share.multicast_bytes)) +
                               bytes_ns(whole(share.folded_bytes), node.reduce_bytes_per_s) +
                               bytes_ns(whole(share.copied_bytes), node.copy_bytes_per_s);
    // A request and its answer are two more ways.
    const uint64_t ways = whole(share.rounds) + (share.asking > 0 ? 2 * whole(share.rounds) : 0);
    const uint64_t latency_ns =
        share.multicast_bytes > 0 ? network.multicast.latency_ns : ways * share.way_ns;
    return {latency_ns + moving_ns + less_ns(link_ns, burst_ns),
            latency_ns + lanes.count * moving_ns + less_ns(lanes.count * link_ns, burst_ns)};
}

}  // namespace tutti::price
