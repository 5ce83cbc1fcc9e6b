// SPDX-License-Identifier: BSD-3-Clause
#include "explain/cost.h"

#include "algo/plan.h"

namespace tutti::explain {

uint64_t operations_about(const algo::Algorithm& algorithm, const sched::Shape& shape,
                          const topo::Placement& placement, const algo::Tuning& tuning) {
    const sched::Extent extent =
        algo::make_plan(algorithm, shape, placement, shape.root, tuning)->extent();
    return extent.lanes * extent.rounds * placement.ranks();
}

price::Cost cost_of(const algo::Algorithm& algorithm, const sched::Shape& shape,
                    const topo::Placement& placement, const algo::Tuning& tuning) {
    if (operations_about(algorithm, shape, placement, tuning) <= kOperationsMax) {
        return price::cost_of(placement, algo::make_plans(algorithm, shape, placement, tuning));
    }
    algo::Programs some;
    for (uint32_t i = 0; i < kSampleRanks; ++i) {
        const auto rank = static_cast<uint32_t>(
            (shape.root + uint64_t{i} * placement.ranks() / kSampleRanks) % placement.ranks());
        some.push_back(algo::make_plan(algorithm, shape, placement, rank, tuning));
    }
    return price::cost_of_some(some);
}

}  // namespace tutti::explain
