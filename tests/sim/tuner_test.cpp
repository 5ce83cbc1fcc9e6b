// SPDX-License-Identifier: BSD-3-Clause
// Teams that measure themselves in virtual time, on machines made up here: all ranks come to the
// same tuning, whoever is late, and it is the one that the machine asks for.
#include "node/tuner.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "node/meter.h"
#include "sim/peer_memory.h"
#include "sim/script.h"
#include "sim/seeds.h"
#include "simulate/node_simulator.h"

namespace tutti::test {
namespace {

using node::CopyWay;
using node::Figures;
using node::kNever;
using node::Meter;
using node::Tuning;
using simulate::SimTeam;

// Nanoseconds that a step of rank 0 takes.
using Machine = std::function<uint64_t(const node::Team&, const node::Op&)>;

bool is_single(const node::Op& op) {
    return op.step && std::string(node::algorithm_name(op)) == "single";
}

// A step moves so many bytes, through rings or by single copy.
Machine machine(CopyWay best, uint64_t ring_step_ns, uint64_t single_step_ns) {
    return [=](const node::Team& team, const node::Op& op) -> uint64_t {
        if (op.call.bytes <= node::kInlineBytesMax) return 20;
        if (is_single(op)) return single_step_ns;
        return team.tuning.way == best ? ring_step_ns : 3 * ring_step_ns;
    };
}

struct Crew {
    Crew(uint32_t ranks, uint64_t seed, bool can_read) : prng(seed), memory(ranks, 64 * 1024) {
        SimTeam team{.ranks = ranks, .chunk_bytes = 64 * 1024, .layout = {}};
        team.tuning = {};
        team.patience_polls = 100;
        if (can_read) team.peers = all_read;
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            teams.push_back(sim_rank(team, memory, rank));
        }
    }
    // Lets ranks go on in any order until all are done. step: of a rank that is not; op: what it
    // has under way then.
    void run(const std::function<Step(uint32_t)>& step,
             const std::function<const node::Op&(uint32_t)>& op, const Machine& machine) {
        constexpr size_t kStepsMax = 20'000'000;
        std::vector<bool> is_done(teams.size());
        size_t left = teams.size();
        for (size_t i = 0; i < kStepsMax && left > 0; ++i) {
            const auto rank = static_cast<uint32_t>(prng.below(teams.size()));
            if (is_done[rank]) continue;
            const Step last = step(rank);
            if (rank == 0) clock.advance_to(clock.now_ns() + machine(teams[0], op(0)));
            if (last != Step::kDone) continue;
            is_done[rank] = true;
            --left;
        }
        ASSERT_EQ(left, 0u) << "it never ends";
    }
    void check_agreement() const {
        for (const node::Team& team : teams) {
            EXPECT_EQ(team.tuning, teams[0].tuning);
            EXPECT_EQ(team.slice.geometry.chunk_bytes, teams[0].slice.geometry.chunk_bytes);
            EXPECT_EQ(team.slice.geometry.chunk_count, teams[0].slice.geometry.chunk_count);
            EXPECT_EQ(team.call, teams[0].call);
            EXPECT_EQ(team.chunks, teams[0].chunks);
            EXPECT_EQ(team.history, teams[0].history);
        }
    }

