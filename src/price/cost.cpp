// SPDX-License-Identifier: BSD-3-Clause
#include "price/cost.h"

#include <vector>

namespace tutti::price {

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

}  // namespace tutti::price
