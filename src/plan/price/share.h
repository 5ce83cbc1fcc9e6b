// SPDX-License-Identifier: BSD-3-Clause
// What one participant does in a lane: counted, not followed in time.
#pragma once

#include <cstdint>

#include "plan/price/lanes.h"

namespace tutti::price {

struct Share {
    uint64_t rounds = 0;  // with messages
    uint64_t messages = 0;
    uint64_t sent = 0;        // of these
    uint64_t asking = 0;      // of these
    uint64_t sent_bytes = 0;  // to other hosts
    uint64_t received_bytes = 0;
    uint64_t multicast_bytes = 0;
    uint64_t folded_bytes = 0;
    uint64_t copied_bytes = 0;
    uint64_t way_ns = 0;  // the longest to a peer, where asked for

    // Of its processor.
    [[nodiscard]] uint64_t work_ns(const Network& network, const NodeParameters& node) const;
    // Its bytes alone, on links of that rate.
    [[nodiscard]] uint64_t moving_ns(const Network& network, const NodeParameters& node,
                                     uint64_t host_bits_per_s) const;
};

// Of rounds that are alike one is read, of long programs some in equal distances. `with_ways`: the
// routes to its peers are looked up.
Share share_of(const Network& network, const Lanes& lanes, sched::Rank participant, bool with_ways);

}  // namespace tutti::price
