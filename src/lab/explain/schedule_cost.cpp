// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/schedule_cost.h"

#include <vector>

#include "plan/algo/plan.h"

namespace tutti::explain {

Cost cost_of_some(std::span<const std::unique_ptr<sched::Program>> programs) {
    std::vector<check::Count> counts;
    for (const auto& program : programs) counts.push_back(check::count(*program));
    Cost cost;
    cost.most = check::maximum(counts);
    return cost;
}

Cost cost_of(const topo::Placement& placement,
             std::span<const std::unique_ptr<sched::Program>> programs) {
    Cost cost = cost_of_some(programs);
    cost.rounds = check::critical_rounds(placement, programs);
    cost.is_followed = true;
    return cost;
}

uint64_t operations_about(const algo::Algorithm& algorithm, const sched::Shape& shape,
                          const topo::Placement& placement, const algo::Tuning& tuning) {
    const sched::Extent extent =
        algo::make_plan(algorithm, shape, placement, shape.root, tuning)->extent();
    return extent.lanes * extent.rounds * placement.ranks();
}

Cost cost_of(const algo::Algorithm& algorithm, const sched::Shape& shape,
             const topo::Placement& placement, const algo::Tuning& tuning) {
    if (operations_about(algorithm, shape, placement, tuning) <= kOperationsMax) {
        return cost_of(placement, algo::make_plans(algorithm, shape, placement, tuning));
    }
    algo::Programs some;
    for (uint32_t i = 0; i < kSampleRanks; ++i) {
        const auto rank = static_cast<uint32_t>(
            (shape.root + uint64_t{i} * placement.ranks() / kSampleRanks) % placement.ranks());
        some.push_back(algo::make_plan(algorithm, shape, placement, rank, tuning));
    }
    return cost_of_some(some);
}

}  // namespace tutti::explain