    Prng prng;
    simulate::SimClock clock;
    simulate::SimSlice memory;
    std::vector<node::Team> teams;
};

Figures measure(Crew& crew, const Machine& machine, const node::TuningLimits& limits = {}) {
    std::vector<std::unique_ptr<Meter>> meters;
    for (uint32_t rank = 0; rank < crew.teams.size(); ++rank) {
        meters.push_back(std::make_unique<Meter>(crew.clock, Tuning{}, limits));
        meters.back()->begin();
    }
    crew.run([&](uint32_t rank) { return meters[rank]->step(crew.teams[rank]); },
             [&](uint32_t rank) -> const node::Op& { return meters[rank]->op(); }, machine);
    crew.check_agreement();
    for (const auto& meter : meters) EXPECT_EQ(meter->figures(), meters[0]->figures());
    return meters[0]->figures();
}

// One call of all.
std::string run_call(Crew& crew, const Spec& spec, const Machine& machine) {
    const auto ranks = static_cast<uint32_t>(crew.teams.size());
    Exchange exchange(spec, ranks);
    std::vector<node::Op> ops(ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        node::start(crew.teams[rank], ops[rank], exchange.node_call(rank));
    }
    crew.run([&](uint32_t rank) { return node::step(crew.teams[rank], ops[rank]); },
             [&](uint32_t rank) -> const node::Op& {
                 // While it looks, no algorithm of the table runs the call.
                 const bool looks = std::string(node::algorithm_name(ops[rank])) == "alone";
                 return looks ? crew.teams[rank].tuner->op() : ops[rank];
             },
             machine);
    return exchange.check();
}

std::string run_mixed(Crew& crew, const Machine& machine) {
    uint64_t seed = 1;
    for (const tutti_collective kind : {TUTTI_BCAST, TUTTI_ALLREDUCE, TUTTI_GATHER, TUTTI_SCATTER,
                                        TUTTI_ALLGATHER, TUTTI_REDUCE}) {
        for (const size_t bytes : {200u, 20'000u, 700'000u}) {
            const size_t whole = bytes / 8 * 8;
            const std::string wrong =
                run_call(crew, {kind, 0, whole, Fold::kXorU64, seed++}, machine);
            if (!wrong.empty()) return wrong;
        }
    }
    return "";
}

TEST(Measuring, TheBestWayIsFoundByAll) {
    const Seeds seeds = Seeds::wanted(3);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        for (const CopyWay best :
             {CopyWay::kPlain, CopyWay::kPrefetch, CopyWay::kString, CopyWay::kStream}) {
            Crew crew(static_cast<uint32_t>(2 + seed % 3), seed, false);
            const Machine here = machine(best, 200, 0);
            const Figures figures = measure(crew, here);
            EXPECT_EQ(crew.teams[0].tuning.way, best) << replay(seed);
            EXPECT_GT(figures.barrier_ns, 0u);
            // Rings are cut by what was found.
            const size_t chunk = crew.teams[0].slice.geometry.chunk_bytes;
            EXPECT_EQ(chunk, crew.teams[0].tuning.pieces.bytes_max);
            EXPECT_EQ(run_mixed(crew, here), "") << replay(seed);
        }
    }
}

TEST(Measuring, SingleCopyWhereItWins) {
    const Seeds seeds = Seeds::wanted(3);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Crew quick(2, seed, true);
        const Machine good = machine(CopyWay::kPrefetch, 1000, 30);
        measure(quick, good);
        EXPECT_LE(quick.teams[0].tuning.single_one_way, 64u << 10) << replay(seed);
        EXPECT_EQ(run_mixed(quick, good), "") << replay(seed);

        Crew slow(2, seed, true);
        const Machine bad = machine(CopyWay::kPrefetch, 50, 40'000);
        measure(slow, bad);
        EXPECT_EQ(slow.teams[0].tuning.single_one_way, kNever) << replay(seed);
        EXPECT_EQ(slow.teams[0].tuning.single_all_ways, kNever) << replay(seed);
        EXPECT_EQ(run_mixed(slow, bad), "") << replay(seed);
    }
}

// Whatever the machine is like, it ends soon.
TEST(Measuring, ItEndsWithinItsBudget) {
    Crew crew(2, 1, true);
    const Machine slow = machine(CopyWay::kPlain, 40'000, 40'000);
    measure(crew, slow);
    // A trip that has begun ends.
    constexpr uint64_t kTripNs = 40'000'000;
    EXPECT_LT(crew.clock.now_ns(), Meter::kBudgetNs + kTripNs);
    EXPECT_EQ(run_mixed(crew, slow), "");
}

