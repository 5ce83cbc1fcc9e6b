// SPDX-License-Identifier: BSD-3-Clause
// How long a lane of a schedule takes between hosts, by measured speeds (Shape::message_speed,
// Shape::multicast_speed). Ranks compare such prices to choose, so they are integers.
//
// The usual model of latency and rate (Hockney 1994), on the schedule itself: the steps of a lane
// (check::steps) come one after the other, each takes a latency and the bytes of whoever sends or
// receives most in it; each further lane takes the bytes of the busiest, or its latencies, which
// lanes in flight share, if that is longer. Multicasts come one behind the other, whoever sends:
// one latency, and all bytes at their rate.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sched/program.h"
#include "sched/shape.h"
#include "topo/placement.h"

namespace tutti::price {

// What a lane takes alone, and what each further one adds.
struct LaneTimes {
    uint64_t first_ns = 0;
    uint64_t next_ns = 0;
};

// The programs of all participants, of one lane each.
LaneTimes followed_lane(const sched::Shape& shape, const topo::Placement& placement,
                        std::span<const std::unique_ptr<sched::Program>> programs,
                        uint64_t lanes_in_flight);
// By the rounds and bytes of one participant's program, where there are too many to follow.
LaneTimes estimated_lane(const sched::Shape& shape, const sched::Program& program);

}  // namespace tutti::price
