// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/wait.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <vector>

namespace tutti::engine {
namespace {

// Moves on by a fixed amount at every look, so that the sequence of advice is exact.
class SteppingClock final : public Clock {
  public:
    explicit SteppingClock(uint64_t step_ns) : step_ns_(step_ns) {}
    uint64_t now_ns() override { return now_ns_ += step_ns_; }
    void step(uint64_t step_ns) { step_ns_ = step_ns; }

  private:
    uint64_t step_ns_;
    uint64_t now_ns_ = 1'000;
};

using Advice = Waiter::Advice;

uint32_t turns_until(Waiter& waiter, Advice wanted, uint32_t turns_max = 1'000'000) {
    for (uint32_t turn = 1; turn <= turns_max; ++turn) {
        if (waiter.turn() == wanted) return turn;
    }
    return 0;
}

TEST(Waiter, PollsFirstAndThenLetsTheEmbedderProgress) {
    SteppingClock clock(10);
    const WaitPolicy policy{.spin_ns = 1'000'000};
    Waiter waiter(policy, clock);
    const uint32_t first = turns_until(waiter, Advice::kProgress);
    const uint32_t second = turns_until(waiter, Advice::kProgress);
    EXPECT_GT(first, 100u);
    EXPECT_GT(second, 1u);
    EXPECT_LE(second, first);
    // It goes on so for as long as it spins.
    for (int i = 0; i < 20; ++i) EXPECT_EQ(turns_until(waiter, Advice::kProgress), second);
}

TEST(Waiter, AnnouncesOnceWhenSpinningIsOver) {
    SteppingClock clock(1'000);
    const WaitPolicy policy{.spin_ns = 20'000};
    Waiter waiter(policy, clock);
    EXPECT_GT(turns_until(waiter, Advice::kAnnounce, 10'000), 0u);
    EXPECT_EQ(turns_until(waiter, Advice::kAnnounce, 1'000), 0u);
    // The next wait is a new one.
    waiter.reset();
    EXPECT_GT(turns_until(waiter, Advice::kAnnounce, 10'000), 0u);
}

TEST(Waiter, CrowdedRanksYieldFromTheFirstTurn) {
    SteppingClock clock(100);
    const WaitPolicy policy{.spin_ns = 20'000, .is_crowded = true};
    Waiter waiter(policy, clock);
    // Every turn is a trip through the other ranks: the embedder has its turn soon.
    EXPECT_LE(turns_until(waiter, Advice::kProgress), 16u);
    EXPECT_GT(turns_until(waiter, Advice::kAnnounce, 10'000), 0u);
}

// Times this thread gave the processor away to sleep; a yield does not count.
long sleeps_so_far() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

TEST(Waiter, CrowdedRanksOfSeveralHostsSoonNap) {
    for (const bool naps : {false, true}) {
        SteppingClock clock(50'000);
        const WaitPolicy policy{.spin_ns = 20'000, .is_crowded = true, .naps = naps};
        Waiter waiter(policy, clock);
        ASSERT_GT(turns_until(waiter, Advice::kAnnounce), 0u);
        while (waiter.waited_ns() < 200'000) waiter.turn();
        const long before = sleeps_so_far();
        for (int turn = 0; turn < 10; ++turn) waiter.turn();
        // The kernel counts a page that is awaited as well.
        const long slept = sleeps_so_far() - before;
        EXPECT_EQ(slept >= 10, naps) << slept;
    }
}

// Every second turn; in between the embedder has its turn once a millisecond, over all waits.
TEST(Waiter, CrowdedRanksOfSeveralHostsSleepForTheirNode) {
    constexpr uint64_t kStepNs = 100'000;
    SteppingClock clock(kStepNs);
    const WaitPolicy policy{.spin_ns = 20'000, .is_crowded = true, .naps = true};
    uint64_t progressed_ns = clock.now_ns();
    const uint64_t begin_ns = progressed_ns;
    uint32_t progresses = 0;
    for (int wait = 0; wait < 100; ++wait) {
        Waiter waiter(policy, clock, progressed_ns);
        for (int turn = 0; turn < 5; ++turn) {
            ASSERT_EQ(waiter.turn(Waiter::From::kNode), Advice::kSleep);
            progresses += waiter.turn(Waiter::From::kNode) == Advice::kProgress ? 1 : 0;
        }
    }
    const uint64_t passed_ns = clock.now_ns() - begin_ns;
    EXPECT_LE(progresses, passed_ns / Waiter::kProgressNs);
    EXPECT_GE(progresses, passed_ns / (2 * Waiter::kProgressNs));
    // Who waits for something else as well does not sleep.
    Waiter waiter(policy, clock, progressed_ns);
    EXPECT_EQ(turns_until(waiter, Advice::kSleep, 100), 0u);
}

// It yields as long as others spin, then every second turn is a sleep.
TEST(Waiter, CrowdedRanksSleepForAFabricOnceTheyHaveSpun) {
    SteppingClock clock(10'000);
    const WaitPolicy policy{.spin_ns = 200'000, .is_crowded = true, .naps = true};
    Waiter waiter(policy, clock);
    Advice advice = Advice::kPoll;
    const long before = sleeps_so_far();
    do {
        advice = waiter.turn(Waiter::From::kFabric);
        ASSERT_NE(advice, Advice::kSleep);
    } while (advice != Advice::kAnnounce);
    EXPECT_GE(waiter.waited_ns(), policy.spin_ns);
    EXPECT_EQ(sleeps_so_far(), before) << "it napped before it might sleep";
    uint32_t sleeps = 0;
    for (int turn = 0; turn < 100; ++turn) {
        sleeps += waiter.turn(Waiter::From::kFabric) == Advice::kSleep ? 1 : 0;
    }
    EXPECT_EQ(sleeps, 50u);
    EXPECT_EQ(sleeps_so_far(), before) << "the caller sleeps, not the waiter";
}

TEST(Waiter, WhoIsNotCrowdedNeverSleepsForAFabric) {
    SteppingClock clock(10'000);
    const WaitPolicy policy{.spin_ns = 200'000};
    Waiter waiter(policy, clock);
    for (int turn = 0; turn < 5'000; ++turn) {
        ASSERT_NE(waiter.turn(Waiter::From::kFabric), Advice::kSleep);
    }
}

// Where ranks of several hosts may share the processors unseen.
TEST(Waiter, WhoMayNapSoonDoes) {
    for (const bool may_nap : {false, true}) {
        SteppingClock clock(50'000);
        const WaitPolicy policy{.spin_ns = 20'000, .is_crowded = true, .naps = may_nap};
        Waiter waiter(policy, clock);
        ASSERT_GT(turns_until(waiter, Advice::kAnnounce), 0u);
        while (waiter.waited_ns() < 200'000) waiter.turn();
        const long before = sleeps_so_far();
        for (int turn = 0; turn < 40; ++turn) waiter.turn();
        // Yields in between, as ever.
        EXPECT_EQ(sleeps_so_far() > before, may_nap);
    }
}

// Nobody is crowded, but whoever polls keeps the packets from those that bring them.
TEST(Waiter, WhoWaitsForTheServiceSleepsAtOnce) {
    SteppingClock clock(100'000);
    const WaitPolicy policy{.spin_ns = 20'000, .stall_ns = 50'000'000};
    Waiter waiter(policy, clock);
    uint32_t progresses = 0;
    uint32_t reports = 0;
    const long before = sleeps_so_far();
    for (int turn = 0; turn < 2'000; ++turn) {
        ASSERT_EQ(waiter.turn(Waiter::From::kService), Advice::kSleep);
        const Advice advice = waiter.turn(Waiter::From::kService);
        ASSERT_NE(advice, Advice::kSleep);
        progresses += advice == Advice::kProgress || advice == Advice::kListen ? 1 : 0;
        reports += advice == Advice::kReport ? 1 : 0;
    }
    EXPECT_EQ(sleeps_so_far(), before) << "the caller sleeps, not the waiter";
    EXPECT_GE(progresses, waiter.waited_ns() / (2 * Waiter::kProgressNs));
    EXPECT_GE(reports, 1u);
}

TEST(Waiter, ReportsAStallAgainAndAgainButEverMoreSeldom) {
    SteppingClock clock(10'000);
    const WaitPolicy policy{.spin_ns = 20'000, .stall_ns = 1'000'000};
    Waiter waiter(policy, clock);
    ASSERT_GT(turns_until(waiter, Advice::kReport), 0u);
    EXPECT_GE(waiter.waited_ns(), policy.stall_ns);
    const uint64_t first = waiter.waited_ns();
    ASSERT_GT(turns_until(waiter, Advice::kReport), 0u);
    const uint64_t second = waiter.waited_ns();
    EXPECT_GE(second, 2 * first - 100'000);
    // A wait that was fulfilled in between begins anew.
    waiter.reset();
    ASSERT_GT(turns_until(waiter, Advice::kReport), 0u);
    EXPECT_LT(waiter.waited_ns(), second);
}

TEST(Waiter, NeverReportsWithoutAStallTime) {
    SteppingClock clock(1'000'000'000);
    const WaitPolicy policy{.spin_ns = 0, .is_crowded = true};
    Waiter waiter(policy, clock);
    ASSERT_GT(turns_until(waiter, Advice::kAnnounce), 0u);
    // Few turns: after so long a wait each one sleeps for a millisecond.
    EXPECT_EQ(turns_until(waiter, Advice::kReport, 20), 0u);
}

}  // namespace
}  // namespace tutti::engine
