// SPDX-License-Identifier: BSD-3-Clause
// Those who meet by one word: all ranks in one thread; who arrives when, and who is stepped, is
// drawn by a seed.
#include <algorithm>
#include <numeric>

#include "base/prng.h"
#include "plan/algo/plan.h"
#include "run/exec/executor.h"
#include "sim/seeds.h"
#include "unit/run/exec/support.h"

namespace tutti::test {
namespace {

using exec::Executor;

class HandClock final : public Clock {
  public:
    uint64_t now_ns() override { return ns; }
    uint64_t ns = 0;
};

struct Member {
    Member(Network& network, Bus& bus, uint32_t rank)
        : endpoint(network, rank), route(bus, rank), executor(nullptr, endpoint, &route) {}
    Network::Endpoint endpoint;
    Bus::End route;
    Executor executor;
    std::unique_ptr<sched::Program> program;
    uint32_t calls = 0;
    bool is_in_call = false;
};

// Barriers of so many, a host each.
struct Barriers {
    explicit Barriers(uint32_t members, bool has_word = true)
        : bus(members), placement(topo::Placement::blocks(members, members)) {
        network.adders = has_word ? members : 0;
        const algo::Algorithm& algorithm = *algo::find(TUTTI_BARRIER, "adaptive_counter");
        sched::Shape shape;
        shape.collective = TUTTI_BARRIER;
        shape.ranks = members;
        shape.has_multicast = true;
        for (uint32_t rank = 0; rank < members; ++rank) {
            all.push_back(std::make_unique<Member>(network, bus, rank));
            all[rank]->program = algo::make_plan(algorithm, shape, placement, rank, {});
            EXPECT_TRUE(all[rank]->executor.reserve(all[rank]->program->extent(), 1 << 20));
        }
    }
    void arrive(uint32_t rank, const transport::CallWord& word = {}) {
        Member& member = *all[rank];
        if (come.size() <= member.calls) come.push_back(0);
        ++come[member.calls];
        member.is_in_call = true;
        member.executor.start(*member.program, ++member.calls, {}, word);
    }
    // Some steps of all that are in a call; nobody is released.
    void wait() {
        for (int turn = 0; turn < 10; ++turn) {
            for (auto& member : all) {
                if (!member->is_in_call) continue;
                EXPECT_NE(member->executor.step(), Step::kDone);
            }
        }
    }
    // Until each has had so many calls; false: somebody left before all had come, or nobody does.
    bool run(Prng& prng, uint32_t calls) {
        for (uint32_t turn = 0, left = static_cast<uint32_t>(all.size()); left > 0; ++turn) {
            if (turn > 1'000'000) return false;
            const auto rank = static_cast<uint32_t>(prng.below(all.size()));
            Member& member = *all[rank];
            if (member.is_in_call) {
                if (member.executor.step() != Step::kDone) continue;
                if (come[member.calls - 1] < all.size()) return false;
                member.is_in_call = false;
                left -= member.calls == calls ? 1 : 0;
            } else if (member.calls < calls && prng.below(3) == 0) {
                arrive(rank, {member.calls, 7, 0});
            }
        }
        return true;
    }
    [[nodiscard]] std::vector<uint32_t> late_for(uint32_t rank) const {
        return all[rank]->executor.waits_for();
    }

    Network network;
    Bus bus;
    topo::Placement placement;
    std::vector<std::unique_ptr<Member>> all;
    std::vector<uint32_t> come;  // by call
};

// An addition a rank and call, one multicast a call (Bus), and no message.
TEST(RollCalls, CallsOverlapAndNobodyLeavesEarly) {
    const auto seeds = Seeds::wanted(500);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng prng(seed);
        const auto members = static_cast<uint32_t>(1 + prng.below(25));
        Barriers job(members);
        ASSERT_TRUE(job.run(prng, 6)) << replay(seed);
        EXPECT_EQ(job.network.additions, members == 1 ? 0u : 6u * members) << replay(seed);
        EXPECT_EQ(job.network.posted_count, 0u) << replay(seed);
        ASSERT_FALSE(testing::Test::HasFailure());
    }
}

// Then all meet along the tree, call after call; in any of them all have added.
TEST(RollCalls, TheGroupMayFailBeforeAnyRelease) {
    const auto seeds = Seeds::wanted(500);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng prng(seed);
        const auto members = static_cast<uint32_t>(2 + prng.below(24));
        Barriers job(members);
        const uint64_t failed = 1 + prng.below(6);
        job.bus.fails_from = 6 - failed;
        ASSERT_TRUE(job.run(prng, 6)) << replay(seed);
        EXPECT_EQ(job.network.additions, 6u * members) << replay(seed);
        // Both ends of two messages an edge.
        EXPECT_EQ(job.network.posted_count, failed * 4 * (members - 1)) << replay(seed);
        ASSERT_FALSE(testing::Test::HasFailure());
    }
}

