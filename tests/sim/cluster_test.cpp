// SPDX-License-Identifier: BSD-3-Clause
// The whole stack across hosts, by seed: random clusters, overlapping teams, collectives,
// algorithms and sizes, and multicasts of no collective, under delays, reordering and slow ranks,
// compared with a direct computation.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "lab/simulate/cluster_simulator.h"
#include "sim/multicast_mix.h"
#include "sim/script.h"
#include "sim/seeds.h"
#include "sim/team_call.h"

namespace tutti::test {
namespace {

using simulate::ClusterParams;
using simulate::ClusterSimulator;

// One of the values, as the seed says.
template <class T, size_t n>
T pick(Prng& prng, const T (&values)[n]) {
    return values[prng.below(n)];
}

ClusterParams draw_cluster(Prng& prng, uint64_t seed, uint32_t processes_max) {
    ClusterParams params;
    const auto hosts = static_cast<uint32_t>(1 + prng.below(6));
    const auto first_leaf = static_cast<uint32_t>(prng.below(hosts));
    params.cluster = prng.below(2) == 0 ? transport::sim::Cluster::one_switch(hosts)
                                        : transport::sim::Cluster::leaves(std::vector<uint32_t>{
                                              first_leaf, hosts - first_leaf});
    params.cluster.eager_bytes_max = pick<size_t>(prng, {0, 100, 1'000'000});
    params.cluster.multicast_slots = pick<uint32_t>(prng, {1, 5, 64});
    params.cluster.overhead_ns = pick<uint64_t>(prng, {0, 150});
    params.cluster.fabric.trunk_bits_per_s = pick<uint64_t>(prng, {100'000'000'000, 500'000'000});
    const auto processes = static_cast<uint32_t>(2 + prng.below(processes_max - 1));
    const bool is_round_robin = prng.below(2) == 0;
    for (uint32_t i = 0; i < processes; ++i) {
        const uint64_t host = is_round_robin ? i : prng.below(hosts);
        params.host_of_process.push_back(static_cast<uint32_t>(host % hosts));
    }
    if (!is_round_robin && prng.below(2) == 0) {
        std::sort(params.host_of_process.begin(), params.host_of_process.end());
    }
    params.weather = {.seed = seed,
                      .delay_ns_max = pick<uint64_t>(prng, {0, 3000, 100'000}),
                      .shuffles = true,
                      .poisons = true};
    params.chunk_bytes = size_t{64} << prng.below(7);
    params.rank_order = prng.below(4) == 0;
    params.look_ns_max = pick<uint64_t>(prng, {0, 500});
    return params;
}

// Any members in any order, at least two.
std::vector<uint32_t> draw_members(Prng& prng, uint32_t processes) {
    std::vector<uint32_t> members(processes);
    std::iota(members.begin(), members.end(), 0);
    if (prng.below(2) == 0) {
        for (size_t i = processes; i > 1; --i) std::swap(members[i - 1], members[prng.below(i)]);
    }
    members.resize(2 + prng.below(processes - 1));
    return members;
}

algo::Tuning draw_tuning(Prng& prng) {
    algo::Tuning tuning;
    tuning.segment_bytes = pick<uint64_t>(prng, {0, 0, 64, 1000, 4096});
    tuning.lanes_in_flight = pick<uint32_t>(prng, {0, 0, 1, 2, 3, 16});
    tuning.fan_in = pick<uint32_t>(prng, {0, 1, 2, 3, 8});
    tuning.leaders = pick<uint32_t>(prng, {0, 1, 2, 3});
    tuning.flat = prng.below(5) == 0;
    return tuning;
}

// A sum that is right in the order of ranks only takes the chain over all ranks, which promises it.
Choice draw_choice(Prng& prng, const Spec& spec, const sched::Shape& shape,
                   const topo::Placement& placement) {
    if (spec.fold == Fold::kSumF64Ordered) {
        algo::Tuning tuning = draw_tuning(prng);
        tuning.flat = true;
        return {&algo::left_fold(shape.collective), tuning};
    }
    while (true) {
        const auto all = algo::algorithms();
        const Choice choice{&all[prng.below(all.size())], draw_tuning(prng)};
        if (choice.algorithm->collective != shape.collective) continue;
        if (algo::plan_obstacle(*choice.algorithm, shape, placement, choice.tuning).empty()) {
            return choice;
        }
    }
}

// One, drawn and added for all ranks of the team; `what` says what it was.
std::unique_ptr<TeamCall> add_call(ClusterSimulator& simulator, uint32_t team, size_t chunk_bytes,
                                   Prng& prng, std::string& what) {
    const topo::Placement& placement = simulator.placement(team);
    const Limits limits{placement.ranks(), chunk_bytes, 6000, true};
    Spec spec = draw_spec(prng, limits);
    // The engine never starts an empty call.
    if (!may_move(spec)) spec = Spec{};
    auto call = std::make_unique<TeamCall>(spec, placement);
    const Choice choice = draw_choice(prng, spec, call->shape(), placement);
    what += "\n  team " + std::to_string(team) + " of " + std::to_string(placement.ranks()) +
            " on " + std::to_string(placement.nodes()) + ": " + describe(spec) + " by " +
            text_of(choice);
    const auto waits = [&](uint32_t) { return prng.below(2) == 0; };
    what += call->add(simulator, team, choice, waits);
    return call;
}

// And one of multicasts alone.
std::unique_ptr<MulticastMix> add_mix(ClusterSimulator& simulator, uint32_t team, Prng& prng,
                                      std::string& what) {
    const uint32_t ranks = simulator.placement(team).ranks();
    auto mix = std::make_unique<MulticastMix>(prng, ranks);
    what += "\n  team " + std::to_string(team) + ": " + mix->text();
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        const auto added = simulator.add_call(team, rank, mix->program(prng, rank),
                                              mix->arguments(rank), prng.below(2) == 0);
        if (!added) what += added.error().message;
    }
    return mix;
}

// Empty, or what went wrong.
std::string run_seed(uint64_t seed, uint32_t processes_max) {
    Prng prng(seed);
    const ClusterParams params = draw_cluster(prng, seed, processes_max);
    const auto processes = static_cast<uint32_t>(params.host_of_process.size());
    ClusterSimulator simulator(params);
    const auto teams = static_cast<uint32_t>(1 + prng.below(3));
    for (uint32_t i = 0; i < teams; ++i) simulator.add_team(draw_members(prng, processes));
    std::string what;
    // The second part begins where the first has left the counters.
    for (int part = 0; part < 2; ++part) {
        std::vector<std::unique_ptr<TeamCall>> team_calls;
        std::vector<std::unique_ptr<MulticastMix>> mixes;
        for (uint64_t calls = 1 + prng.below(5); calls > 0; --calls) {
            const auto team = static_cast<uint32_t>(prng.below(teams));
            if (prng.below(4) == 0) {
                mixes.push_back(add_mix(simulator, team, prng, what));
                continue;
            }
            team_calls.push_back(add_call(simulator, team, params.chunk_bytes, prng, what));
        }
        const auto done = simulator.run();
        if (!done) return done.error().message + what;
        for (const auto& call : team_calls) {
            const std::string wrong = call->check();
            if (!wrong.empty()) return wrong + what;
        }
        for (const auto& mix : mixes) {
            const std::string wrong = mix->check();
            if (!wrong.empty()) return wrong + what;
        }
    }
    if (simulator.sweeps() != 2) return "somebody was not woken" + what;
    if (simulator.world().under_way() != 0) return "messages that nobody wanted" + what;
    return "";
}

void run_seeds(Seeds seeds, uint32_t processes_max) {
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        ASSERT_EQ(run_seed(seed, processes_max), "") << replay(seed);
    }
}

TEST(Cluster, RandomMixed) { run_seeds(Seeds::wanted(3000), 12); }

TEST(Cluster, RandomMixedManyRanks) { run_seeds(Seeds::wanted(200), 64); }

}  // namespace
}  // namespace tutti::test
