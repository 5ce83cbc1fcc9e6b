// SPDX-License-Identifier: BSD-3-Clause
// The times of messages between hosts: the links of a fabric, and the work of hosts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/amounts.h"
#include "base/topo/fabric.h"
#include "plan/price/cluster_parameters.h"
#include "plan/sched/shape.h"

namespace tutti::price {

inline constexpr uint64_t kBitsPerMbit = 1'000'000;

struct Network {
    topo::Fabric fabric;
    // Of the processor, for each message that it posts, sent or received.
    uint64_t message_ns = 0;
    // Longer messages wait for their receive before they set out, a request and its answer.
    uint64_t eager_bytes_max = UINT64_MAX;
    // Of a link's rate, in thousandths.
    uint32_t payload_permille = 1000;
    // What is between switches takes so much longer; in thousandths.
    uint32_t foreign_permille = 1000;
    // ClusterParameters has these too.
    uint64_t burst_bytes = 0;
    uint32_t both_ways_permille = 1000;
    uint32_t long_both_ways_permille = 0;
    bool long_in_turn = false;
    // From one host to all, what authenticates and places them included.
    sched::Speed multicast = {};

    [[nodiscard]] uint64_t payload_bits_per_s(uint64_t link_bits_per_s) const {
        if (payload_permille == 1000) return link_bits_per_s;
        return std::max<uint64_t>(link_bits_per_s / 1000 * payload_permille, 1);
    }
    [[nodiscard]] bool has_both_ways() const {
        return both_ways_permille != 1000 || long_both_ways_permille > 1000;
    }
    // What comes to the time for which both ways of a host's link are busy.
    [[nodiscard]] uint64_t stretch_ns(uint64_t both_ns, bool is_long) const {
        const bool has_own = is_long && long_both_ways_permille != 0;
        const uint64_t permille = (has_own ? long_both_ways_permille : both_ways_permille) - 1000;
        return both_ns / 1000 * permille + both_ns % 1000 * permille / 1000;
    }
    [[nodiscard]] uint64_t multicast_ns(uint64_t bytes) const {
        return bits_ns(bytes, std::max<uint64_t>(multicast.mbit, 1) * kBitsPerMbit);
    }
    // What a multicast is to a link that other messages take, too. Its rate was measured, so it is
    // never longer there.
    [[nodiscard]] uint64_t multicast_bytes_on(uint32_t link, uint64_t bytes) const {
        const uint64_t mbit = payload_bits_per_s(fabric.link_bits_per_s(link)) / kBitsPerMbit;
        return mbit < multicast.mbit ? bytes * mbit / multicast.mbit : bytes;
    }

    // On this fabric, whatever the parameters say of links.
    static Network on(topo::Fabric fabric, const ClusterParameters& parameters);
    // Hosts on one switch, between which messages were measured so.
    static Network measured(uint32_t hosts, const sched::Speed& message,
                            const sched::Speed& multicast);
};

}  // namespace tutti::price
