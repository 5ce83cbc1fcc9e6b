// SPDX-License-Identifier: BSD-3-Clause
// How long a call would take between hosts, by the latency and rate that were measured there.
#pragma once

#include <cstdint>

#include "algo/registry.h"
#include "sched/shape.h"
#include "topo/placement.h"

namespace tutti::select {

// In ns. shape as in select::Question, with both speeds known; the algorithm can run it. What
// happens inside a node is not in it, and each node talks by one rank.
//
// By price/lanes.h, on the algorithm's schedule among the nodes. Schedules of more than
// kFollowedMessagesMax messages a lane are not followed: there the root's own rounds and bytes
// count.
uint64_t predicted_ns(const algo::Algorithm& algorithm, const sched::Shape& shape,
                      const topo::Placement& placement, const algo::Tuning& tuning);

inline constexpr uint64_t kFollowedMessagesMax = 1u << 14;

}  // namespace tutti::select
