// SPDX-License-Identifier: BSD-3-Clause
// The assumed times of messages and of work within nodes, for clusters that were not measured.
#pragma once

#include <cstdint>

#include "base/topo/fabric_of_tree.h"
#include "plan/sched/shape.h"

namespace tutti::price {

// Orders of magnitude for a server of today: two cores of a node see each other's store in 20 to
// 300 ns.
struct NodeParameters {
    // Until another core sees a written flag.
    uint64_t flag_ns = 100;
    // One rank's copying between its buffers and shared memory, and one rank's folding.
    uint64_t copy_bytes_per_s = 8'000'000'000;
    uint64_t reduce_bytes_per_s = 4'000'000'000;
    bool operator==(const NodeParameters&) const = default;
};

// What `tutti tune` measures, what a preset says (plan/select/parameter_presets.h).
struct ClusterParameters {
    topo::LinkDefaults links = {};
    uint64_t message_ns = 0;           // of a processor, for each message that it posts
    uint64_t eager_bytes_max = 65536;  // longer messages wait for their receive
    // Headers and checks take the rest of a link's rate, in thousandths.
    uint32_t payload_permille = 1000;
    // The factor alpha of Kandalla, Subramoni, Panda 2010, section 4: messages take so much longer
    // between switches, for foreign traffic; in thousandths.
    uint32_t foreign_permille = 1000;
    // What every link lets pass at once when it was idle for long enough, headers included: its
    // rate is that of a token bucket.
    uint64_t burst_bytes = 0;
    // Messages take so much longer on a host's link while its other way is busy; in thousandths.
    uint32_t both_ways_permille = 1000;
    // The same of messages that wait for their receive, whose answers may wait behind what its rank
    // sends itself; 0: as the others.
    uint32_t long_both_ways_permille = 0;
    // Of two hosts that send each other long messages one sends first, then the other: the answer
    // waits behind the data, as on one TCP connection.
    bool long_in_turn = false;
    // From one host to all, what authenticates and places them included; none: as is not known.
    sched::Speed multicast = {};
    NodeParameters node = {};
};

}  // namespace tutti::price
