// SPDX-License-Identifier: BSD-3-Clause
// Single copy with threads as ranks, whose memory is read by a plain copy: the thread sanitizer
// sees both sides of it. Nothing here depends on how fast anything is.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <vector>

#include "base/collectives.h"
#include "lab/simulate/node_simulator.h"
#include "run/node/meter.h"
#include "run/node/tuner.h"
#include "sim/peer_memory.h"
#include "sim/script.h"
#include "sim/seeds.h"
#include "unit/run/engine/crew.h"
#include "unit/run/engine/exchanges.h"
#include "unit/run/engine/told.h"
#include "unit/threads.h"

namespace tutti::test {
namespace {

using simulate::SimTeam;

Spec draw_long(Prng& prng, uint32_t ranks, bool may_lose) {
    Spec spec = draw_spec(prng, {.ranks = ranks, .chunk_bytes = 2048, .bytes_max = 20'000});
    const size_t unit = is_reduction(spec.collective) ? fold_bytes(spec.fold) : 1;
    spec.bytes = (node::kInlineBytesMax + unit + prng.below(15'000)) / unit * unit;
    if (spec.collective == TUTTI_BARRIER) spec.collective = TUTTI_BCAST;
    // What can no longer be read ends an allreduce.
    if (may_lose && spec.collective == TUTTI_ALLREDUCE) spec.collective = TUTTI_REDUCE;
    return spec;
}

void run_threads_of(SimTeam team, uint64_t seed, bool may_lose) {
    Prng prng(seed);
    team.tuning.set_single(0);
    team.tuning.pieces.bytes_min = 256;
    team.patience_polls = prng.below(200);
    const simulate::SimSlice memory(team.ranks, 2048);
    std::vector<std::unique_ptr<Exchange>> calls;
    for (int i = 0; i < 12; ++i) {
        calls.push_back(
            std::make_unique<Exchange>(draw_long(prng, team.ranks, may_lose), team.ranks));
    }
    run_threads(team.ranks, [&](uint32_t rank) {
        node::Team mine = sim_rank(team, memory, rank);
        node::Op op;
        for (const auto& call : calls) {
            node::start(mine, op, call->node_call(rank));
            while (node::step(mine, op) != Step::kDone) sched_yield();
            // All run the same, which no rank may doubt, however the others' stores come.
            EXPECT_EQ(op.rival, node::kNoRank) << describe(call->spec()) << replay(seed);
        }
    });
    for (const auto& call : calls) EXPECT_EQ(call->check(), "") << replay(seed);
}

TEST(SingleCopyThreads, EverybodyReads) {
    const Seeds seeds = Seeds::wanted(40);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SimTeam team{
            .ranks = static_cast<uint32_t>(2 + seed % 4), .chunk_bytes = 2048, .layout = {}};
        team.peers = all_read;
        run_threads_of(team, seed, false);
        ASSERT_FALSE(HasFailure());
    }
}

// Many calls, so that a taker looks in the moment in which the cell is written.
TEST(SingleCopyThreads, NobodyDoubtsAnOfferedBlock) {
    constexpr uint32_t kRanks = 2;
    constexpr int kCalls = 20'000;
    SimTeam team{.ranks = kRanks, .chunk_bytes = 2048, .layout = {}};
    team.peers = all_read;
    team.tuning.set_single(0);
    const simulate::SimSlice memory(kRanks, 2048);
    const Exchange exchange({TUTTI_ALLTOALLV, 0, 4000, Fold::kXorU64, 1}, kRanks);
    run_threads(kRanks, [&](uint32_t rank) {
        node::Team mine = sim_rank(team, memory, rank);
        node::Op op;
        int doubts = 0;
        for (int i = 0; i < kCalls; ++i) {
            node::start(mine, op, exchange.node_call(rank));
            for (int polls = 1; node::step(mine, op) != Step::kDone; ++polls) {
                if (polls % 1000 == 0) sched_yield();
            }
            doubts += op.rival != node::kNoRank ? 1 : 0;
        }
        EXPECT_EQ(doubts, 0);
    });
}

TEST(SingleCopyThreads, ReadersInTurn) {
    const Seeds seeds = Seeds::wanted(40);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SimTeam team{
            .ranks = static_cast<uint32_t>(3 + seed % 3), .chunk_bytes = 2048, .layout = {}};
        team.peers = seed % 4 == 0 ? reads_fail : all_read;
        team.tuning.readers_max = static_cast<uint32_t>(1 + seed % 2);
        run_threads_of(team, seed, seed % 4 == 0);
        ASSERT_FALSE(HasFailure());
    }
}

TEST(SingleCopyThreads, ReadsFailNowAndThen) {
    const Seeds seeds = Seeds::wanted(40);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SimTeam team{
            .ranks = static_cast<uint32_t>(2 + seed % 3), .chunk_bytes = 2048, .layout = {}};
        team.peers = seed % 2 == 0 ? reads_fail : rank_1_cannot_read;
        run_threads_of(team, seed, true);
        ASSERT_FALSE(HasFailure());
    }
}

// The whole library, wherever it can; ranks outnumber processors.
TEST(SingleCopyThreads, ByTheSetting) {
    const Seeds seeds = Seeds::wanted(10);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng prng(seed);
        const auto ranks = static_cast<uint32_t>(2 + seed % 4);
        const ContextPtr context = make_context({"TUTTI_SINGLE_COPY=on"});
        Exchanges calls;
        for (int i = 0; i < 12; ++i) {
            calls.push_back(std::make_unique<Exchange>(draw_long(prng, ranks, false), ranks));
        }
        run_crew(context.get(), ranks, [&](uint32_t rank, tutti_team* team) {
            for (const auto& call : calls) {
                const tutti_call one = call->call(rank);
                const bool has_single =
                    one.collective != TUTTI_REDUCE_SCATTER_BLOCK && !is_prefix(one.collective) &&
                    !has_lengths(one.collective) && (one.collective != TUTTI_REDUCE || ranks <= 3);
                if (has_single) {
                    EXPECT_STREQ(tutti_algorithm(team, &one), "single");
                }
                ASSERT_EQ(tutti_run(team, &one), TUTTI_OK) << replay(seed);
            }
            for (const auto& call : calls) ASSERT_EQ(call->check(rank), "") << replay(seed);
        });
        EXPECT_STREQ(tutti_context_no_single_copy(context.get()), "");
    }
}

// Both ends of an input can be read, but not its middle: found out when it is too late for another
// way. (A bare MPI would crash.)
TEST(SingleCopyThreads, MemoryThatIsLostBreaksTheTeam) {
    constexpr size_t kBytes = size_t{1} << 20;
    constexpr uint32_t kRanks = 2;
    const ContextPtr context = make_context({"TUTTI_SINGLE_COPY=on"});
    void* hidden =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(hidden, MAP_FAILED);
    // In rank 0's share, which rank 1 does not touch itself.
    ASSERT_EQ(mprotect(static_cast<std::byte*>(hidden) + kBytes / 4, kBytes / 8, PROT_NONE), 0);
    run_crew(context.get(), kRanks, [&](uint32_t rank, tutti_team* team) {
        std::vector<uint64_t> mine(kBytes / sizeof(uint64_t)), result(mine.size());
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.send = rank == 1 ? hidden : mine.data();
        call.recv = result.data();
        call.bytes = kBytes;
        call.dtype = TUTTI_UINT64;
        call.op = TUTTI_SUM;
        EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_SYSTEM);
        const std::string message = tutti_team_message(team);
        EXPECT_NE(message.find("rank 0: cannot read the memory of rank 1"), std::string::npos)
            << message;
    });
    munmap(hidden, kBytes);
}

TEST(SingleCopyThreads, OffSaysSo) {
    const ContextPtr context = make_context({"TUTTI_SINGLE_COPY=off"});
    run_crew(context.get(), 2, [](uint32_t, tutti_team* team) {
        const tutti_call barrier{};
        EXPECT_EQ(tutti_run(team, &barrier), TUTTI_OK);
    });
    // Nothing is found out where two ranks share a processor.
    const std::string why = tutti_context_no_single_copy(context.get());
    EXPECT_TRUE(why == "TUTTI_SINGLE_COPY=off" || why.empty()) << why;
}

TEST(NodeFacts, SayWhatFollowsAndWhere) {
    const ContextPtr context = make_context({"TUTTI_SINGLE_COPY=off"});
    std::string keys[2];
    run_crew(context.get(), 2, [&](uint32_t rank, tutti_team* team) {
        const Told node = told(team, "nodes");
        EXPECT_EQ(all_told(team, "nodes", true).size(), rank == 0 ? 1u : 0u);
        EXPECT_EQ(node.number("ranks"), 2u);
        EXPECT_FALSE(node.flag("follows/single_copy"));
        const Fact* from = node.row().find("follows/single_copy_one_way_from_bytes");
        ASSERT_TRUE(from);
        EXPECT_EQ(from->value, Fact::Value(nullptr));
        EXPECT_NE(node.text("host"), "");
        const std::string text = node.row().text();
        EXPECT_TRUE(text.find("\n  -> copies by ") != std::string::npos &&
                    text.ends_with("; no single copy"))
            << text;
        // Two ranks may share a processor here.
        const bool is_measured = node.flag("measured");
        EXPECT_EQ(node.number("barrier_ns") > 0, is_measured);
        EXPECT_EQ(text.find(": barrier ") != std::string::npos, is_measured) << text;
        EXPECT_EQ(node.text("reason").empty(), is_measured);
        EXPECT_EQ(node.number("measured_again"), 0u);
        keys[rank] = node.row().key;
    });
    EXPECT_EQ(keys[0], keys[1]);
}

TEST(NodeFacts, ARankAloneTellsNothing) {
    const ContextPtr context = make_context({});
    run_crew(context.get(), 1,
             [](uint32_t, tutti_team* team) { EXPECT_TRUE(all_told(team, "nodes").empty()); });
}

TEST(TeamFacts, WrongArgumentsAreRefused) {
    const ContextPtr context = make_context({});
    run_crew(context.get(), 1, [](uint32_t, tutti_team* team) {
        EXPECT_EQ(tutti_team_facts(team, 1, nullptr, nullptr), TUTTI_ERR_ARGUMENT);
        const auto nothing = [](void*, const tutti_fact_row*) {};
        EXPECT_EQ(tutti_team_facts(nullptr, 1, nothing, nullptr), TUTTI_ERR_ARGUMENT);
    });
}

// Teams measure themselves while threads run, and go on with what they found.
TEST(SingleCopyThreads, ATeamMeasuresItself) {
    constexpr uint32_t kRanks = 2;
    SimTeam team{.ranks = kRanks, .chunk_bytes = 64 * 1024, .layout = {}};
    team.tuning = {};
    team.peers = all_read;
    const simulate::SimSlice memory(kRanks, 64 * 1024);
    Exchange call({TUTTI_ALLREDUCE, 0, 100'000, Fold::kXorU64, 1}, kRanks);
    node::Tuning found[kRanks];
    run_threads(kRanks, [&](uint32_t rank) {
        simulate::SimClock clock;
        node::Team mine = sim_rank(team, memory, rank);
        node::Meter meter(clock, {}, {});
        meter.begin();
        while (meter.step(mine) != Step::kDone) {
            clock.advance_to(clock.now_ns() + 50);
            sched_yield();
        }
        found[rank] = mine.tuning;
        node::Op op;
        node::start(mine, op, call.node_call(rank));
        while (node::step(mine, op) != Step::kDone) sched_yield();
    });
    EXPECT_EQ(call.check(), "");
    EXPECT_EQ(found[0], found[1]);
}

}  // namespace
}  // namespace tutti::test
