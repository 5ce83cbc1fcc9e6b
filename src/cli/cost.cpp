// SPDX-License-Identifier: BSD-3-Clause
#include "cli/cost.h"

#include <vector>

#include "algo/plan.h"
#include "cli/call.h"

namespace tutti::cli {

uint64_t operations_about(const algo::Algorithm& algorithm, const sched::Shape& shape,
                          const topo::Placement& placement, const algo::Tuning& tuning) {
    const sched::Extent extent =
        algo::make_plan(algorithm, shape, placement, shape.root, tuning)->extent();
    return extent.lanes * extent.rounds * placement.ranks();
}

Cost cost_of(const algo::Algorithm& algorithm, const sched::Shape& shape,
             const topo::Placement& placement, const algo::Tuning& tuning) {
    Cost cost;
    std::vector<check::Count> counts;
    if (operations_about(algorithm, shape, placement, tuning) <= kOperationsMax) {
        const algo::Programs programs = algo::make_plans(algorithm, shape, placement, tuning);
        for (const auto& program : programs) counts.push_back(check::count(*program));
        cost.rounds = check::critical_rounds(placement, programs);
        cost.is_followed = true;
    } else {
        for (uint32_t i = 0; i < kSampleRanks; ++i) {
            const auto rank = static_cast<uint32_t>(
                (shape.root + uint64_t{i} * placement.ranks() / kSampleRanks) % placement.ranks());
            const auto program = algo::make_plan(algorithm, shape, placement, rank, tuning);
            counts.push_back(check::count(*program));
        }
    }
    cost.most = check::maximum(counts);
    return cost;
}

}  // namespace tutti::cli
