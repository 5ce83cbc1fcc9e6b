// SPDX-License-Identifier: BSD-3-Clause
// Teams whose short calls run by whoever comes last where members come late. When that begins hangs
// on times (tests/unit/plan/select/follow_test.cpp); here whatever is chosen is chosen by all
// members for the same call, and results are right.
#include "plan/select/follow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "base/prng.h"
#include "run/engine/request.h"
#include "sim/script.h"
#include "sim/seeds.h"
#include "unit/run/engine/exchanges.h"
#include "unit/run/engine/later.h"

namespace tutti::test {
namespace {

constexpr const char* kOn = "TUTTI_MCAST=on";
constexpr const char* kLoopback = "TUTTI_MCAST_IF=lo";
constexpr const char* kFollowing = "adaptive_multicast";
constexpr uint32_t kRanks = 3;
// Enough for some comparisons. In the first ones a rank is late, by far more than messages take,
// which in turn take far longer than multicasts: by twice what these take here, within
// bounds.
constexpr uint32_t kCalls = 1500;
constexpr uint32_t kLateCalls = 1100;
constexpr auto kLateMin = std::chrono::microseconds(1500);
constexpr auto kLateMax = std::chrono::milliseconds(20);
constexpr auto kSlowMin = std::chrono::microseconds(100);
constexpr int kTimes = 2;

using Clock = std::chrono::steady_clock;

// How long a rank's messages wait, and how late it comes.
struct Pace {
    Clock::duration slow = kSlowMin;
    Clock::duration late = kLateMin;
    // Behind a call, which took whoever came last so long.
    void learn(Clock::duration call, uint64_t multicast_ns) {
        late = std::clamp<Clock::duration>(kTimes * call, kLateMin, kLateMax);
        slow = std::clamp<Clock::duration>(std::chrono::nanoseconds(kTimes * multicast_ns),
                                           kSlowMin, kLateMin);
    }
};

// What a rank found.
struct FollowTrace {
    std::vector<std::string> ran;
    std::vector<uint64_t> since;  // of barrier and allreduce, behind each call
    bool operator==(const FollowTrace&) const = default;
};

uint64_t followed_since(tutti_team* team, tutti_collective collective) {
    return arrivals_of(team, collective).number("follows_since_call");
}

Exchanges draw(uint64_t seed) {
    Prng random(seed);
    Exchanges exchanges;
    for (uint32_t i = 0; i < kCalls; ++i) {
        Spec spec;
        spec.seed = random.below(UINT32_MAX);
        const uint64_t kind = random.below(8);
        if (kind >= 3) spec.collective = kind == 7 ? TUTTI_BCAST : TUTTI_ALLREDUCE;
        if (kind >= 5) spec.bytes = 8 * (1 + random.below(40));
        if (kind == 3 || kind == 4) spec.bytes = 8;
        spec.fold = kind == 6 ? Fold::kSumF64 : kind == 5 ? Fold::kMaxI16 : Fold::kXorU64;
        exchanges.push_back(std::make_unique<Exchange>(spec, kRanks));
    }
    return exchanges;
}

std::vector<FollowTrace> run_loop(const Exchanges& exchanges, const Settings& settings,
                                  uint64_t seed) {
    std::vector<FollowTrace> traces(kRanks);
    // Teams may need both until their contexts end.
    std::vector<Pace> paces(kRanks);
    std::vector<Failing> slow(kRanks);
    Job job(kRanks, settings);
    Meeting meeting(kRanks);
    Mailbox& mailbox = job.add_mailbox();
    run_threads(kRanks, [&](uint32_t rank) {
        Pace& pace = paces[rank];
        slow[rank] = {mailbox.callbacks(rank), [&pace](size_t) {
                          std::this_thread::sleep_for(pace.slow);
                          return false;
                      }};
        Meeting::Seat seat{};
        const tutti_p2p p2p = slow[rank].callbacks();
        const Made made = make_later(job.contexts[rank].get(), meeting, rank, p2p, seat);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        tutti_team* team = made.team.get();
        uint32_t calls = 0;
        for (const auto& exchange : exchanges) {
            if (rank == 1 && calls++ < kLateCalls) std::this_thread::sleep_for(pace.late);
            const tutti_call call = exchange->call(rank);
            const auto begin = Clock::now();
            ASSERT_EQ(tutti_run(team, &call), TUTTI_OK)
                << describe(exchange->spec()) << replay(seed) << tutti_team_message(team);
            const auto took = Clock::now() - begin;
            pace.learn(took, static_cast<uint64_t>(multicast_of(team).real("latency_s") * 1e9));
            ASSERT_EQ(exchange->check(rank), "") << describe(exchange->spec()) << replay(seed);
            traces[rank].ran.emplace_back(tutti_team_ran(team));
            for (const tutti_collective one : {TUTTI_BARRIER, TUTTI_ALLREDUCE}) {
                traces[rank].since.push_back(followed_since(team, one));
            }
        }
    });
    return traces;
}

bool may_follow(const Spec& spec) {
    if (spec.collective == TUTTI_BARRIER) return true;
    return spec.collective == TUTTI_ALLREDUCE && spec.fold != Fold::kSumF64 &&
           spec.bytes <= select::Follow::kBytesMax;
}

// Of the collectives of those that ran so.
std::set<tutti_collective> followed(const Settings& settings, uint64_t seed) {
    const Exchanges exchanges = draw(seed);
    const auto traces = run_loop(exchanges, settings, seed);
    for (const FollowTrace& trace : traces) EXPECT_EQ(trace, traces[0]) << replay(seed);
    std::set<tutti_collective> all;
    for (size_t i = 0; i < traces[0].ran.size(); ++i) {
        const Spec& spec = exchanges[i]->spec();
        const bool follows = traces[0].ran[i] == kFollowing;
        const uint64_t since = traces[0].since[2 * i + (spec.collective == TUTTI_BARRIER ? 0 : 1)];
        EXPECT_TRUE(!follows || may_follow(spec)) << describe(spec) << replay(seed);
        EXPECT_TRUE(!follows || since > 0) << describe(spec) << replay(seed);
        EXPECT_LE(since, i + 1);
        if (follows) all.insert(spec.collective);
    }
    return all;
}

// With a NaN, maxima of floating point depend on the parentheses.
TEST(Follow, OnlyIntegersAreExact) {
    const auto is_exact = [](tutti_dtype dtype, tutti_op op) {
        const uint64_t zero = 0;
        uint64_t result = 0;
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.send = &zero;
        call.recv = &result;
        call.bytes = sizeof zero;
        call.dtype = dtype;
        call.op = op;
        engine::Request request;
        EXPECT_EQ(engine::describe(call, {0, kRanks}, node::Isa::kBaseline, request), TUTTI_OK);
        return engine::kind_of(request).is_exact;
    };
    EXPECT_TRUE(is_exact(TUTTI_INT32, TUTTI_SUM));
    EXPECT_TRUE(is_exact(TUTTI_UINT64, TUTTI_MAX));
    EXPECT_TRUE(is_exact(TUTTI_BOOL, TUTTI_LOR));
    EXPECT_FALSE(is_exact(TUTTI_DOUBLE, TUTTI_MAX));
    EXPECT_FALSE(is_exact(TUTTI_DOUBLE, TUTTI_SUM));
    EXPECT_FALSE(is_exact(TUTTI_INT_INT, TUTTI_MAXLOC));
}

// Without prices: whether it pays by what is measured here, where others compute beside, says
// nothing.
TEST(Follow, MixedCalls) {
    const auto seeds = Seeds::wanted(2);
    // A program that is drawn may have too few calls for which it pays; this one has enough.
    size_t collectives = followed({kOn, kLoopback, "TUTTI_PRICE=off"}, 5).size();
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        collectives += followed({kOn, kLoopback, "TUTTI_PRICE=off"}, seed).size();
    }
    EXPECT_GT(collectives, 0u);
}

// By default members go by prices, and whatever these say, alike.
TEST(Follow, MixedCallsByPrice) {
    static_cast<void>(followed({kOn, kLoopback}, Seeds::wanted(1).first));
}

TEST(Follow, WhatTheUserHasDecidedStays) {
    const auto seed = Seeds::wanted(1).first;
    const Settings settings{kOn, kLoopback, "TUTTI_BARRIER=dissemination", "TUTTI_REPRODUCIBLE=1"};
    EXPECT_TRUE(followed(settings, seed).empty());
    // Nor does anybody say that they follow.
    for (const FollowTrace& trace : run_loop(draw(seed), settings, seed)) {
        EXPECT_EQ(std::ranges::max(trace.since), 0u);
    }
}

// Members learn at different times that multicast has failed, and agree all the same.
TEST(Follow, WhileMulticastFails) {
    followed({kOn, kLoopback, "TUTTI_FAULTS=fail:150"}, Seeds::wanted(1).first);
}

}  // namespace
}  // namespace tutti::test
