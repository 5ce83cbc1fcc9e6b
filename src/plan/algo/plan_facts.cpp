// SPDX-License-Identifier: BSD-3-Clause
// What plans of all ranks have in common: asked before any is made.
#include "plan/algo/plan.h"
#include "plan/algo/plan_layout.h"

namespace tutti::algo {

using topo::Placement;

InnerLane inner_lane(const Algorithm& algorithm, const Shape& shape, const Placement& placement,
                     const Tuning& tuning) {
    const Layout layout(algorithm, shape, placement, tuning);
    InnerLane lane{.algorithm = layout.algorithm,
                   .shape = layout.inner(layout.segment_bytes),
                   .tuning = layout.tuning,
                   .node_of = {},
                   .lanes = layout.lanes,
                   .lanes_in_flight = layout.lanes_in_flight,
                   .lengths = layout.packed_lengths};
    for (Rank i = 0; i < lane.shape.ranks; ++i) {
        const Rank rank = layout.is_flat ? i : layout.placement->members(i).front();
        lane.node_of.push_back(placement.node_of(rank));
    }
    return lane;
}

std::string_view plan_obstacle(const Algorithm& algorithm, const Shape& shape,
                               const Placement& placement, const Tuning& tuning) {
    if (shape.is_computed_once && algorithm.computes_often) {
        return "computes the result on several hosts, and TUTTI_HETEROGENEOUS wants it from one";
    }
    const Layout layout(algorithm, shape, placement, tuning);
    const std::string_view why = layout.algorithm->obstacle(layout.inner(layout.segment_bytes));
    if (!why.empty()) return why;
    return layout.algorithm->obstacle(layout.inner(layout.bytes_of(layout.lanes - 1)));
}

bool has_leaders(tutti_collective collective) {
    return has_node_level(node_layout(collective)) && !is_prefix(collective);
}

uint64_t plan_sorted_bytes(const Algorithm& algorithm, const Shape& shape,
                           const Placement& placement, const Tuning& tuning) {
    const Layout layout(algorithm, shape, placement, tuning);
    const uint32_t members = layout.placement->members_max();
    if (layout.is_flat || !layout.node->sorts || members == 1) return 0;
    return layout.amount_bytes(Amount::kAllOfNode, shape.bytes, members);
}

uint64_t plan_scratch_bytes(const Algorithm& algorithm, const Shape& shape,
                            const Placement& placement, const Tuning& tuning) {
    const Layout layout(algorithm, shape, placement, tuning);
    const uint64_t inner =
        layout.algorithm->scratch_bytes(layout.inner(layout.segment_bytes), layout.tuning);
    return layout.lanes_in_flight * align_up(layout.own_scratch_max() + inner);
}

}  // namespace tutti::algo
