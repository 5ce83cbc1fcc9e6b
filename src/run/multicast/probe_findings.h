// SPDX-License-Identifier: BSD-3-Clause
// What members find as they probe a group that they have joined, and what follows for all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "plan/sched/shape.h"
#include "run/agree/circle.h"

namespace tutti::multicast {

// Of one member; 0 where it did not measure. Sent as it is.
struct Finding {
    agree::Obstacle obstacle = agree::Obstacle::kNone;
    uint64_t bytes_per_s = 0;
    uint64_t code_bytes_per_s = 0;   // of the carrying rank
    uint64_t round_trip_ns = 0;      // the longest
    uint64_t round_trip_ns_min = 0;  // one that met nothing else on its way
    uint32_t is_cut = 0;             // a message failed: nothing more comes by messages
    sched::Speed message;            // of two hosts
};

// Of all members, and alike on all.
struct JointFinding {
    bool is_good = true;  // none has an obstacle
    bool is_cut = false;
    // Every obstacle is one of the network. Else a member may be unheard only because it could not
    // probe.
    bool is_of_network = true;
    std::optional<uint64_t> bytes_per_s;  // of the slowest
    std::optional<uint64_t> code_bytes_per_s;
    uint64_t round_trip_ns = 0;
    uint64_t latency_ns = 0;  // of the slowest at its best, one way
    sched::Speed message;     // of the slowest two

    // At which each may send: no faster than packets are coded. wanted: as the settings have it, or
    // 0. None: nobody could measure it.
    [[nodiscard]] std::optional<uint64_t> rate(uint64_t wanted) const;
};

// message: as measured before; 0: it was not.
JointFinding join_findings(std::span<const Finding> all, const sched::Speed& message);

}  // namespace tutti::multicast
