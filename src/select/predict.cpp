// SPDX-License-Identifier: BSD-3-Clause
#include "select/predict.h"

#include "algo/plan.h"
#include "price/lanes.h"

namespace tutti::select {
namespace {

// The call as the nodes see it, cut to one lane of `lanes`.
struct Between {
    sched::Shape shape;
    topo::Placement placement;
    algo::Tuning tuning;
    uint64_t lanes = 1;
    uint64_t lanes_in_flight = 1;
};

Between between_nodes(const algo::Algorithm& algorithm, const sched::Shape& shape,
                      const topo::Placement& placement, const algo::Tuning& tuning) {
    const uint32_t nodes = placement.nodes();
    Between result{shape, topo::Placement::blocks(nodes, nodes), tuning};
    result.shape.ranks = nodes;
    result.shape.root = placement.node_of(shape.root);
    if (has_blocks(shape.collective)) result.shape.bytes *= placement.members_max();
    result.tuning.leaders = 0;
    if (!algo::plan_obstacle(algorithm, result.shape, result.placement, result.tuning).empty()) {
        result.shape = shape;  // it runs among the ranks only
        result.placement = placement;
    }
    const auto plan = algo::make_plan(algorithm, result.shape, result.placement, result.shape.root,
                                      result.tuning);
    result.lanes = plan->extent().lanes;
    result.lanes_in_flight = plan->extent().lanes_in_flight;
    if (result.lanes == 1) return result;
    const uint64_t element = shape.element_bytes;
    const uint64_t elements = shape.bytes / element;
    result.shape.bytes = (elements + result.lanes - 1) / result.lanes * element;
    result.tuning.segment_bytes = result.shape.bytes;
    return result;
}

price::LaneTimes follow(const algo::Algorithm& algorithm, const Between& between) {
    const algo::Programs programs =
        algo::make_plans(algorithm, between.shape, between.placement, between.tuning);
    return price::followed_lane(between.shape, between.placement, programs,
                                between.lanes_in_flight);
}

}  // namespace

uint64_t predicted_ns(const algo::Algorithm& algorithm, const sched::Shape& shape,
                      const topo::Placement& placement, const algo::Tuning& tuning) {
    const Between between = between_nodes(algorithm, shape, placement, tuning);
    const auto root = algo::make_plan(algorithm, between.shape, between.placement,
                                      between.shape.root, between.tuning);
    const bool is_long = root->extent().rounds * between.shape.ranks > kFollowedMessagesMax;
    const price::LaneTimes times =
        is_long ? price::estimated_lane(between.shape, *root) : follow(algorithm, between);
    return times.first_ns + (between.lanes - 1) * times.next_ns;
}

}  // namespace tutti::select
