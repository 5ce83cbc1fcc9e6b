// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/settings.h"
#include "base/topo/placement.h"
#include "plan/select/rules.h"

namespace tutti::select {
namespace {

sched::Shape shape_of(tutti_collective collective, uint64_t bytes) {
    sched::Shape shape;
    shape.collective = collective;
    shape.ranks = 4;
    shape.bytes = bytes;
    shape.element_bytes = collective == TUTTI_ALLREDUCE ? 8 : 1;
    return shape;
}

// Rank 0 of four hosts with a rank each.
class PlansTest : public testing::Test {
  protected:
    Plan* find(const sched::Shape& shape, bool had_multicast = false) {
        const auto found = plans_.find(shape, {false, had_multicast, obstacle_});
        message_ = found ? "" : found.error().message;
        return found ? found.value() : nullptr;
    }
    std::string name(const sched::Shape& shape, bool had_multicast = false) {
        const Plan* plan = find(shape, had_multicast);
        return plan ? plan->name : message_;
    }
    void set(tutti_collective collective, const char* text) {
        rules_.force(collective, parse_forced(collective, text).value());
    }

    Settings settings_;
    Rules rules_ = Rules::built_in();
    const topo::Placement placement_ = topo::Placement::blocks(4, 4);
    const std::string obstacle_ = "h3 does not hear h1";
    Plans plans_{{settings_, rules_, "openmpi"}, placement_, 0};
    std::string message_;
};

TEST_F(PlansTest, AreFoundAgain) {
    const auto one = shape_of(TUTTI_ALLREDUCE, 4096);
    const auto other = shape_of(TUTTI_ALLREDUCE, 8192);
    const Plan* first = find(one);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(find(one), first);
    const Plan* second = find(other);
    EXPECT_NE(second, first);
    EXPECT_EQ(find(one), first);
    EXPECT_EQ(find(other), second);
}

// The embedder's lengths may be elsewhere in each call, and gone after it.
TEST_F(PlansTest, OfBlocksThatDifferAreFoundByTheirLengths) {
    rules_ = Rules::parse("[[rule]]\ncollective = \"allgatherv\"\nalgorithm = \"ring\"\n", "r.toml")
                 .value();
    auto shape = shape_of(TUTTI_ALLGATHERV, 4096);
    std::vector<uint64_t> lengths = {4096, 0, 8, 1024};
    shape.lengths = {lengths.data(), 4, nullptr};
    const Plan* first = find(shape);
    ASSERT_NE(first, nullptr) << message_;
    const std::vector<uint64_t> same = lengths;
    lengths[2] = 16;
    const Plan* second = find(shape);
    EXPECT_NE(second, first);
    EXPECT_NE(first->shape.lengths.bytes, lengths.data());
    auto again = shape;
    again.lengths = {same.data(), 4, nullptr};
    EXPECT_EQ(find(again), first);
    EXPECT_EQ(first->shape.block_offset(3), 4104u);
    sched::Round round;
    first->program->read(0, 1, round);
    ASSERT_GT(round.size(), 0u);
    EXPECT_EQ(round[0].to, sched::output(4096 + 8 - 8, 8)) << "block 2";
    shape.lengths = {};
    EXPECT_NE(find(shape), first);
}

TEST_F(PlansTest, OfWhatIsForcedAreKeptApart) {
    const auto shape = shape_of(TUTTI_ALLREDUCE, 4096);
    const Plan* by_rules = find(shape);
    ASSERT_NE(by_rules, nullptr);
    ASSERT_TRUE(plans_.force(TUTTI_ALLREDUCE, "ring"));
    const Plan* ring = find(shape);
    ASSERT_NE(ring, nullptr);
    EXPECT_STREQ(ring->name, "ring");
    EXPECT_NE(ring, by_rules);
    ASSERT_TRUE(plans_.force(TUTTI_ALLREDUCE, "ring:segment=1K"));
    const Plan* cut = find(shape);
    EXPECT_NE(cut, ring);
    // However it is written.
    ASSERT_TRUE(plans_.force(TUTTI_ALLREDUCE, "ring:segment=1024"));
    EXPECT_EQ(find(shape), cut);
    ASSERT_TRUE(plans_.force(TUTTI_ALLREDUCE, ""));
    EXPECT_EQ(find(shape), by_rules);
}

TEST_F(PlansTest, WhatIsForcedGoesBeforeTheSetting) {
    set(TUTTI_ALLREDUCE, "pairwise");
    const auto shape = shape_of(TUTTI_ALLREDUCE, 4096);
    EXPECT_EQ(name(shape), "pairwise");
    const auto before = plans_.force(TUTTI_ALLREDUCE, "ring");
    ASSERT_TRUE(before);
    EXPECT_EQ(name(shape), "ring");
    plans_.restore(TUTTI_ALLREDUCE, before.value());
    EXPECT_EQ(name(shape), "pairwise");
}

// The variable names both; who names one gets it.
TEST_F(PlansTest, AdaptiveMeansByMulticastWhereThereIsOne) {
    set(TUTTI_BARRIER, "adaptive:fan_in=3");
    auto barrier = shape_of(TUTTI_BARRIER, 0);
    const auto lonely = plans_.find(barrier, {true, false, obstacle_});
    ASSERT_TRUE(lonely);
    EXPECT_TRUE(lonely.value()->would_multicast);
    EXPECT_STREQ(lonely.value()->name, "adaptive");
    barrier.has_multicast = true;
    EXPECT_EQ(name(barrier), "adaptive_multicast");
    barrier.has_multicast = false;
    EXPECT_EQ(name(barrier, true), "adaptive");  // it is gone
    barrier.has_multicast = true;
    ASSERT_TRUE(plans_.force(TUTTI_BARRIER, "adaptive"));
    EXPECT_EQ(name(barrier), "adaptive");
    set(TUTTI_BCAST, "adaptive");
    auto bcast = shape_of(TUTTI_BCAST, 4096);
    bcast.has_multicast = true;
    EXPECT_EQ(name(bcast), "adaptive");
}

TEST_F(PlansTest, WrongTextIsAnErrorAndChangesNothing) {
    ASSERT_TRUE(plans_.force(TUTTI_ALLREDUCE, "ring"));
    const auto wrong = plans_.force(TUTTI_ALLREDUCE, "rnig");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().message, "unknown algorithm rnig of allreduce; did you mean ring?");
    EXPECT_EQ(name(shape_of(TUTTI_ALLREDUCE, 4096)), "ring");
}

TEST_F(PlansTest, WhoLostItsMulticastGoesByTheRules) {
    set(TUTTI_BCAST, "multicast");
    const auto shape = shape_of(TUTTI_BCAST, 4096);
    EXPECT_TRUE(name(shape).starts_with("TUTTI_BCAST=multicast: cannot run this call: "))
        << name(shape);
    const Plan* plan = find(shape, true);
    ASSERT_NE(plan, nullptr) << message_;
    EXPECT_STRNE(plan->name, "multicast");
    EXPECT_FALSE(plan->is_host);
}

class FollowingTest : public PlansTest {
  protected:
    static sched::Shape shape_of(tutti_collective collective, uint64_t bytes) {
        auto shape = select::shape_of(collective, bytes);
        shape.has_multicast = shape.gives_back = true;
        shape.multicast_speed = {20'000, 10'000};
        return shape;
    }
    std::string following(const sched::Shape& shape) {
        const auto found = plans_.find(shape, {false, true, obstacle_, false, kFollows});
        return found ? found.value()->name : found.error().message;
    }
    static constexpr const char* kName = "adaptive_multicast";
};

TEST_F(FollowingTest, WhatTheUserHasNotDecided) {
    const auto barrier = shape_of(TUTTI_BARRIER, 0);
    EXPECT_NE(name(barrier), kName);
    EXPECT_EQ(following(barrier), kName);
    ASSERT_TRUE(plans_.force(TUTTI_BARRIER, "dissemination"));
    EXPECT_EQ(following(barrier), "dissemination");
    ASSERT_TRUE(plans_.force(TUTTI_BARRIER, ""));
    EXPECT_EQ(following(barrier), kName);
    settings_.results.reproducible = true;
    for (uint32_t i = 0; i < kComparedCalls; ++i)
        plans_.started(*find(shape_of(TUTTI_ALLREDUCE, 64)));
    EXPECT_EQ(following(shape_of(TUTTI_ALLREDUCE, 8)), "chain");
}

TEST_F(FollowingTest, NotWhereTheUserHasSaidIt) {
    set(TUTTI_BARRIER, "dissemination");
    EXPECT_EQ(following(shape_of(TUTTI_BARRIER, 0)), "dissemination");
    auto rules = Rules::parse("[[rule]]\ncollective = \"barrier\"\nalgorithm = \"tree\"\n", "r");
    ASSERT_TRUE(rules) << rules.error().message;
    rules_ = std::move(rules.value());
    EXPECT_EQ(PlansTest::name(shape_of(TUTTI_BARRIER, 0)), "tree");
    auto lost = shape_of(TUTTI_BARRIER, 0);
    lost.has_multicast = false;
    EXPECT_EQ(following(lost), "tree");
}

TEST_F(FollowingTest, FromTheSkewThatPricesSay) {
    Plans plans({settings_, rules_, nullptr}, placement_, 0);
    const Circumstances now{false, true, obstacle_};
    const auto from = [&](const sched::Shape& shape) { return plans.follows_from(shape, now); };
    auto barrier = shape_of(TUTTI_BARRIER, 0);
    EXPECT_EQ(from(barrier), std::nullopt);
    // Two messages, one of which the others have behind them, or one multicast.
    barrier.message_speed = {60'000, 10'000};
    // The host MPI's own has no price.
    ASSERT_EQ(PlansTest::name(barrier), "host");
    EXPECT_EQ(plans_.follows_from(barrier, now), std::nullopt);
    const auto late = from(barrier);
    ASSERT_TRUE(late);
    // All at once, two parts cross, which takes as long as the two messages.
    EXPECT_GT(*late, 0u);
    EXPECT_LT(*late, 10'000u);
    EXPECT_EQ(from(barrier), late);
    auto allreduce = shape_of(TUTTI_ALLREDUCE, 8);
    allreduce.message_speed = barrier.message_speed;
    ASSERT_TRUE(from(allreduce));
    EXPECT_LT(*from(allreduce), 200'000u);
    // Two messages take less than a multicast.
    barrier.message_speed = {5'000, 10'000};
    EXPECT_EQ(from(barrier), kNoSkew);
    barrier.message_speed = {60'000, 10'000};
    barrier.has_multicast = false;
    EXPECT_EQ(from(barrier), std::nullopt);
    barrier.has_multicast = true;
    barrier.gives_back = false;
    EXPECT_EQ(from(barrier), kNoSkew);
    barrier.gives_back = true;
    ASSERT_TRUE(plans.force(TUTTI_BARRIER, "dissemination"));
    EXPECT_EQ(from(barrier), kNoSkew);
}

// Ranks that disagree on the size would go different ways.
TEST_F(FollowingTest, NotBeforeSizesAreCompared) {
    const auto shape = shape_of(TUTTI_ALLREDUCE, 8);
    for (uint32_t call = 0; call < kComparedCalls; ++call) {
        EXPECT_NE(following(shape), kName) << call;
        plans_.started(*find(shape));
    }
    EXPECT_EQ(following(shape), kName);
}

// Also where it is the one that was found last.
TEST_F(PlansTest, APlanForNowHoldsUntilSizesAreCompared) {
    auto rules = Rules::parse(
        "[[rule]]\ncollective = \"gather\"\nbytes = \"..1K\"\nalgorithm = \"host\"\n", "r.toml");
    ASSERT_TRUE(rules) << rules.error().message;
    rules_ = std::move(rules.value());
    const auto shape = shape_of(TUTTI_GATHER, 64);
    for (uint32_t call = 0; call < kComparedCalls; ++call) {
        const Plan* plan = find(shape);
        ASSERT_NE(plan, nullptr) << message_;
        EXPECT_FALSE(plan->is_host);
        plans_.started(*plan);
    }
    EXPECT_EQ(name(shape), "host");
}

// Floating point has one order of operands: what is to be the host's is so from the first call on.
TEST_F(PlansTest, WhatIsNotExactNeverChangesItsPlan) {
    auto rules = Rules::parse(
        "[[rule]]\ncollective = \"allreduce\"\nbytes = \"..1K\"\nalgorithm = \"host\"\n", "r.toml");
    ASSERT_TRUE(rules) << rules.error().message;
    rules_ = std::move(rules.value());
    auto shape = shape_of(TUTTI_ALLREDUCE, 64);
    EXPECT_NE(name(shape), "host");
    shape.is_exact = false;
    EXPECT_EQ(name(shape), "host");
}

// On either side of the border, too.
TEST_F(PlansTest, ACallThatBeginsAnewCountsOnce) {
    auto rules = Rules::parse(
        "[[rule]]\ncollective = \"gather\"\nbytes = \"..1K\"\nalgorithm = \"host\"\n", "r.toml");
    ASSERT_TRUE(rules) << rules.error().message;
    rules_ = std::move(rules.value());
    for (uint32_t call = 0; call < kComparedCalls; ++call) {
        for (const uint64_t bytes : {128, 64}) {
            const Plan* plan = find(shape_of(TUTTI_GATHER, bytes));
            ASSERT_NE(plan, nullptr) << message_;
            EXPECT_FALSE(plan->is_host) << call;
            plans_.started(*plan);
            if (bytes == 128) plans_.withdrawn();
        }
    }
    EXPECT_EQ(name(shape_of(TUTTI_GATHER, 64)), "host");
    const auto together = [&](uint64_t one, uint64_t other) {
        return plans_.go_together(shape_of(TUTTI_GATHER, one), shape_of(TUTTI_GATHER, other),
                                  {false, false, obstacle_});
    };
    EXPECT_TRUE(together(64, 128));
    EXPECT_TRUE(together(4096, 8192));
    EXPECT_FALSE(together(64, 4096));
    EXPECT_FALSE(together(4096, 64));
}

// ---- what live tuning may try ------------------------------------------------------------------

class WaysTest : public PlansTest {
  protected:
    // Of a shape; each of them runs it.
    std::vector<std::string> ways(const sched::Shape& shape, bool has_stragglers = false) {
        const auto found = plans_.ways(shape, {false, false, obstacle_}, has_stragglers);
        std::vector<std::string> names;
        for (const Way& way : found) {
            names.push_back(way.name);
            const auto plan = plans_.find(shape, {false, false, obstacle_, false, way.force});
            EXPECT_TRUE(plan) << way.name;
            // A name has its options behind it.
            if (!plan) continue;
            EXPECT_TRUE(way.name.starts_with(plan.value()->name)) << way.name;
        }
        return names;
    }
    static bool has(const std::vector<std::string>& names, std::string_view name) {
        return std::ranges::find(names, name) != names.end();
    }
};

TEST_F(WaysTest, TheRulesAndTheHost) {
    const auto shape = shape_of(TUTTI_ALLREDUCE, 64u << 10);
    EXPECT_EQ(ways(shape), (std::vector<std::string>{name(shape), "host"}));
}

TEST_F(WaysTest, TwoOthersByPrice) {
    auto shape = shape_of(TUTTI_ALLREDUCE, 64u << 10);
    shape.message_speed = {20'000, 10'000};
    EXPECT_EQ(ways(shape).size(), 4u);
    // Of what nobody has measured there are none.
    shape.message_speed = {};
    EXPECT_EQ(ways(shape).size(), 2u);
}

TEST_F(WaysTest, ThoseThatFollowArrivalWhereMembersComeLate) {
    const auto shape = shape_of(TUTTI_BARRIER, 0);
    EXPECT_FALSE(has(ways(shape), "adaptive"));
    EXPECT_TRUE(has(ways(shape, true), "adaptive"));
    // It would multicast, and there is none.
    EXPECT_FALSE(has(ways(shape, true), "adaptive_multicast"));
}

TEST_F(WaysTest, LongBcastsFollowArrivalWhereMembersComeLate) {
    EXPECT_FALSE(has(ways(shape_of(TUTTI_BCAST, 16u << 10)), "adaptive"));
    EXPECT_TRUE(has(ways(shape_of(TUTTI_BCAST, 16u << 10), true), "adaptive"));
    EXPECT_FALSE(has(ways(shape_of(TUTTI_BCAST, (16u << 10) - 1), true), "adaptive"));
}

TEST_F(WaysTest, WhatTheUserSaysStays) {
    auto shape = shape_of(TUTTI_ALLREDUCE, 64u << 10);
    shape.message_speed = {20'000, 10'000};
    ASSERT_TRUE(plans_.force(TUTTI_ALLREDUCE, "ring"));
    EXPECT_EQ(ways(shape), std::vector<std::string>{"ring"});
    ASSERT_TRUE(plans_.force(TUTTI_ALLREDUCE, ""));
    shape.bytes *= 2;  // plans are kept, while rules change here alone
    set(TUTTI_ALLREDUCE, "pairwise");
    EXPECT_EQ(ways(shape), std::vector<std::string>{"pairwise"});
    shape.bytes *= 2;
    auto rules = Rules::parse("[[rule]]\ncollective = \"allreduce\"\nalgorithm = \"ring\"\n", "r");
    ASSERT_TRUE(rules) << rules.error().message;
    rules_ = std::move(rules.value());
    EXPECT_EQ(ways(shape), std::vector<std::string>{"ring"});
}

TEST_F(WaysTest, ReproducibleReductionsHaveOne) {
    settings_.results.reproducible = true;
    auto shape = shape_of(TUTTI_ALLREDUCE, 64u << 10);
    shape.message_speed = {20'000, 10'000};
    EXPECT_EQ(ways(shape).size(), 1u);
}

// What cannot run any more leaves its calls to the rules.
TEST_F(WaysTest, OneThatIsGone) {
    auto shape = shape_of(TUTTI_BCAST, 4096);
    const std::string by_rules = name(shape);
    shape.has_multicast = true;
    shape.multicast_speed = {20'000, 10'000};
    const auto found = plans_.force(TUTTI_BCAST, "multicast");
    ASSERT_TRUE(found);
    plans_.restore(TUTTI_BCAST, 0);
    constexpr uint32_t kWay = 1;  // the first that was asked for
    const auto before = plans_.find(shape, {false, false, obstacle_, false, kWay});
    ASSERT_TRUE(before);
    EXPECT_STREQ(before.value()->name, "multicast");
    shape.has_multicast = false;
    shape.multicast_speed = {};
    const auto after = plans_.find(shape, {false, false, obstacle_, false, kWay});
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(after.value()->name, by_rules);
}

// Calls that the rules would multicast ask for a try of it, whatever way they go meanwhile.
TEST_F(WaysTest, AnotherWayStillWishesForMulticast) {
    const auto shape = shape_of(TUTTI_BCAST, 64u << 10);
    const auto by_rules = plans_.find(shape, {true, false, obstacle_});
    ASSERT_TRUE(by_rules);
    EXPECT_TRUE(by_rules.value()->would_multicast);
    ASSERT_TRUE(plans_.force(TUTTI_BCAST, "host"));
    plans_.restore(TUTTI_BCAST, 0);
    const auto host = plans_.find(shape, {true, false, obstacle_, false, 1});
    ASSERT_TRUE(host);
    EXPECT_TRUE(host.value()->is_host);
    EXPECT_TRUE(host.value()->would_multicast);
}

}  // namespace
}  // namespace tutti::select
