// SPDX-License-Identifier: BSD-3-Clause
// Teams that tune their calls while they run. Which way wins hangs on times, and nothing here does:
// whatever it is, all members go it in the same call, and results are right. What wins by which
// times is tests/unit/plan/select/live_test.cpp.
#include "plan/select/live.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>

#include "base/prng.h"
#include "sim/script.h"
#include "sim/seeds.h"
#include "unit/run/engine/exchanges.h"
#include "unit/run/engine/hosts.h"
#include "unit/run/engine/later.h"
#include "unit/run/engine/told.h"

namespace tutti::test {
namespace {

constexpr const char* kLive = "TUTTI_TUNE=live";
constexpr const char* kLiveAll = "TUTTI_TUNE=live:all";
constexpr const char* kNoMulticast = "TUTTI_MCAST=off";
// Enough for the first batches.
constexpr int kCalls = 1500;

std::vector<Told> tunings_of(const tutti_team* team) { return all_told(team, "tuning/calls"); }

// Of what a rank found in the calls: how each ended, and by what it ran.
struct Trace {
    std::vector<tutti_status> ends;
    std::vector<std::string> ran;
    std::vector<Told> found;
};

// An embedder whose own collectives are barriers of some length. They move nothing.
class Host {
  public:
    Host(uint32_t ranks, bool is_slow) : barrier_(ranks), is_slow_(is_slow) {}
    void run(tutti_team* team) {
        if (is_slow_) std::this_thread::sleep_for(std::chrono::microseconds(300));
        barrier_.arrive_and_wait();
        tutti_team_host_left(team);
    }

