// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/comparison.h"

#include "lab/explain/schedule_cost.h"
#include "plan/algo/plan.h"
#include "plan/select/skew_threshold.h"

namespace tutti::explain {

Comparison compare(const sched::Shape& shape, const topo::Placement& placement,
                   const select::Choice& choice, const select::Cluster& cluster,
                   std::optional<uint64_t> skew_ns) {
    Comparison result;
    for (const algo::Algorithm& one : algo::algorithms()) {
        if (one.collective != shape.collective) continue;
        const bool is_chosen = choice.algorithm == &one;
        const algo::Tuning tuning = is_chosen ? choice.tuning : algo::Tuning{};
        Candidate candidate{
            &one, is_chosen, algo::plan_obstacle(one, shape, placement, tuning), {}, {}, {}, {}};
        if (candidate.obstacle.empty()) {
            candidate.cost = cost_of(one, shape, placement, tuning);
            result.are_followed &= candidate.cost.is_followed;
            result.has_multicasts |= candidate.cost.most.multicasts_sent != 0;
            if (!one.has_multicast || cluster.network.multicast.mbit != 0) {
                const auto found = select::predict(one, shape, placement, tuning, cluster);
                candidate.ns = found.ns;
                candidate.method = found.method;
                if (skew_ns) {
                    candidate.late_ns =
                        select::predicted_late_ns(one, shape, placement, tuning, cluster, *skew_ns);
                }
            }
        }
        result.candidates.push_back(candidate);
    }
    return result;
}

std::vector<Following> followings(const Comparison& comparison, const sched::Shape& shape,
                                  const topo::Placement& placement, const select::Choice& choice,
                                  const select::Cluster& cluster) {
    const Candidate* fixed = nullptr;
    for (const Candidate& one : comparison.candidates) {
        if (!one.ns || one.algorithm->follows_arrival) continue;
        if (one.algorithm->is_only_named && !one.is_chosen) continue;
        const bool is_better =
            one.is_chosen || fixed == nullptr || (!fixed->is_chosen && *one.ns < fixed->ns.value());
        if (is_better) fixed = &one;
    }
    std::vector<Following> all;
    for (const Candidate& one : comparison.candidates) {
        if (!fixed || !one.ns || !one.algorithm->follows_arrival) continue;
        if (one.algorithm->is_only_named && !one.is_chosen) continue;
        const auto tuning_of = [&](const Candidate& of) {
            return of.is_chosen ? choice.tuning : algo::Tuning{};
        };
        const auto from_ns = select::faster_from_ns({one.algorithm, tuning_of(one)},
                                                    {fixed->algorithm, tuning_of(*fixed)}, shape,
                                                    placement, cluster);
        if (from_ns) all.push_back({one.algorithm, fixed->algorithm, *from_ns});
    }
    return all;
}

}  // namespace tutti::explain
