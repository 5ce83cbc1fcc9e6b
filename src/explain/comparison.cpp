// SPDX-License-Identifier: BSD-3-Clause
#include "explain/comparison.h"

#include "algo/plan.h"
#include "explain/cost.h"

namespace tutti::explain {

Comparison compare(const sched::Shape& shape, const topo::Placement& placement,
                   const select::Choice& choice, const select::Cluster& cluster) {
    Comparison result;
    for (const algo::Algorithm& one : algo::algorithms()) {
        if (one.collective != shape.collective) continue;
        const bool is_chosen = choice.algorithm == &one;
        const algo::Tuning tuning = is_chosen ? choice.tuning : algo::Tuning{};
        Candidate candidate{&one, is_chosen, algo::plan_obstacle(one, shape, placement, tuning),
                            {},   {},        {}};
        if (candidate.obstacle.empty()) {
            candidate.cost = cost_of(one, shape, placement, tuning);
            result.are_followed &= candidate.cost.is_followed;
            result.has_multicasts |= candidate.cost.most.multicasts_sent != 0;
            if (!one.has_multicast || cluster.network.multicast.mbit != 0) {
                const auto found = select::predict(one, shape, placement, tuning, cluster);
                candidate.ns = found.ns;
                candidate.method = found.method;
            }
        }
        result.candidates.push_back(candidate);
    }
    return result;
}

}  // namespace tutti::explain
