// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/watch.h"

#include <gtest/gtest.h>

#include "unit/run/mcast/support.h"

namespace tutti::mcast {
namespace {

using Finding = Watch::Finding;

class WatchTest : public testing::Test {
  protected:
    Watch watch_{test_params(4, 0)};
    const Timing timing_{};
    Member found_ = kNobody;
};

TEST_F(WatchTest, NobodyIsAskedWithoutReason) {
    EXPECT_EQ(watch_.next_ns(), kNever);
    EXPECT_EQ(watch_.check(1'000'000'000'000, found_), Finding::kNothing);
}

TEST_F(WatchTest, WhoIsHeardIsNotAsked) {
    watch_.wait(0, 2);
    watch_.heard(100, 2);
    EXPECT_EQ(watch_.check(timing_.ask_ns_first, found_), Finding::kNothing);
    EXPECT_EQ(watch_.next_ns(), 100 + timing_.ask_ns_first);
}

TEST_F(WatchTest, WhoAnswersNoneOfManyAsksIsGone) {
    watch_.wait(0, 2);
    uint64_t now = timing_.ask_ns_first;
    for (uint32_t i = 0; i < timing_.asks_max; ++i) {
        ASSERT_EQ(watch_.check(now, found_), Finding::kAsk);
        EXPECT_EQ(found_, 2);
        EXPECT_EQ(watch_.check(now, found_), Finding::kNothing);
        EXPECT_EQ(watch_.next_ns(), now + timing_.ask_ns_again);
        now = watch_.next_ns();
    }
    EXPECT_EQ(watch_.check(now, found_), Finding::kDead);
    EXPECT_EQ(found_, 2);
    EXPECT_EQ(now, timing_.ask_ns_first + timing_.asks_max * timing_.ask_ns_again);
}

TEST_F(WatchTest, AnAnswerBeginsAnew) {
    watch_.wait(0, 2);
    uint64_t now = timing_.ask_ns_first;
    for (uint32_t i = 0; i + 1 < timing_.asks_max; ++i) {
        ASSERT_EQ(watch_.check(now, found_), Finding::kAsk);
        now += timing_.ask_ns_again;
    }
    watch_.heard(now, 2);
    EXPECT_EQ(watch_.check(now, found_), Finding::kNothing);
    EXPECT_EQ(watch_.check(now + timing_.ask_ns_first, found_), Finding::kAsk);
    EXPECT_EQ(watch_.asks(2), 1u);
}

TEST_F(WatchTest, OneThatWasItselfStoppedAccusesNobody) {
    watch_.wait(0, 2);
    const uint64_t much_later = 3'600'000'000'000;
    EXPECT_EQ(watch_.check(much_later, found_), Finding::kAsk);
    EXPECT_EQ(watch_.check(much_later, found_), Finding::kNothing);
    EXPECT_EQ(watch_.asks(2), 1u);
}

TEST_F(WatchTest, ReasonsAreCounted) {
    watch_.wait(0, 2);
    watch_.wait(0, 2);
    watch_.end_wait(2);
    EXPECT_EQ(watch_.check(timing_.ask_ns_first, found_), Finding::kAsk);
    watch_.end_wait(2);
    EXPECT_EQ(watch_.check(1'000'000'000'000, found_), Finding::kNothing);
    EXPECT_EQ(watch_.next_ns(), kNever);
}

TEST_F(WatchTest, MembersDoNotAskAllAtOnce) {
    Watch other(test_params(4, 3));
    watch_.wait(0, 2);
    other.wait(0, 2);
    EXPECT_GT(other.next_ns(), watch_.next_ns());
    EXPECT_LE(other.next_ns(), timing_.ask_ns_first * 5 / 4);
}

}  // namespace
}  // namespace tutti::mcast
