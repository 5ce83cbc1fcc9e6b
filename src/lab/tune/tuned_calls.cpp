// SPDX-License-Identifier: BSD-3-Clause
#include "lab/tune/tuned_calls.h"

#include <algorithm>

#include "base/amounts.h"
#include "base/collectives.h"
#include "base/settings.h"
#include "plan/algo/plan.h"
#include "plan/select/rules.h"
#include "plan/select/select.h"

namespace tutti::tune {
namespace {

constexpr size_t kByPriceMax = 3;
constexpr uint64_t kDearer = 3;  // times the lowest price: no candidate any more

sched::Shape shape_of(tutti_collective collective, uint64_t bytes, uint32_t ranks) {
    sched::Shape shape;
    shape.collective = collective;
    shape.ranks = ranks;
    shape.bytes = bytes;
    if (is_reduction(collective)) shape.element_bytes = sizeof(double);
    return shape;
}

void add(std::vector<Candidate>& all, Candidate one) {
    if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
}

void add_by_price(PlannedCall& call, const std::vector<select::Priced>& priced) {
    for (const select::Priced& one : priced) {
        if (call.candidates.size() >= kByPriceMax || one.ns > kDearer * priced.front().ns) return;
        const bool is_there = std::ranges::any_of(call.candidates, [&](const Candidate& other) {
            return other.algorithm == one.algorithm->name;
        });
        if (!is_there) add(call.candidates, {std::string(one.algorithm->name), one.tuning});
    }
}

void add_built_in(PlannedCall& call, const sched::Shape& shape, const topo::Placement& placement) {
    const Settings settings;
    const auto choice = select::choose({.rules = select::Rules::built_in(),
                                        .settings = settings,
                                        .shape = shape,
                                        .placement = placement,
                                        .host_mpi = {}});
    if (!choice || choice.value().runs != select::Runs::kPlan) return;
    add(call.candidates, {std::string(choice.value().algorithm->name), choice.value().tuning});
}

void add_multicasts(PlannedCall& call, const sched::Shape& shape,
                    const topo::Placement& placement) {
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (algorithm.collective != shape.collective || !algorithm.has_multicast) continue;
        if (algorithm.follows_arrival) continue;  // floating point needs the user's word
        if (!algo::plan_obstacle(algorithm, shape, placement, {}).empty()) continue;
        add(call.candidates, {std::string(algorithm.name)});
    }
}

// What no algorithm goes below: whoever has most takes it in, over its link or from its node.
uint64_t least_ns(const sched::Shape& shape, const topo::Placement& placement,
                  const select::Cluster& cluster) {
    const uint64_t bytes = has_blocks(shape.collective) ? shape.all_blocks_bytes() : shape.bytes;
    if (placement.nodes() == 1) {
        return cluster.node.flag_ns + bits_ns(bytes, 8 * cluster.node.copy_bytes_per_s);
    }
    return cluster.network.fabric.latency_ns +
           bits_ns(bytes,
                   cluster.network.payload_bits_per_s(cluster.network.fabric.link_bits_per_s(0)));
}

PlannedCall plan_call(sched::Shape shape, const topo::Placement& placement,
                      const select::Cluster& cluster) {
    PlannedCall call{shape.collective, shape.bytes, {}, least_ns(shape, placement, cluster)};
    if (placement.nodes() == 1) {
        call.candidates.push_back({std::string(select::kNodeLevel)});
        return call;
    }
    const auto priced = select::by_price(shape, placement, cluster);
    if (!priced.empty()) call.ns = std::max(call.ns, priced.front().ns);
    add_by_price(call, priced);
    add_built_in(call, shape, placement);
    shape.has_multicast = true;
    add_multicasts(call, shape, placement);
    return call;
}

}  // namespace

std::string Candidate::text() const { return select::forced_text(algorithm, tuning); }

std::vector<PlannedCall> plan_calls(const topo::Placement& placement,
                                    const select::Cluster& cluster) {
    std::vector<PlannedCall> calls;
    for (int one = 0; one < TUTTI_COLLECTIVE_COUNT; ++one) {
        const auto collective = static_cast<tutti_collective>(one);
        // Nothing is chosen by their lengths.
        if (has_private_lengths(collective)) continue;
        for (const uint64_t bytes : kSizes) {
            const bool has_bytes = collective != TUTTI_BARRIER;
            const sched::Shape shape =
                shape_of(collective, has_bytes ? bytes : 0, placement.ranks());
            calls.push_back(plan_call(shape, placement, cluster));
            if (!has_bytes) break;
        }
    }
    std::erase_if(calls, [](const PlannedCall& call) { return call.candidates.empty(); });
    std::ranges::stable_sort(calls, {}, &PlannedCall::ns);
    return calls;
}

}  // namespace tutti::tune
