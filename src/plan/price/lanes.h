// SPDX-License-Identifier: BSD-3-Clause
// How long the lanes of a schedule take between hosts. Ranks compare such prices to choose, so they
// are integers: the same inputs give the same price everywhere.
//
// The schedule itself is followed in time, on the usual model of latency and rate (Hockney 1994)
// for each link: a message takes every link of its way for what its bytes take there, one message
// after the other, and cuts through switches. So what shares a link is seen, be it a host's, for
// which its ranks queue, or one between switches. Multicasts come one behind the other, from any
// sender: all bytes at their rate, over the links of all hosts, and one latency.
//
// What is left out against simulate/: a message takes all links of its way in the order in which it
// sets out. Of rounds that are alike a few are followed, and the others take as long as the last of
// these.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "plan/price/cluster_parameters.h"
#include "plan/price/network.h"
#include "plan/sched/program.h"
#include "plan/sched/shortened.h"

namespace tutti::price {

// Lanes that are alike, among their participants.
//
// What a link does for one lane alone it does from some time on to some other, with pauses in which
// it may serve others. So all lanes take at least one lane's time, less that window, and all that
// the link does for all of them; likewise with a participant, which has few of them under way.
struct Lanes {
    sched::Rank participants = 1;
    std::function<std::unique_ptr<sched::Program>(sched::Rank participant)> program;
    std::span<const uint32_t> host_of;  // by participant
    uint64_t count = 1;
    uint32_t in_flight = 1;
    // In each of these rounds every participant does the same with the same peers; ascending, those
    // of no rounds do not count.
    std::array<sched::Stretch, 2> alike = {};
    // By participant, when it comes; none: all at once. Rounds are then followed one by one.
    std::span<const uint64_t> late_ns = {};
};

struct LaneTimes {
    uint64_t first_ns = 0;  // one lane alone, from the last arrival on
    uint64_t all_ns = 0;
    uint64_t operations = 0;  // that were followed, two a message
};

// At most about so many messages are followed, of two operations each, at 0.1 to 0.2 us each.
inline constexpr uint64_t kFollowedMessagesMax = 1u << 15;

// None if there are more messages than that, multicasts counted by their ends; nor where somebody
// is late and the others are fed meanwhile (plan/sched/program.h), which is not followed.
std::optional<LaneTimes> followed_lanes(const Network& network, const NodeParameters& node,
                                        const Lanes& lanes,
                                        uint64_t messages_max = kFollowedMessagesMax);
// By what one participant does, on the slowest host's link and with its longest way for each round:
// where there are too many messages to follow. What waits for links between switches, or for other
// participants, is not in it, so these times are for comparison with each other only.
LaneTimes estimated_lanes(const Network& network, const NodeParameters& node, const Lanes& lanes,
                          sched::Rank participant);

}  // namespace tutti::price
