// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/followed_rounds.h"

#include <gtest/gtest.h>

#include <array>

namespace tutti::price {
namespace {

TEST(FollowedRounds, ShortStretchesAreFollowedWhole) {
    const std::array<sched::Stretch, 1> alike{{{2, 8}}};
    FollowedRounds rounds(20, alike);
    EXPECT_FALSE(rounds.has_left_out());
    for (uint64_t round = 1; round <= 20; ++round) rounds.complete(round, round * 10);
    EXPECT_EQ(rounds.left_out_ns(), 0u);
    EXPECT_EQ(rounds.whole_ns(70), 70u);
}

// Rounds 3 to 102 are alike: four of them are followed, and the last two of these tell.
TEST(FollowedRounds, RoundsThatAreLeftOutTakeAsLongAsTheLast) {
    const std::array<sched::Stretch, 1> alike{{{3, 100}}};
    FollowedRounds rounds(105, alike);
    EXPECT_TRUE(rounds.has_left_out());
    uint64_t now_ns = 0;
    for (uint64_t round = 1; round <= 9; ++round) {
        now_ns += round == 6 || round == 7 ? 10 : 1000;
        rounds.complete(round, now_ns);
    }
    EXPECT_EQ(rounds.left_out_ns(), 96u * 10);
    EXPECT_EQ(rounds.whole_ns(18), 2u * 105);
}

TEST(FollowedRounds, TheSlowestParticipantCounts) {
    const std::array<sched::Stretch, 1> alike{{{0, 12}}};
    FollowedRounds rounds(12, alike);
    for (const uint64_t slow : {1, 3, 2}) {
        for (uint64_t round = 1; round <= 4; ++round) rounds.complete(round, slow * round * 10);
    }
    EXPECT_EQ(rounds.left_out_ns(), 8u * 30);
}

// Of two stretches each is told by its own rounds.
TEST(FollowedRounds, EachStretchHasItsOwnPace) {
    const std::array<sched::Stretch, 2> alike{{{0, 10}, {10, 14}}};
    FollowedRounds rounds(24, alike);
    uint64_t now_ns = 0;
    for (uint64_t round = 1; round <= 8; ++round) {
        now_ns += round <= 4 ? 5 : 7;
        rounds.complete(round, now_ns);
    }
    EXPECT_EQ(rounds.left_out_ns(), 6u * 5 + 10u * 7);
}

}  // namespace
}  // namespace tutti::price
