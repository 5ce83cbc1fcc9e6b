// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/schedule_cost.h"

#include <algorithm>
#include <vector>

#include "plan/algo/plan.h"

namespace tutti::explain {
namespace {

// A round of most algorithms has no more operations; one of an alltoall may have kRoundOpsMax, and
// counts by its messages then, of which each is two operations.
constexpr uint64_t kUsualOperations = 4;
constexpr uint64_t kRoundsLookedAt = 8;

// How many usual rounds have as many operations as the fullest one of some of a program's.
uint64_t usual_rounds(const sched::Program& program) {
    const uint64_t rounds = program.extent().rounds;
    sched::Round round;
    uint64_t most = 1;
    const uint64_t looks = std::min(rounds, kRoundsLookedAt);
    for (uint64_t i = 0; i < looks; ++i) {
        program.read(0, i * rounds / looks, round);
        most = std::max<uint64_t>(most, round.size());
    }
    return most <= kUsualOperations ? 1 : most / 2;
}

}  // namespace

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
    // The root may have what others have together.
    const sched::Rank other = (shape.root + placement.ranks() / 2) % placement.ranks();
    const auto program = algo::make_plan(algorithm, shape, placement, other, tuning);
    return extent.lanes * extent.rounds * placement.ranks() * usual_rounds(*program);
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
