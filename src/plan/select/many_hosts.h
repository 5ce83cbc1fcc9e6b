// SPDX-License-Identifier: BSD-3-Clause
// Lanes among more participants than can be followed in time each time that a shape is new.
//
// The algorithm is followed on small clusters of the same structure (plan/price/outline.h), two in
// each direction in which the large one is larger, and how their time grows is told by what is
// counted of the large one: the algorithm's own law of steps, and the messages and bytes of one
// participant, whose program is read. Latency and posting grow by the one, what takes time on links
// and in memory by the other, so each is followed and extrapolated by itself (plan/price/growth.h).
#pragma once

#include <cstdint>
#include <optional>

#include "plan/algo/plan.h"
#include "plan/price/lanes.h"
#include "plan/price/outline.h"

namespace tutti::select {

struct Cluster;

// Beyond so many participants.
inline constexpr uint32_t kFollowedParticipantsMax = 64;

// What price/ follows and counts; the lane must outlive it.
price::Lanes priced_lanes(const algo::InnerLane& lane);

// None where no small cluster is like the large one: several participants on a host, or so many
// hosts that one message alone between switches has a share of its way only; and, where their
// number is no power of two on several switches, recursive doubling's allgather and the barrier of
// pairs.
std::optional<price::LaneTimes> extrapolated_lanes(const algo::InnerLane& lane,
                                                   const Cluster& cluster,
                                                   const price::Outline& outline);

// A time that these lanes take at least: of their steps, or of one participant's bytes. 0: not
// known.
uint64_t least_lanes_ns(const algo::InnerLane& lane, const Cluster& cluster,
                        const price::Outline& outline);

}  // namespace tutti::select
