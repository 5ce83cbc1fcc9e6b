// SPDX-License-Identifier: BSD-3-Clause
// The C interface with threads as ranks; these run under the thread sanitizer too. Nothing here
// depends on how fast anything is.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/collectives.h"
#include "sim/seeds.h"
#include "unit/run/engine/crew.h"
#include "unit/run/engine/exchanges.h"

namespace tutti::test {
namespace {

Exchanges draw_exchanges(Prng& prng, const Limits& limits, uint32_t count) {
    Exchanges exchanges;
    for (uint32_t i = 0; i < count; ++i) {
        exchanges.push_back(std::make_unique<Exchange>(draw_spec(prng, limits), limits.ranks));
    }
    return exchanges;
}

// Every rank runs all calls in order, then its results are looked at.
void run_exchanges(tutti_context* context, uint32_t ranks, const Exchanges& exchanges,
                   const std::string& hint = "") {
    run_crew(context, ranks, [&](uint32_t rank, tutti_team* team) {
        for (const auto& exchange : exchanges) {
            const tutti_call call = exchange->call(rank);
            ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << describe(exchange->spec()) << hint;
        }
        for (const auto& exchange : exchanges) ASSERT_EQ(exchange->check(rank), "") << hint;
    });
}

void run_random(uint64_t seed, uint32_t ranks, bool is_tree) {
    Prng prng(seed);
    const ContextPtr context =
        make_context({"TUTTI_CHUNK=1K", is_tree ? "TUTTI_LAYOUT=tree" : "TUTTI_LAYOUT=flat",
                      "TUTTI_TOPOLOGY=pack:2 l3:2 core:2"});
    const Limits limits{ranks, std::max<size_t>(1024, 64 * ranks), 12'000, !is_tree};
    run_exchanges(context.get(), ranks, draw_exchanges(prng, limits, 12), replay(seed));
}

TEST(Threads, RandomMixed) {
    const Seeds seeds = Seeds::wanted(24);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        run_random(seed, static_cast<uint32_t>(2 + seed % 7), seed % 3 == 0);
        ASSERT_FALSE(HasFailure());
    }
}

TEST(Threads, RandomMixedSixteen) {
    run_random(1, 16, false);
    run_random(2, 16, true);
}

// A chunk of 1 KiB has to hold a line for each of them.
TEST(Threads, RandomMixedTwenty) { run_random(1, 20, false); }

constexpr size_t kEdgeChunk = 2048;

// Multiples of `step`: the last up to each border, the one before it and the one behind.
std::vector<size_t> beside(const std::vector<size_t>& borders, size_t step) {
    std::vector<size_t> sizes;
    for (const size_t border : borders) {
        const size_t at = border / step * step;
        for (const size_t size : {at - step, at, at + step}) sizes.push_back(size);
    }
    return sizes;
}

std::vector<size_t> every_edge(uint32_t ranks, size_t step) {
    std::vector<size_t> sizes = beside(
        {56, 112, 1024, kEdgeChunk, 3 * kEdgeChunk, 9 * kEdgeChunk, size_t{32 * 1024} / ranks},
        step);
    for (const size_t count : {0, 1, 2, 3, 8}) sizes.push_back(count * step);
    return sizes;
}

std::vector<size_t> edges_of_trees(uint32_t, size_t step) {
    return beside({56, node::kInlineBytesMax, kEdgeChunk}, step);
}

// Every collective, every root, sizes at every border; buffers are misaligned and some in place.
void run_edges(const ContextPtr& context, uint32_t ranks, Fold fold,
               std::vector<size_t> (*sizes)(uint32_t ranks, size_t step)) {
    Exchanges exchanges;
    uint64_t contents = 0;
    for (int kind = 0; kind < TUTTI_COLLECTIVE_COUNT; ++kind) {
        const auto collective = static_cast<tutti_collective>(kind);
        const bool folds = is_reduction(collective);
        for (const size_t bytes : sizes(ranks, folds ? fold_bytes(fold) : 1)) {
            for (uint32_t root = 0; root < ranks; ++root) {
                exchanges.push_back(std::make_unique<Exchange>(
                    Spec{collective, root, bytes, fold, ++contents}, ranks));
            }
        }
    }
    run_exchanges(context.get(), ranks, exchanges);
}

void run_flat_edges(uint32_t ranks, Fold fold) {
    run_edges(make_context({"TUTTI_CHUNK=2K", "TUTTI_LAYOUT=flat"}), ranks, fold, every_edge);
}

// Two packages of two caches: the ranks of a cache have a leader, and the leaders one among them.
void run_tree_edges(uint32_t ranks, Fold fold) {
    const ContextPtr context =
        make_context({"TUTTI_CHUNK=2K", "TUTTI_LAYOUT=tree", "TUTTI_TOPOLOGY=pack:2 l3:2 core:2"});
    run_edges(context, ranks, fold, edges_of_trees);
}

TEST(Threads, EveryEdgeTwoRanks) { run_flat_edges(2, Fold::kMaxI16); }
TEST(Threads, EveryEdgeThreeRanks) { run_flat_edges(3, Fold::kTriangle); }
TEST(Threads, EveryEdgeFourRanks) { run_flat_edges(4, Fold::kSumF64Ordered); }
TEST(Threads, EdgesOfATreeOfFive) { run_tree_edges(5, Fold::kMaxI16); }
TEST(Threads, EdgesOfATreeOfNine) { run_tree_edges(9, Fold::kXorU64); }

// Their shares' leaders take turns, more often than their rings are long.
TEST(Threads, LeadersTakeTurns) {
    for (const uint32_t ranks : {2u, 6u}) {
        const ContextPtr context = make_context(
            {"TUTTI_CHUNK=2K", "TUTTI_LAYOUT=tree", "TUTTI_TOPOLOGY=pack:2 l3:1 core:4",
             "TUTTI_REDUCE=node:turns", "TUTTI_ALLREDUCE=node:turns"});
        Exchanges exchanges;
        for (const tutti_collective one : {TUTTI_REDUCE, TUTTI_ALLREDUCE}) {
            for (const size_t bytes : beside({56, 1024, kEdgeChunk, 25 * kEdgeChunk}, 8)) {
                for (uint32_t root = 0; root < (one == TUTTI_REDUCE ? ranks : 1); ++root) {
                    exchanges.push_back(std::make_unique<Exchange>(
                        Spec{one, root, bytes, Fold::kXorU64, exchanges.size()}, ranks));
                }
            }
        }
        run_exchanges(context.get(), ranks, exchanges);
    }
}

// Several requests in the queue, finished in any order the caller likes, then all started again.
// Under way for sure, as the other rank has not started it.
TEST(Threads, ARequestUnderWayCannotBeStarted) {
    const ContextPtr context = make_context({});
    std::atomic<bool> may_start{false};
    run_crew(context.get(), 2, [&](uint32_t rank, tutti_team* team) {
        const tutti_call barrier{};
        tutti_request request;
        ASSERT_EQ(tutti_request_init(&request, team, &barrier), TUTTI_OK);
        while (rank == 1 && !may_start) std::this_thread::yield();
        ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
        if (rank == 0) {
            EXPECT_EQ(tutti_request_test(&request), TUTTI_PENDING);
            EXPECT_EQ(tutti_request_start(&request), TUTTI_ERR_ARGUMENT);
            may_start = true;
        }
        EXPECT_EQ(tutti_request_wait(&request), TUTTI_OK);
    });
}

TEST(Threads, RequestsQueueAndStartAgain) {
    constexpr uint32_t kRanks = 3;
    Prng prng(5);
    const ContextPtr context = make_context({"TUTTI_CHUNK=1K"});
    const Exchanges exchanges = draw_exchanges(prng, {kRanks, 1024, 6000, true}, 6);
    run_crew(context.get(), kRanks, [&](uint32_t rank, tutti_team* team) {
        std::vector<tutti_request> requests(exchanges.size());
        for (size_t i = 0; i < exchanges.size(); ++i) {
            const tutti_call call = exchanges[i]->call(rank);
            ASSERT_EQ(tutti_request_init(&requests[i], team, &call), TUTTI_OK);
        }
        tutti_call barrier{};
        for (int turn = 0; turn < 3; ++turn) {
            for (tutti_request& request : requests) {
                ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
            }
            if (rank == 0) {
                while (tutti_request_test(&requests[4]) == TUTTI_PENDING) {
                }
            } else {
                EXPECT_EQ(tutti_request_wait(&requests[4]), TUTTI_OK);
            }
            // A blocking call waits for the requests before it.
            ASSERT_EQ(tutti_run(team, &barrier), TUTTI_OK);
            ASSERT_NO_FATAL_FAILURE(complete_turn(team, rank, requests, exchanges, turn));
        }
    });
}

// Four ranks of three threads each; thread t of every rank works on its own team, made and freed
// while the other threads make and use theirs.
TEST(Threads, OverlappingTeams) {
    constexpr uint32_t kRanks = 4;
    constexpr uint32_t kTeams = 3;
    const ContextPtr context = make_context({"TUTTI_CHUNK=1K"});
    const uint32_t sizes[kTeams] = {4, 3, 2};
    for (int turn = 0; turn < 3; ++turn) {
        Prng prng(static_cast<uint64_t>(100 + turn));
        std::vector<std::unique_ptr<Meeting>> meetings;
        std::vector<Exchanges> exchanges;
        for (const uint32_t size : sizes) {
            meetings.push_back(std::make_unique<Meeting>(size));
            exchanges.push_back(draw_exchanges(prng, {size, 1024, 5000, true}, 10));
        }
        run_threads(kRanks * kTeams, [&](uint32_t thread) {
            const uint32_t which = thread % kTeams;
            const uint32_t rank = thread / kTeams;
            if (rank >= sizes[which]) return;
            const Made made = make_team(context.get(), *meetings[which], rank);
            ASSERT_EQ(made.status, TUTTI_OK) << made.message;
            for (const auto& exchange : exchanges[which]) {
                const tutti_call call = exchange->call(rank);
                ASSERT_EQ(tutti_run(made.team.get(), &call), TUTTI_OK);
            }
            for (const auto& exchange : exchanges[which]) ASSERT_EQ(exchange->check(rank), "");
        });
    }
}

// Each rank with a context of its own: the segment is found through /proc, and the data still meet.
TEST(Threads, OneContextEach) {
    constexpr uint32_t kRanks = 3;
    Meeting meeting(kRanks);
    run_threads(kRanks, [&](uint32_t rank) {
        const ContextPtr context = make_context({});
        const Made made = make_team(context.get(), meeting, rank);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        uint64_t value = rank + 1;
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.send = TUTTI_IN_PLACE;
        call.recv = &value;
        call.bytes = sizeof(value);
        call.dtype = TUTTI_UINT64;
        ASSERT_EQ(tutti_run(made.team.get(), &call), TUTTI_OK);
        EXPECT_EQ(value, 6u);
    });
}

// Whether a rank calls tutti_run or uses a request, it runs the same algorithm, whatever ran
// before.
// A gather that sends less than its root has room for goes on with what is sent; the next start of
// the same request begins with the room again.
TEST(Threads, ARequestStartsAgainAfterLessHasCome) {
    const ContextPtr context = make_context({});
    run_crew(context.get(), 3, [](uint32_t rank, tutti_team* team) {
        std::vector<uint32_t> block(4), blocks(12);
        tutti_call call{};
        call.collective = TUTTI_GATHER;
        call.send = block.data();
        call.recv = blocks.data();
        call.bytes = rank == 0 ? 16 : 8;
        tutti_request request;
        ASSERT_EQ(tutti_request_init(&request, team, &call), TUTTI_OK);
        for (uint32_t turn = 1; turn <= 2; ++turn) {
            block.assign(4, 10 * turn + rank);
            blocks.assign(12, 0);
            ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
            ASSERT_EQ(tutti_request_wait(&request), TUTTI_OK) << tutti_team_message(team);
            if (rank != 0) continue;
            const uint32_t first = 10 * turn;
            EXPECT_EQ(blocks, (std::vector<uint32_t>{first, first, first, first, first + 1,
                                                     first + 1, 0, 0, first + 2, first + 2, 0, 0}));
        }
    });
}

TEST(Threads, RequestsAndBlockingCallsMix) {
    constexpr uint32_t kRanks = 3;
    const ContextPtr context = make_context({"TUTTI_LAYOUT=tree"});
    const Exchange user({TUTTI_ALLREDUCE, 0, 48, Fold::kAffine, 1, false}, kRanks);
    const Exchange sum({TUTTI_ALLREDUCE, 0, 48, Fold::kSumU32, 2, false}, kRanks);
    run_crew(context.get(), kRanks, [&](uint32_t rank, tutti_team* team) {
        tutti_call call = user.call(rank);
        ASSERT_EQ(tutti_run(team, &call), TUTTI_OK);
        call = sum.call(rank);
        tutti_request request;
        ASSERT_EQ(tutti_request_init(&request, team, &call), TUTTI_OK);
        EXPECT_STREQ(tutti_algorithm(team, &call), "tree");
        if (rank == 0) {
            ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
            ASSERT_EQ(tutti_request_wait(&request), TUTTI_OK);
        } else {
            ASSERT_EQ(tutti_run(team, &call), TUTTI_OK);
        }
        EXPECT_EQ(user.check(rank), "");
        EXPECT_EQ(sum.check(rank), "");
    });
}

// TUTTI_CHECK: every rank gets the same line, and the team goes on afterwards.
TEST(Threads, CheckNamesTheMismatch) {
    const ContextPtr context = make_context({"TUTTI_CHECK=1"});
    run_crew(context.get(), 4, [&](uint32_t rank, tutti_team* team) {
        uint32_t values[8] = {};
        tutti_call call{};
        call.collective = rank == 1 ? TUTTI_BCAST : TUTTI_ALLREDUCE;
        call.send = TUTTI_IN_PLACE;
        call.recv = values;
        call.bytes = rank == 3 ? 16 : 8;
        call.dtype = TUTTI_UINT32;
        EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_MISMATCH);
        EXPECT_STREQ(tutti_team_message(team),
                     "mismatch on the crew of 4 ranks (exchange 1): ranks 0, 2: allreduce SUM 8 "
                     "bytes of uint32; rank 1: bcast root 0 8 bytes of uint32; rank 3: "
                     "allreduce SUM 16 bytes of uint32");
        EXPECT_EQ(tutti_check_foreign(team, rank == 2 ? "alltoall" : "scan"), TUTTI_ERR_MISMATCH);
        EXPECT_STREQ(tutti_team_message(team),
                     "mismatch on the crew of 4 ranks (exchange 2): ranks 0, 1, 3: scan; rank 2: "
                     "alltoall");
        EXPECT_EQ(tutti_check_foreign(team, "scan"), TUTTI_OK);
        call.collective = TUTTI_ALLREDUCE;
        call.bytes = 4;
        values[0] = rank;
        EXPECT_EQ(tutti_run(team, &call), TUTTI_OK);
        EXPECT_EQ(values[0], 6u);
    });
}

TEST(Threads, CheckPassesLegalPrograms) {
    Prng prng(9);
    const ContextPtr context = make_context({"TUTTI_CHECK=1", "TUTTI_CHUNK=1K"});
    run_exchanges(context.get(), 4, draw_exchanges(prng, {4, 1024, 6000, true}, 20));
}

// Waiting ranks say who has not come; those wait in turn until that line was written.
TEST(Threads, StallNamesWhoIsMissing) {
    Log log;
    const ContextPtr context = make_context({"TUTTI_STALL=0.01"}, &log);
    run_crew(context.get(), 4, [&](uint32_t rank, tutti_team* team) {
        if (rank == 2) {
            while (log.is_empty()) std::this_thread::yield();
        }
        tutti_call barrier{};
        EXPECT_EQ(tutti_run(team, &barrier), TUTTI_OK);
    });
    const std::string line = log.lines().front();
    EXPECT_NE(line.find("of the crew has waited 0.0 s in barrier"), std::string::npos) << line;
    // A rank that is itself a little late may be named as well.
    EXPECT_NE(line.find("not arrived: rank"), std::string::npos) << line;
    const std::string missing = line.substr(line.find("not arrived"));
    const bool names_it =
        missing.find('2') != std::string::npos || missing.find("1-3") != std::string::npos;
    EXPECT_TRUE(names_it) << line;
}

// The embedder's progress is called while a rank waits: here the wait ends only because of it.
TEST(Threads, WaitingLetsTheEmbedderProgress) {
    std::atomic<int> calls = 0;
    tutti_context_params params{};
    params.struct_bytes = sizeof(params);
    params.progress = [](void* user) { ++*static_cast<std::atomic<int>*>(user); };
    params.progress_user = &calls;
    tutti_context* raw = nullptr;
    ASSERT_EQ(tutti_context_create(&params, &raw, nullptr, 0), TUTTI_OK);
    const ContextPtr context(raw);
    run_crew(context.get(), 2, [&](uint32_t rank, tutti_team* team) {
        if (rank == 1) {
            while (calls < 3) std::this_thread::yield();
        }
        tutti_call barrier{};
        EXPECT_EQ(tutti_run(team, &barrier), TUTTI_OK);
    });
    EXPECT_GE(calls, 3);
}

}  // namespace
}  // namespace tutti::test