TEST(RollCalls, WithoutAWordAllMeetByMessages) {
    const auto seeds = Seeds::wanted(100);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng prng(seed);
        Barriers job(static_cast<uint32_t>(2 + prng.below(24)), false);
        if (prng.below(2) == 0) job.bus.fails_from = prng.below(6);
        ASSERT_TRUE(job.run(prng, 6)) << replay(seed);
        EXPECT_EQ(job.network.additions, 0u);
        EXPECT_GT(job.network.posted_count, 0u);
    }
}

// Before its answer a rank cannot be released, so it waits for messages; then for the multicast.
TEST(RollCalls, WaitsForItsAnswerAndThenForTheRelease) {
    Barriers job(3);
    job.network.held = true;
    job.arrive(1);
    job.wait();
    EXPECT_EQ(job.late_for(1), std::vector<uint32_t>{0}) << "it has the word";
    const Executor& executor = job.all[1]->executor;
    EXPECT_FALSE(executor.waits_for_multicasts());
    EXPECT_TRUE(executor.waits_for_messages(true));
    EXPECT_TRUE(executor.is_untouched());
    job.network.held = false;
    job.wait();
    EXPECT_EQ(job.late_for(1), (std::vector<uint32_t>{0, 2}));
    EXPECT_TRUE(executor.waits_for_multicasts());
    EXPECT_FALSE(executor.is_untouched());
}

// By the own addition who came before; by a look after half a second who has come since.
TEST(RollCalls, WhoIsLateIsNamed) {
    Barriers job(4);
    HandClock clock;
    for (auto& member : job.all) member->executor.set_clock(clock);
    for (uint32_t call = 1; call <= 4; ++call) {
        for (const uint32_t rank : {1u, 0u, 3u}) job.arrive(rank);
        job.wait();
        EXPECT_EQ(job.late_for(1), (std::vector<uint32_t>{0, 2, 3}));
        EXPECT_EQ(job.late_for(0), (std::vector<uint32_t>{2, 3}));
        EXPECT_EQ(job.late_for(3), std::vector<uint32_t>{2});
        const uint64_t looks = job.network.looks;
        clock.ns += 500'000'000;
        job.wait();
        for (const uint32_t rank : {1u, 0u, 3u}) {
            EXPECT_EQ(job.late_for(rank), std::vector<uint32_t>{2});
        }
        EXPECT_EQ(job.network.looks, looks + 3);
        // One is about to look when all are released.
        job.network.held = true;
        clock.ns += 500'000'000;
        EXPECT_NE(job.all[1]->executor.step(), Step::kDone);
        job.arrive(2);
        job.network.held = false;
        for (const uint32_t rank : {2u, 1u, 0u, 3u}) {
            Member& member = *job.all[rank];
            for (int turn = 0; turn < 10 && member.is_in_call; ++turn) {
                member.is_in_call = member.executor.step() != Step::kDone;
            }
            ASSERT_FALSE(member.is_in_call) << rank;
        }
    }
    EXPECT_EQ(job.network.additions, 16u);
}

TEST(RollCalls, WhoComesBehindOneOfAnotherCallSaysSo) {
    Barriers job(3);
    job.arrive(0, {1, 1, 0});
    job.arrive(1, {1, 2, 0});
    EXPECT_NE(job.all[0]->executor.step(), Step::kFailed);
    EXPECT_FALSE(job.all[0]->executor.has_miscounted());
    EXPECT_EQ(job.all[1]->executor.step(), Step::kFailed);
    EXPECT_TRUE(job.all[1]->executor.has_miscounted());
    EXPECT_EQ(job.all[1]->executor.error(), "a rank that was counted runs another call");
}

TEST(RollCalls, AFailureIsFinalAndACallMayBeCalledOff) {
    Barriers job(3);
    job.arrive(0);
    job.network.broken = true;
    EXPECT_EQ(job.all[0]->executor.step(), Step::kFailed);
    EXPECT_EQ(job.all[0]->executor.error(), "the cable is out");
    EXPECT_FALSE(job.all[0]->executor.has_miscounted());
    job.network.broken = false;
    job.network.held = true;
    job.arrive(1);
    job.all[1]->executor.cancel();
    EXPECT_EQ(job.all[1]->executor.step(), Step::kFailed);
    EXPECT_EQ(job.all[1]->executor.error(), "cancelled");
}

}  // namespace
}  // namespace tutti::test
