// SPDX-License-Identifier: BSD-3-Clause
// When calls begin to follow who arrives, and when they go back, by drawn and by given times.
#include "plan/select/follow.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/prng.h"
#include "plan/select/skew_threshold.h"
#include "sim/seeds.h"

namespace tutti::select {
namespace {

using test::Seeds;

constexpr uint64_t kMulticastNs = 20'000;
constexpr CallKind kBarrier{TUTTI_BARRIER};

// What calls take from the last arrival on, by the rules and where they follow.
struct World {
    uint64_t spread_ns;
    uint64_t rules_ns;
    uint64_t following_ns;
};

constexpr World kLate{1'000'000, 100'000, 30'000};
constexpr World kLateInVain{1'000'000, 100'000, 98'000};
constexpr World kTogether{10'000, 100'000, 90'000};

class FollowTest : public ::testing::Test {
  protected:
    // So many comparisons; how many changed the way.
    uint32_t run(const World& world, uint32_t comparisons, uint32_t samples = 8,
                 uint64_t multicast_ns = kMulticastNs) {
        uint32_t changes = 0;
        for (uint32_t i = 0; i < comparisons; ++i) {
            for (uint32_t k = 0; k < samples; ++k) {
                const uint64_t delay = follows() ? world.following_ns : world.rules_ns;
                // One of them is out of all proportion.
                follow.sampled(TUTTI_BARRIER, world.spread_ns, k == 1 ? 100 * delay : delay);
            }
            calls += 500;
            if (follow.asks_price(TUTTI_BARRIER, multicast_ns)) {
                ++asked;
                follow.price(TUTTI_BARRIER, pays_from_ns);
            }
            if (follow.heard(multicast_ns, calls)) ++changes;
        }
        return changes;
    }
    [[nodiscard]] bool follows() const { return follow.follows(kBarrier); }

    Follow follow;
    std::optional<uint64_t> pays_from_ns;  // by price
    uint32_t asked = 0;
    uint64_t calls = 0;
};

TEST_F(FollowTest, WhereRanksComeLateAndItIsFaster) {
    EXPECT_EQ(run(kLate, 1), 1u);
    EXPECT_TRUE(follows());
    EXPECT_EQ(follow.of(TUTTI_BARRIER).since, 500u);
    EXPECT_EQ(run(kLate, 100), 0u);
    EXPECT_TRUE(follows());
    EXPECT_FALSE(follow.of(TUTTI_ALLREDUCE).follows);
}

TEST_F(FollowTest, NotWhereNobodyIsLate) {
    EXPECT_EQ(run(kTogether, 100), 0u);
    EXPECT_FALSE(follows());
}

TEST_F(FollowTest, NotWithoutMulticastOrWhereThatTakesAsLong) {
    EXPECT_EQ(run(kLate, 10, 8, 0), 0u);
    EXPECT_EQ(run(kLate, 10, 8, kLate.rules_ns), 0u);
    EXPECT_EQ(run(kLate, 1), 1u);
    EXPECT_EQ(run(kLate, 1, 8, 0), 1u);
    EXPECT_FALSE(follows());
}

TEST_F(FollowTest, FewSamplesAreKeptUntilTheyAreEnough) {
    EXPECT_EQ(run(kLate, 3, 1), 0u);
    EXPECT_EQ(run(kLate, 1, 1), 1u);
}

TEST_F(FollowTest, ItComesBackWhenNobodyIsLateAnyMore) {
    run(kLate, 5);
    EXPECT_EQ(run(kTogether, 1), 1u);
    EXPECT_FALSE(follows());
    EXPECT_EQ(run(kTogether, 50), 0u);
    EXPECT_EQ(run(kLate, 3), 1u);
    EXPECT_TRUE(follows());
}

// Each time it waits twice as long.
TEST_F(FollowTest, WhatIsNoFasterIsTriedMoreAndMoreSeldom) {
    EXPECT_EQ(run(kLateInVain, 2), 2u);
    EXPECT_FALSE(follows());
    const uint32_t changes = run(kLateInVain, 1000);
    EXPECT_GT(changes, 10u);
    EXPECT_LT(changes, 50u);
}

TEST_F(FollowTest, WhatHasBecomeSlowIsGivenUp) {
    run(kLate, 5);
    World slow = kLate;
    slow.following_ns = 3 * kLate.rules_ns;
    EXPECT_EQ(run(slow, 1), 1u);
    EXPECT_FALSE(follows());
}

// Sooner than without, where the price says so; then the times decide as ever.
TEST_F(FollowTest, ByPriceFromThereOn) {
    constexpr World kALittleLate{60'000, 70'000, 30'000};
    EXPECT_EQ(run(kALittleLate, 10), 0u);
    pays_from_ns = 60'001;
    EXPECT_EQ(run(kALittleLate, 10), 0u);
    pays_from_ns = 60'000;
    EXPECT_EQ(run(kALittleLate, 1), 1u);
    EXPECT_EQ(run(kALittleLate, 100), 0u);
    EXPECT_TRUE(follows());
    EXPECT_EQ(run(kTogether, 1), 1u);
    EXPECT_FALSE(follows());
}

TEST_F(FollowTest, ByPriceNever) {
    pays_from_ns = kNoSkew;
    EXPECT_EQ(run(kLate, 100), 0u);
    EXPECT_EQ(asked, 100u);
    pays_from_ns = kLate.spread_ns + 1;
    EXPECT_EQ(run(kLate, 100), 0u);
    // What holds without a price holds again.
    pays_from_ns.reset();
    EXPECT_EQ(run(kLate, 1), 1u);
}

TEST_F(FollowTest, APriceIsNoPromise) {
    pays_from_ns = 0;
    EXPECT_EQ(run(kLateInVain, 2), 2u);
    EXPECT_FALSE(follows());
    EXPECT_LT(run(kLateInVain, 1000), 50u);
}

// Nobody is later than a call takes, and the price wants it all the same.
TEST_F(FollowTest, WhatAPriceHasTriedStaysByItsTimes) {
    constexpr World kALittleLate{60'000, 100'000, 70'000};
    pays_from_ns = 0;
    EXPECT_EQ(run(kALittleLate, 1), 1u);
    EXPECT_EQ(run(kALittleLate, 100), 0u);
    EXPECT_TRUE(follows());
    constexpr World kSlow{60'000, 100'000, 110'000};
    EXPECT_EQ(run(kSlow, 1), 1u);
    EXPECT_LT(run(kSlow, 1000), 50u);
}

TEST_F(FollowTest, PricesAreAskedWhereSomebodyIsLate) {
    pays_from_ns = 0;
    EXPECT_EQ(run(kTogether, 100), 0u);
    EXPECT_EQ(run(kLate, 10, 8, 0), 0u);
    EXPECT_EQ(run(kLate, 1, 3), 0u);
    EXPECT_EQ(asked, 0u);
    run(kLate, 10);
    EXPECT_EQ(asked, 1u);
}

// How many of so many comparisons found it following, by times that scatter by a third.
uint32_t drawn(uint64_t seed, uint32_t comparisons, bool is_faster,
               std::optional<uint64_t> pays_from_ns) {
    Prng random(seed);
    Follow follow;
    uint32_t following = 0;
    for (uint32_t i = 0; i < comparisons; ++i) {
        const bool follows = follow.follows(kBarrier);
        following += follows ? 1 : 0;
        const uint64_t mean = !follows ? 100'000 : is_faster ? 60'000 : 130'000;
        for (int k = 0; k < 8; ++k) {
            follow.sampled(TUTTI_BARRIER, 300'000 + random.below(1'000'000),
                           mean * 2 / 3 + random.below(mean * 2 / 3));
        }
        if (follow.asks_price(TUTTI_BARRIER, kMulticastNs)) {
            follow.price(TUTTI_BARRIER, pays_from_ns);
        }
        follow.heard(kMulticastNs, 500 * (i + 1));
    }
    return following;
}

// It ends where it is faster, and seldom leaves that, with a price, right or wrong, and without.
TEST(Follow, DrawnTimes) {
    const auto seeds = Seeds::wanted(100);
    constexpr uint32_t kComparisons = 200;
    uint32_t wrong = 0;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        const bool is_faster = seed % 2 == 0;
        for (const std::optional<uint64_t> price : {std::optional<uint64_t>(), {100'000}, {0}}) {
            const uint32_t following = drawn(seed, kComparisons, is_faster, price);
            const bool is_right =
                is_faster ? following > kComparisons * 9 / 10 : following < kComparisons / 10;
            wrong += is_right ? 0 : 1;
        }
        EXPECT_EQ(drawn(seed, kComparisons, is_faster, kNoSkew), 0u);
    }
    EXPECT_LE(wrong, 3 * seeds.count / 20);
}

TEST(Follow, CallsThatMay) {
    CallKind kind{TUTTI_ALLREDUCE, 8, 8};
    EXPECT_TRUE(Follow::may_follow(kind));
    kind.is_exact = false;
    EXPECT_FALSE(Follow::may_follow(kind));
    EXPECT_TRUE(Follow::may_follow({TUTTI_ALLREDUCE, Follow::kBytesMax}));
    EXPECT_FALSE(Follow::may_follow({TUTTI_ALLREDUCE, Follow::kBytesMax + 8}));
    EXPECT_FALSE(Follow::may_follow({TUTTI_ALLREDUCE, 0}));
    EXPECT_FALSE(Follow::may_follow({TUTTI_BCAST, 8}));
}

}  // namespace
}  // namespace tutti::select