// Ranks that take turns on a processor measure nothing.
TEST(Measuring, CrowdedRanksLearnNothing) {
    Crew crew(2, 1, true);
    const Figures figures =
        measure(crew, [](const node::Team&, const node::Op&) -> uint64_t { return 50'000; });
    EXPECT_EQ(figures, Figures{});
    EXPECT_EQ(crew.teams[0].tuning, Tuning{});
}

// ---- while the program runs ---------------------------------------------------------------------

void give_tuners(Crew& crew, const Figures& figures) {
    for (node::Team& team : crew.teams) {
        team.tuner =
            std::make_shared<node::Tuner>(crew.clock, Tuning{}, node::TuningLimits{}, figures);
    }
}

constexpr uint32_t kFirstLook = 64;

TEST(Tuner, LooksAtNumbersThatAllKnow) {
    Crew crew(3, 5, false);
    const Machine here = machine(CopyWay::kString, 200, 0);
    const Figures figures = measure(crew, here);
    give_tuners(crew, figures);
    const Tuning before = crew.teams[0].tuning;
    const uint64_t calls = crew.teams[0].call;
    for (uint32_t i = 1; i < kFirstLook; ++i) {
        ASSERT_EQ(run_call(crew, {TUTTI_BCAST, i % 3, 2000, Fold::kXorU64, i}, here), "");
    }
    EXPECT_EQ(crew.teams[0].call, calls + kFirstLook - 1);
    // Neither short calls nor those whose ranks may differ count.
    ASSERT_EQ(run_call(crew, {TUTTI_BCAST, 0, 8, Fold::kXorU64, 1}, here), "");
    ASSERT_EQ(run_call(crew, {TUTTI_GATHER, 0, 2000, Fold::kXorU64, 1}, here), "");
    EXPECT_EQ(crew.teams[0].call, calls + kFirstLook + 1);
    ASSERT_EQ(run_call(crew, {TUTTI_ALLREDUCE, 0, 2000, Fold::kXorU64, 1}, here), "");
    // A look, which found nothing new, and the call itself.
    EXPECT_GT(crew.teams[0].call, calls + kFirstLook + 2);
    EXPECT_LT(crew.teams[0].call, calls + kFirstLook + 60);
    EXPECT_EQ(crew.teams[0].tuning, before);
    for (const node::Team& team : crew.teams) EXPECT_EQ(team.tuner->again(), 0u);
    crew.check_agreement();
}

// The hypervisor moves the ranks: what was measured holds no more, and is measured again.
TEST(Tuner, MeasuresAgainWhereRanksWereMoved) {
    const Seeds seeds = Seeds::wanted(5);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Crew crew(static_cast<uint32_t>(2 + seed % 2), seed, false);
        const Machine near = machine(CopyWay::kPrefetch, 200, 0);
        give_tuners(crew, measure(crew, near));
        EXPECT_EQ(crew.teams[0].tuning.way, CopyWay::kPrefetch);
        const Machine moved = machine(CopyWay::kStream, 200, 0);
        const Machine far = [&](const node::Team& team, const node::Op& op) {
            return 4 * moved(team, op);
        };
        for (uint32_t i = 1; i <= kFirstLook; ++i) {
            const auto kind = i % 2 == 0 ? TUTTI_ALLREDUCE : TUTTI_ALLGATHER;
            ASSERT_EQ(run_call(crew, {kind, 0, 4000, Fold::kXorU64, i}, far), "") << replay(seed);
        }
        EXPECT_EQ(crew.teams[0].tuning.way, CopyWay::kStream) << replay(seed);
        for (const node::Team& team : crew.teams) EXPECT_EQ(team.tuner->again(), 1u);
        crew.check_agreement();
        EXPECT_EQ(run_mixed(crew, far), "") << replay(seed);
    }
}

}  // namespace
}  // namespace tutti::test
