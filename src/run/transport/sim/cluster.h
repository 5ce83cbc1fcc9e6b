// SPDX-License-Identifier: BSD-3-Clause
// A cluster for virtual time: a fabric, and what its hosts take for what they do.
//
// Every link of the fabric carries one message at a time each way, in the order in which they come
// to it. Messages cut through: the head goes on as soon as it has a link, and no link passes the
// tail before the one behind it has. Switches hold whatever must wait. So alone between two hosts
// on one switch a message takes
//     latency_ns + bytes * 8 / (the least rate on its way).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/topo/fabric.h"

namespace tutti::transport::sim {

struct Cluster {
    topo::Fabric fabric;
    // What each posted message costs the processor that posts it.
    uint64_t overhead_ns = 0;
    // Longer messages wait for their receive before they set out (rendezvous): a request and its
    // answer pass first, without load. Sends of shorter ones are complete when they have left.
    size_t eager_bytes_max = 65536;
    // Messages between ranks of one host, which do not load each other.
    uint64_t memory_ns = 300;
    uint64_t memory_bytes_per_s = 8'000'000'000;

    // A multicast sets out when all members have the one of so many numbers before: the slots of a
    // node's ring.
    uint32_t multicast_slots = 64;
    // From a host to a rank of another on the same switch, where it is more than its links and the
    // memory there take.
    uint64_t multicast_latency_ns = 0;

    static Cluster one_switch(uint32_t hosts) {
        return {.fabric = topo::Fabric::one_switch(hosts)};
    }
    static Cluster leaves(std::span<const uint32_t> hosts_of_leaf) {
        return {.fabric = topo::Fabric::leaves(hosts_of_leaf)};
    }

    [[nodiscard]] bool is_valid() const {
        return fabric.is_valid() && memory_bytes_per_s > 0 && memory_ns > 0 && multicast_slots > 0;
    }
};

}  // namespace tutti::transport::sim