  private:
    std::barrier<> barrier_;
    const bool is_slow_;
};

// The same few calls over and over, some of them several times in a row.
std::vector<Trace> run_loop(const std::vector<Spec>& specs, const Settings& settings,
                            uint32_t ranks, uint64_t seed, int apart, bool is_host_slow) {
    Prng random(seed);
    std::vector<size_t> order;
    while (order.size() < kCalls) {
        const size_t one = random.below(specs.size());
        order.insert(order.end(), 1 + random.below(4), one);
    }
    Exchanges exchanges;
    for (const size_t one : order) {
        exchanges.push_back(std::make_unique<Exchange>(specs[one], ranks));
    }
    std::vector<Trace> traces(ranks);
    Job job(ranks, settings, "openmpi");
    Host host(ranks, is_host_slow);
    run_later(
        job,
        [&](uint32_t rank, tutti_team* team, Meeting::Seat&) {
            Trace& trace = traces[rank];
            for (const auto& exchange : exchanges) {
                const tutti_call call = exchange->call(rank);
                const tutti_status ended = tutti_run(team, &call);
                trace.ends.push_back(ended);
                trace.ran.emplace_back(ended == TUTTI_OK ? tutti_team_ran(team) : "host");
                ASSERT_GE(ended, TUTTI_OK)
                    << describe(exchange->spec()) << replay(seed) << tutti_team_message(team);
                if (ended == TUTTI_HOST) {
                    host.run(team);
                } else {
                    ASSERT_EQ(exchange->check(rank), "")
                        << describe(exchange->spec()) << replay(seed);
                }
            }
            trace.found = tunings_of(team);
        },
        apart);
    return traces;
}

void expect_alike(const std::vector<Trace>& traces, uint64_t seed) {
    for (const Trace& trace : traces) {
        EXPECT_EQ(trace.ends, traces[0].ends) << replay(seed);
        EXPECT_EQ(trace.ran, traces[0].ran) << replay(seed);
        ASSERT_EQ(trace.found.size(), traces[0].found.size());
        for (size_t kind = 0; kind < trace.found.size(); ++kind) {
            const auto& facts = trace.found[kind].row().facts;
            const auto& first = traces[0].found[kind].row().facts;
            EXPECT_TRUE(std::ranges::equal(facts, first,
                                           [](const Fact& a, const Fact& b) {
                                               return a.name == b.name && a.value == b.value;
                                           }))
                << kind << replay(seed);
        }
    }
}

// The first is a barrier: others may all be gathers and scatters, which are not tuned.
std::vector<Spec> draw_specs(uint32_t ranks, uint64_t seed) {
    Prng random(seed);
    const Limits limits{ranks, 256, 8'000, false};
    std::vector<Spec> specs{Spec{}};
    for (int i = 0; i < 3; ++i) specs.push_back(draw_spec(random, limits));
    return specs;
}

uint64_t tried(const Trace& trace) {
    uint64_t ways = 0;
    for (const Told& kind : trace.found) {
        for (const Fact& fact : kind.row().facts) ways += fact.name.ends_with("/seconds") ? 1 : 0;
    }
    return ways;
}

void run_mixed(const Settings& settings, uint32_t ranks, int apart) {
    const auto seeds = Seeds::wanted(4);
    uint64_t ways = 0;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        const auto traces =
            run_loop(draw_specs(ranks, seed), settings, ranks, seed, apart, seed % 2 == 0);
        expect_alike(traces, seed);
        ways += tried(traces[0]);
    }
    EXPECT_GT(ways, 0u);
}

TEST(LiveTuning, MixedCallsOnOneHost) { run_mixed({kLiveAll}, 3, 0); }

TEST(LiveTuning, MixedCallsAcrossHosts) {
    run_mixed({kLiveAll, kNoMulticast, "TUTTI_PRICE=on"}, 3, 1);
    run_mixed({kLiveAll, kNoMulticast, "TUTTI_PRICE=on", "TUTTI_HOSTS=2"}, 4, 0);
}

std::vector<Trace> run_barriers(const Settings& settings, int apart, uint32_t ranks = 3) {
    return run_loop({Spec{}}, settings, ranks, 1, apart, true);
}

TEST(LiveTuning, OnlyWhereItIsWanted) {
    for (const int apart : {0, 1}) {
        EXPECT_EQ(run_barriers({kNoMulticast}, apart)[0].found.size(), 0u);
        EXPECT_EQ(run_barriers({kNoMulticast, kLive, "TUTTI_STALL=9"}, apart)[0].found.size(), 0u);
        EXPECT_EQ(run_barriers({kNoMulticast, kLive, "TUTTI_CHECK=1"}, apart)[0].found.size(), 0u);
        const auto traces = run_barriers({kNoMulticast, kLive}, apart);
        ASSERT_EQ(traces[0].found.size(), 1u);
        EXPECT_GT(traces[0].found[0].number("ways"), 1u);
        EXPECT_GT(tried(traces[0]), 0u);
    }
}

TEST(LiveTuning, WhatTheUserHasDecidedStays) {
    for (const char* said : {"TUTTI_BARRIER=dissemination", "TUTTI_BARRIER=host"}) {
        const auto traces = run_barriers({kNoMulticast, kLive, said}, 1);
        ASSERT_EQ(traces[0].found.size(), 1u);
        EXPECT_EQ(traces[0].found[0].number("ways"), 1u) << said;
        EXPECT_EQ(traces[0].found[0].text("runs_by"), traces[0].found[0].text("first"));
    }
    const auto on_one_host = run_barriers({kLive, "TUTTI_BARRIER=node"}, 0);
    EXPECT_EQ(on_one_host[0].found[0].number("ways"), 1u);
}

// The host MPI's own is no candidate where there is no MPI below Tutti.
TEST(LiveTuning, WithoutAHost) {
    for (const int apart : {0, 1}) {
        Job job(3, {kNoMulticast, kLive});
        run_later(
            job,
            [&](uint32_t, tutti_team* team, Meeting::Seat&) {
                const tutti_call barrier{};
                for (int i = 0; i < kCalls; ++i) ASSERT_EQ(tutti_run(team, &barrier), TUTTI_OK);
                for (const Told& kind : tunings_of(team)) {
                    for (const Fact& fact : kind.row().facts) {
                        EXPECT_NE(fact.value, Fact::Value("host")) << fact.name;
                    }
                }
            },
            apart);
    }
}

TEST(LiveTuning, ReproducibleReductionsStay) {
    Spec spec;
    spec.collective = TUTTI_ALLREDUCE;
    spec.bytes = 64;
    for (const int apart : {0, 1}) {
        const auto traces =
            run_loop({spec}, {kNoMulticast, kLiveAll, "TUTTI_REPRODUCIBLE=1"}, 3, 1, apart, false);
        ASSERT_EQ(traces[0].found.size(), 1u);
        EXPECT_EQ(traces[0].found[0].number("ways"), 1u);
    }
}

// A root with more room than is sent to it takes its calls for others, now and then: gathers and
// scatters are not tuned.
TEST(LiveTuning, CallsThatMembersMayTakeForOthersStay) {
    Job job(3, {kNoMulticast, kLiveAll}, "openmpi");
    run_later(job, [&](uint32_t rank, tutti_team* team, Meeting::Seat&) {
        std::vector<uint32_t> mine(4, rank), all(3 * 4);
        tutti_call gather{};
        gather.collective = TUTTI_GATHER;
        gather.send = mine.data();
        gather.recv = all.data();
        for (int i = 0; i < 600; ++i) {
            gather.bytes = rank == 0 && i % 100 == 99 ? 16 : 8;
            ASSERT_EQ(tutti_run(team, &gather), TUTTI_OK) << tutti_team_message(team);
        }
        EXPECT_TRUE(tunings_of(team).empty());
        const tutti_call barrier{};
        ASSERT_GE(tutti_run(team, &barrier), TUTTI_OK);
    });
}

// What the embedder forces counts from then on, whatever was found; and what was found, after that.
TEST(LiveTuning, AForceComesFirst) {
    for (const int apart : {0, 1}) {
        const std::string name = apart == 0 ? "node" : "dissemination";
        Job job(3, {kNoMulticast, kLive, "TUTTI_PRICE=off"}, "openmpi");
        Host host(3, false);
        run_later(
            job,
            [&](uint32_t, tutti_team* team, Meeting::Seat&) {
                const tutti_call barrier{};
                const auto run = [&](int calls) {
                    for (int i = 0; i < calls; ++i) {
                        const tutti_status ended = tutti_run(team, &barrier);
                        ASSERT_GE(ended, TUTTI_OK);
                        if (ended == TUTTI_HOST) host.run(team);
                    }
                };
                run(kCalls);
                char message[256];
                ASSERT_EQ(tutti_team_force(team, &barrier, name.c_str(), message, sizeof message),
                          TUTTI_OK)
                    << message;
                for (int i = 0; i < kCalls; ++i) ASSERT_EQ(tutti_run(team, &barrier), TUTTI_OK);
                ASSERT_EQ(tutti_team_force(team, &barrier, "", message, sizeof message), TUTTI_OK);
                run(kCalls);
            },
            apart);
    }
}

// Several requests at once: nobody can tell what a call takes.
TEST(LiveTuning, NotWhereThereAreTracks) {
    Job job(2, {kLive}, "openmpi");
    Meeting meeting(2);
    Mailbox& mailbox = job.add_mailbox();
    run_threads(2, [&](uint32_t rank) {
        const tutti_p2p p2p = mailbox.callbacks(rank);
        Meeting::Seat seat{&meeting, rank};
        tutti_team_params params = params_of(meeting, rank, seat, "the crew", &p2p);
        params.requests = 2;
        const Made made = make_team(job.contexts[rank].get(), params);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        const tutti_call barrier{};
        for (int i = 0; i < kCalls; ++i) ASSERT_EQ(tutti_run(made.team.get(), &barrier), TUTTI_OK);
        EXPECT_TRUE(tunings_of(made.team.get()).empty());
    });
}

// A rank that gives up in the middle of it all ends the calls of the others.
TEST(LiveTuning, NobodyIsLeftWaiting) {
    for (const int apart : {0, 1}) {
        for (const int at : {127, 128, 129, 140, 400}) {
            Job job(3, {kNoMulticast, kLive});
            run_later(
                job,
                [&](uint32_t rank, tutti_team* team, Meeting::Seat&) {
                    const tutti_call barrier{};
                    for (int i = 0; i < at; ++i) ASSERT_EQ(tutti_run(team, &barrier), TUTTI_OK);
                    if (rank == 1) tutti_team_give_up(team, "no memory");
                    EXPECT_LT(tutti_run(team, &barrier), TUTTI_OK);
                },
                apart);
        }
    }
}

}  // namespace
}  // namespace tutti::test
