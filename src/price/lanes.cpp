// SPDX-License-Identifier: BSD-3-Clause
#include "price/lanes.h"

#include <algorithm>
#include <utility>

#include "base/amounts.h"
#include "check/count.h"
#include "price/lane_walk.h"

namespace tutti::price {

Network Network::on(topo::Fabric fabric, const ClusterParameters& parameters) {
    return {.fabric = std::move(fabric),
            .message_ns = parameters.message_ns,
            .eager_bytes_max = parameters.eager_bytes_max,
            .payload_permille = parameters.payload_permille,
            .foreign_permille = parameters.foreign_permille,
            .multicast = parameters.multicast};
}

Network Network::measured(uint32_t hosts, const sched::Speed& message,
                          const sched::Speed& multicast) {
    Network network;
    network.fabric = topo::Fabric::one_switch(hosts);
    network.fabric.latency_ns = message.latency_ns;
    network.fabric.host_bits_per_s = std::max<uint64_t>(message.mbit, 1) * kBitsPerMbit;
    network.multicast = multicast;
    return network;
}

std::optional<LaneTimes> followed_lanes(const Network& network, const NodeParameters& node,
                                        const Lanes& lanes) {
    LaneWalk walk(network, node, lanes);
    if (!walk.go()) return std::nullopt;
    const uint64_t first_ns = walk.end_ns();
    return LaneTimes{first_ns, first_ns + walk.further_ns()};
}

LaneTimes estimated_lanes(const Network& network, const sched::Program& program, uint64_t lanes) {
    const check::Count count = check::count(program);
    const uint64_t bytes = std::max(count.bytes_sent, count.bytes_received);
    const uint64_t multicast_bytes = count.multicast_bytes_sent + count.multicast_bytes_received;
    const uint64_t messages = count.messages_sent + count.messages_received;
    const uint64_t moving_ns = bits_ns(bytes, network.fabric.host_bits_per_s) +
                               messages * network.message_ns +
                               network.multicast_ns(multicast_bytes);
    const bool has_multicasts = program.extent().multicasts > 0;
    const uint64_t latency_ns =
        has_multicasts ? network.multicast.latency_ns : count.rounds * network.fabric.latency_ns;
    return {latency_ns + moving_ns, latency_ns + lanes * moving_ns};
}

}  // namespace tutti::price
