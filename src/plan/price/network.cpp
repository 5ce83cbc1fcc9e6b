// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/network.h"

#include <utility>

namespace tutti::price {

Network Network::on(topo::Fabric fabric, const ClusterParameters& parameters) {
    return {.fabric = std::move(fabric),
            .message_ns = parameters.message_ns,
            .eager_bytes_max = parameters.eager_bytes_max,
            .payload_permille = parameters.payload_permille,
            .foreign_permille = parameters.foreign_permille,
            .burst_bytes = parameters.burst_bytes,
            .both_ways_permille = parameters.both_ways_permille,
            .long_both_ways_permille = parameters.long_both_ways_permille,
            .long_in_turn = parameters.long_in_turn,
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

}  // namespace tutti::price
