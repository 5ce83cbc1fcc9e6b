// SPDX-License-Identifier: BSD-3-Clause
// How long a call would take across hosts: the price of an algorithm's own schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/topo/placement.h"
#include "plan/algo/registry.h"
#include "plan/price/cluster_parameters.h"
#include "plan/price/lanes.h"
#include "plan/price/network.h"
#include "plan/price/outline.h"
#include "plan/sched/shape.h"

namespace tutti::select {

// What all ranks of a team know alike of where it runs. Node n of the placement is host n.
struct Cluster {
    price::Network network;
    price::NodeParameters node;
    // Of the network's fabric; made when asked for where it is not there.
    std::optional<price::Outline> outline = {};
};

enum class Method : uint8_t {
    kFollowed,
    kExtrapolated,  // plan/select/many_hosts.h
    kEstimated
};

struct Prediction {
    uint64_t ns = 0;
    Method method = Method::kFollowed;
    uint64_t operations = 0;  // that were followed
};

// shape as in select::Question; the algorithm can run it.
//
// A lane among the leaders is followed (plan/price/lanes.h); what their nodes do around it (node
// operations of the rank that has most) comes before and behind. Lanes are a pipeline: each further
// one takes what its slowest part does. Among more than kFollowedParticipantsMax participants a
// lane is extrapolated (plan/select/many_hosts.h). What can be neither, as it has more than
// price::kFollowedMessagesMax messages a lane, is estimated: there one participant's own rounds and
// bytes count.
Prediction predict(const algo::Algorithm& algorithm, const sched::Shape& shape,
                   const topo::Placement& placement, const algo::Tuning& tuning,
                   const Cluster& cluster);
inline uint64_t predicted_ns(const algo::Algorithm& algorithm, const sched::Shape& shape,
                             const topo::Placement& placement, const algo::Tuning& tuning,
                             const Cluster& cluster) {
    return predict(algorithm, shape, placement, tuning, cluster).ns;
}

// The same, from the last arrival to the last exit, where one participant comes so long after all
// others: the median over late_participants(). What nodes do, and lanes behind the first one, take
// as long as without. None where there are more messages a lane, or nothing is known of it
// (price::followed_lanes): nothing is extrapolated.
std::optional<uint64_t> predicted_late_ns(const algo::Algorithm& algorithm,
                                          const sched::Shape& shape,
                                          const topo::Placement& placement,
                                          const algo::Tuning& tuning, const Cluster& cluster,
                                          uint64_t skew_ns,
                                          uint64_t messages_max = price::kFollowedMessagesMax);
// That stand for all, spread over them. Most are leaves of a tree, so the median is a leaf's.
inline constexpr uint32_t kLateMax = 3;
std::vector<sched::Rank> late_participants(uint32_t participants);

// A time that it will not be below, found sooner; 0 where none is known.
uint64_t least_ns(const algo::Algorithm& algorithm, const sched::Shape& shape,
                  const topo::Placement& placement, const algo::Tuning& tuning,
                  const Cluster& cluster);

// By the speeds that the shape knows, both, between hosts on one switch. What happens inside a
// node is not in it.
uint64_t predicted_ns(const algo::Algorithm& algorithm, const sched::Shape& shape,
                      const topo::Placement& placement, const algo::Tuning& tuning);

}  // namespace tutti::select
