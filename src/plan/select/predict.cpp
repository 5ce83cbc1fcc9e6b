// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/predict.h"

#include <algorithm>
#include <vector>

#include "base/amounts.h"
#include "plan/algo/plan.h"
#include "plan/price/lanes.h"
#include "plan/price/node_part.h"
#include "plan/price/share.h"
#include "plan/sched/bundle_rules.h"
#include "plan/sched/operation_kinds.h"
#include "plan/select/many_hosts.h"

namespace tutti::select {
namespace {

// What the nodes do around a lane, one part after the other.
struct Around {
    uint64_t before_ns = 0;
    uint64_t behind_ns = 0;
    bool is_streamed = false;  // the part behind is beside the messages
    uint64_t leader_ns = 0;    // that its processor copies and folds
};

// Node operations of a rank of the fullest node that leads it in the first lane; before and behind
// its first message.
Around around(const algo::Algorithm& algorithm, const sched::Shape& shape,
              const topo::Placement& placement, const algo::Tuning& tuning,
              const price::NodeParameters& parameters) {
    // The first node gets nothing of a scan, so that its last one stands for all.
    const bool is_scan = is_prefix(shape.collective);
    uint32_t fullest = 0;
    for (uint32_t node = 0; node < placement.nodes(); ++node) {
        const size_t size = placement.members(node).size();
        const size_t most = placement.members(fullest).size();
        if (size > most || (is_scan && size == most)) fullest = node;
    }
    const auto members = static_cast<uint32_t>(placement.members(fullest).size());
    if (members == 1) return {};
    const bool is_root = has_root(shape.collective) && placement.node_of(shape.root) == fullest;
    const auto ranks = placement.members(fullest);
    const sched::Rank leader = is_root ? shape.root : is_scan ? ranks.back() : ranks.front();
    const auto plan = algo::make_plan(algorithm, shape, placement, leader, tuning);
    Around result;
    bool has_sent = false;
    uint32_t behind = 0;
    sched::Round round;
    for (uint64_t k = 0; k < plan->extent().rounds; ++k) {
        plan->read(0, k, round);
        for (const sched::Operation& op : round) {
            if (!sched::is_node(op.kind)) {
                has_sent |= sched::is_message(op.kind) || sched::is_multicast(op.kind);
                continue;
            }
            const auto times = price::node_operation_times(op, members, parameters);
            (has_sent ? result.behind_ns : result.before_ns) += times.all_ns;
            result.leader_ns += times.root_ns;
            behind += has_sent ? 1 : 0;
            if (!sched::runs_along(sched::row_of(op))) continue;
            // At the end each rank folds the prefix of its node.
            const uint64_t fold_ns = bytes_ns(op.left.bytes, parameters.reduce_bytes_per_s);
            result.behind_ns += fold_ns;
            result.leader_ns += fold_ns;
        }
    }
    const uint64_t sorting_ns = bytes_ns(
        algo::plan_sorted_bytes(algorithm, shape, placement, tuning), parameters.copy_bytes_per_s);
    result.before_ns += sorting_ns;
    result.behind_ns += sorting_ns;
    result.leader_ns += 2 * sorting_ns;
    result.is_streamed = behind > 1;
    return result;
}

// The call as the nodes see it: what is multicast to all ranks is priced as if each node had one.
struct Between {
    sched::Shape shape;
    topo::Placement placement;
};

Between between_nodes(const sched::Shape& shape, const topo::Placement& placement) {
    const uint32_t nodes = placement.nodes();
    Between result{shape, topo::Placement::blocks(nodes, nodes)};
    result.shape.ranks = nodes;
    result.shape.root = placement.node_of(shape.root);
    if (has_blocks(shape.collective)) result.shape.bytes *= placement.members_max();
    result.shape.lengths = {};
    return result;
}

price::Outline outline_in(const Cluster& cluster) {
    return cluster.outline ? *cluster.outline : price::outline_of(cluster.network.fabric);
}

struct Found {
    price::LaneTimes times;
    Method method = Method::kFollowed;
};

// What one lane is to the processor of a participant that has most to do, near enough: the root's,
// or that of one half-way around from it.
uint64_t work_ns(const algo::InnerLane& lane, const Cluster& cluster) {
    const price::Lanes lanes = priced_lanes(lane);
    const sched::Rank root = lane.shape.root;
    uint64_t most_ns = 0;
    for (const sched::Rank at : {root, (root + lanes.participants / 2) % lanes.participants}) {
        const price::Share share = price::share_of(cluster.network, lanes, at, false);
        most_ns = std::max(most_ns, share.work_ns(cluster.network, cluster.node));
    }
    return most_ns;
}

Found lane_times(const algo::InnerLane& lane, const Cluster& cluster) {
    const price::Lanes priced = priced_lanes(lane);
    // Bundles are few, and a small team has others.
    const bool has_bundles = lane.algorithm->has_bundles() && lane.shape.ranks_on;
    if (lane.shape.ranks > kFollowedParticipantsMax && !has_bundles) {
        const auto times = extrapolated_lanes(lane, cluster, outline_in(cluster));
        if (times) return {*times, Method::kExtrapolated};
    }
    const auto times = price::followed_lanes(cluster.network, cluster.node, priced);
    if (times) return {*times, Method::kFollowed};
    return {price::estimated_lanes(cluster.network, cluster.node, priced, lane.shape.root),
            Method::kEstimated};
}

// The calls of the node around bundles, where these carry all blocks: each rank tells the others of
// its node how much it has for them, and gives them that; before the bundles and behind.
uint64_t bundling_ns(const sched::Shape& shape, const topo::Placement& placement,
                     const price::NodeParameters& parameters) {
    const uint32_t members = placement.members_max();
    if (shape.bytes > sched::bundled_bytes_max(placement)) return 0;
    sched::Operation op;
    op.kind = sched::OperationKind::kNodeBundles;
    uint64_t sum_ns = 0;
    const uint64_t for_a_leader = placement.ranks() * (shape.bytes + sched::kBundledLengthBytes);
    for (const uint64_t bytes : {uint64_t{sizeof(uint64_t)}, for_a_leader / members}) {
        op.left.bytes = bytes;
        sum_ns += 2 * price::node_operation_times(op, members, parameters).all_ns;
    }
    return sum_ns;
}

// The lanes with what the nodes do around them.
uint64_t with_nodes(const algo::InnerLane& lane, const price::LaneTimes& times,
                    const algo::Algorithm& algorithm, const topo::Placement& placement,
                    const sched::Shape& shape, const Cluster& cluster) {
    if (algorithm.has_bundles() && lane.shape.ranks_on) {
        return times.all_ns + bundling_ns(shape, placement, cluster.node);
    }
    const bool is_shared = lane.shape.ranks < placement.ranks();
    const Around node =
        is_shared ? around(algorithm, shape, placement, lane.tuning, cluster.node) : Around{};
    const uint64_t around_ns = node.before_ns + node.behind_ns;
    const uint64_t first_ns = node.is_streamed
                                  ? node.before_ns + std::max(times.first_ns, node.behind_ns)
                                  : times.first_ns + around_ns;
    uint64_t lane_ns = around_ns;
    if (around_ns > 0 && lane.lanes > 1) {
        lane_ns = std::max(lane_ns, node.leader_ns + work_ns(lane, cluster));
    }
    return first_ns + std::max(times.all_ns - times.first_ns, (lane.lanes - 1) * lane_ns);
}

// What goes on within nodes is left away: of what multicasts to all ranks, and where so many ranks
// meet, who on a node tell each other through its memory, that they would not be followed.
bool is_for_nodes(const algo::Algorithm& algorithm, const sched::Shape& shape,
                  const topo::Placement& placement) {
    if (placement.members_max() == 1) return false;
    const bool meet = algorithm.by_node_bytes_max > 0 && shape.bytes <= algorithm.by_node_bytes_max;
    return (algorithm.is_flat && algorithm.has_multicast) ||
           (meet && placement.ranks() > kFollowedParticipantsMax);
}

}  // namespace

uint64_t least_ns(const algo::Algorithm& algorithm, const sched::Shape& shape,
                  const topo::Placement& placement, const algo::Tuning& tuning,
                  const Cluster& cluster) {
    if (is_for_nodes(algorithm, shape, placement)) {
        const Between nodes = between_nodes(shape, placement);
        return least_ns(algorithm, nodes.shape, nodes.placement, tuning, cluster);
    }
    if (placement.nodes() <= kFollowedParticipantsMax) return 0;
    const algo::InnerLane lane = algo::inner_lane(algorithm, shape, placement, tuning);
    return least_lanes_ns(lane, cluster, outline_in(cluster));
}

Prediction predict(const algo::Algorithm& algorithm, const sched::Shape& shape,
                   const topo::Placement& placement, const algo::Tuning& tuning,
                   const Cluster& cluster) {
    if (is_for_nodes(algorithm, shape, placement)) {
        const Between nodes = between_nodes(shape, placement);
        return predict(algorithm, nodes.shape, nodes.placement, tuning, cluster);
    }
    const algo::InnerLane lane = algo::inner_lane(algorithm, shape, placement, tuning);
    const auto [times, method] = lane_times(lane, cluster);
    return {with_nodes(lane, times, algorithm, placement, shape, cluster), method,
            times.operations};
}

std::optional<uint64_t> predicted_late_ns(const algo::Algorithm& algorithm,
                                          const sched::Shape& shape,
                                          const topo::Placement& placement,
                                          const algo::Tuning& tuning, const Cluster& cluster,
                                          uint64_t skew_ns, uint64_t messages_max) {
    if (is_for_nodes(algorithm, shape, placement)) {
        const Between nodes = between_nodes(shape, placement);
        return predicted_late_ns(algorithm, nodes.shape, nodes.placement, tuning, cluster, skew_ns,
                                 messages_max);
    }
    const algo::InnerLane lane = algo::inner_lane(algorithm, shape, placement, tuning);
    // Lanes behind the first one know nothing of who was late.
    uint64_t further_ns = 0;
    if (lane.lanes > 1) {
        const auto [times, method] = lane_times(lane, cluster);
        further_ns = times.all_ns - times.first_ns;
    }
    std::vector<uint64_t> all_ns;
    std::vector<uint64_t> late_ns(lane.shape.ranks);
    for (const sched::Rank late : late_participants(lane.shape.ranks)) {
        price::Lanes lanes = priced_lanes(lane);
        late_ns[late] = skew_ns;
        lanes.late_ns = late_ns;
        auto times = price::followed_lanes(cluster.network, cluster.node, lanes, messages_max);
        late_ns[late] = 0;
        if (!times) return std::nullopt;
        times->all_ns = times->first_ns + further_ns;
        all_ns.push_back(with_nodes(lane, *times, algorithm, placement, shape, cluster));
        if (skew_ns == 0) break;  // all are alike
    }
    std::ranges::sort(all_ns);
    return all_ns[all_ns.size() / 2];
}

std::vector<sched::Rank> late_participants(uint32_t participants) {
    std::vector<sched::Rank> late;
    const uint32_t count = std::min(participants, kLateMax);
    for (uint32_t i = 0; i < count; ++i) {
        late.push_back(
            static_cast<sched::Rank>((2 * i + 1) * uint64_t{participants} / (2 * count)));
    }
    return late;
}

uint64_t predicted_ns(const algo::Algorithm& algorithm, const sched::Shape& shape,
                      const topo::Placement& placement, const algo::Tuning& tuning) {
    const Between nodes = between_nodes(shape, placement);
    const bool can_run =
        algo::plan_obstacle(algorithm, nodes.shape, nodes.placement, tuning).empty();
    const Cluster cluster{.network = price::Network::measured(
                              nodes.placement.nodes(), shape.message_speed, shape.multicast_speed),
                          .node = {}};
    return can_run ? predicted_ns(algorithm, nodes.shape, nodes.placement, tuning, cluster)
                   : predicted_ns(algorithm, shape, placement, tuning, cluster);
}

}  // namespace tutti::select
