// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/inbox.h"

#include <gtest/gtest.h>

#include "unit/run/mcast/support.h"

namespace tutti::mcast {
namespace {

using Put = Inbox::Put;

class InboxTest : public testing::Test {
  protected:
    Inbox inbox_{test_params()};
    std::vector<std::byte> data_ = test_bytes(100);
    std::vector<std::byte> place_ = std::vector<std::byte>(100);

    void SetUp() override { ASSERT_TRUE(inbox_.open_team(5)); }
    Put put(Member sender, uint32_t call, uint32_t offset, uint32_t bytes, uint32_t total = 100) {
        const auto part = std::span<const std::byte>(data_).subspan(offset, bytes);
        return inbox_.put(sender, {0, {5, call, 0, 0}, offset, total, false, part});
    }
    PostId post(Member sender, uint32_t call) {
        auto posted = inbox_.post(sender, {5, call, 0, 0}, place_);
        EXPECT_TRUE(posted);
        return posted.value();
    }
};

TEST_F(InboxTest, PartsGoToTheirPlaceInAnyOrder) {
    const PostId id = post(1, 0);
    EXPECT_EQ(put(1, 0, 60, 40), Put::kPlaced);
    EXPECT_EQ(put(1, 0, 0, 30), Put::kPlaced);
    EXPECT_EQ(inbox_.state(id), PostState::kPending);
    EXPECT_EQ(inbox_.pending_posts(1), 1u);
    EXPECT_EQ(put(1, 0, 30, 30), Put::kCompleted);
    EXPECT_EQ(inbox_.state(id), PostState::kDone);
    EXPECT_EQ(inbox_.pending_posts(1), 0u);
    EXPECT_EQ(place_, data_);
}

TEST_F(InboxTest, WhatComesEarlyIsKeptUntilItIsPosted) {
    EXPECT_EQ(put(1, 0, 60, 40), Put::kPooled);
    EXPECT_EQ(put(1, 1, 0, 100), Put::kPooled);
    EXPECT_EQ(put(2, 0, 0, 100), Put::kPooled);
    EXPECT_EQ(inbox_.pooled_packets(1), 2u);
    const PostId id = post(1, 0);
    EXPECT_EQ(inbox_.pooled_packets(1), 1u) << "the other call's is still there";
    EXPECT_EQ(inbox_.state(id), PostState::kPending);
    EXPECT_EQ(put(1, 0, 0, 60), Put::kCompleted);
    EXPECT_EQ(place_, data_);
    inbox_.release(id);
    std::fill(place_.begin(), place_.end(), std::byte{0});
    EXPECT_EQ(inbox_.state(post(1, 1)), PostState::kDone);
    EXPECT_EQ(place_, data_);
    EXPECT_EQ(inbox_.pooled_packets(1), 0u);
    EXPECT_EQ(inbox_.pooled_packets(2), 1u);
}

TEST_F(InboxTest, ThePoolHoldsAWindowOfEverySenderAgainAndAgain) {
    for (int round = 0; round < 3; ++round) {
        for (const Member sender : {Member{1}, Member{2}, Member{3}}) {
            for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(put(sender, i, 0, 100), Put::kPooled);
        }
        for (const Member sender : {Member{1}, Member{2}, Member{3}}) {
            for (uint32_t i = 8; i-- > 0;) inbox_.release(post(sender, i));
            EXPECT_EQ(inbox_.pooled_packets(sender), 0u);
        }
    }
}

TEST_F(InboxTest, AnEmptyMessageIsAMessage) {
    auto posted = inbox_.post(1, {5, 0, 0, 0}, {});
    ASSERT_TRUE(posted);
    EXPECT_EQ(inbox_.state(posted.value()), PostState::kPending);
    EXPECT_EQ(put(1, 0, 0, 0, 0), Put::kCompleted);
    EXPECT_EQ(put(1, 1, 0, 0, 0), Put::kPooled);
    auto late = inbox_.post(1, {5, 1, 0, 0}, {});
    ASSERT_TRUE(late);
    EXPECT_EQ(inbox_.state(late.value()), PostState::kDone);
}

TEST_F(InboxTest, AWrongSizeIsToldAndWritesNothing) {
    const std::vector<std::byte> untouched = place_;
    const PostId id = post(1, 0);
    EXPECT_EQ(put(1, 0, 0, 40, 101), Put::kCompleted);
    EXPECT_EQ(inbox_.state(id), PostState::kWrongSize);
    EXPECT_EQ(put(1, 0, 40, 40, 101), Put::kPlaced);
    EXPECT_EQ(place_, untouched);
    EXPECT_EQ(inbox_.pending_posts(1), 0u);
}

TEST_F(InboxTest, APostForAnyoneTakesTheFirstSendersMessage) {
    auto posted = inbox_.post_any({5, 0, 0, 0}, place_);
    ASSERT_TRUE(posted);
    const PostId id = posted.value();
    EXPECT_EQ(inbox_.sender(id), kNobody);
    EXPECT_EQ(inbox_.pending_posts(2), 0u) << "nobody is waited for yet";
    EXPECT_EQ(put(2, 0, 30, 40, 70), Put::kPlaced) << "shorter than the place";
    EXPECT_EQ(inbox_.sender(id), 2);
    EXPECT_EQ(inbox_.pending_posts(2), 1u);
    EXPECT_EQ(put(2, 0, 0, 30, 70), Put::kCompleted);
    EXPECT_EQ(inbox_.pending_posts(2), 0u);
    EXPECT_EQ(inbox_.state(id), PostState::kDone);
    EXPECT_EQ(inbox_.message_bytes(id), 70u);
    EXPECT_EQ(inbox_.completed_posts(), 1u);
    EXPECT_TRUE(std::equal(data_.begin(), data_.begin() + 70, place_.begin()));
    EXPECT_EQ(place_[70], std::byte{0});
}

TEST_F(InboxTest, APostForAnyoneFindsWhatCameEarly) {
    put(1, 1, 0, 100);
    put(3, 0, 60, 40);
    put(3, 1, 0, 100);
    EXPECT_EQ(inbox_.pooled_packets(), 3u);
    auto posted = inbox_.post_any({5, 0, 0, 0}, place_);
    ASSERT_TRUE(posted);
    EXPECT_EQ(inbox_.sender(posted.value()), 3);
    EXPECT_EQ(inbox_.pending_posts(3), 1u);
    EXPECT_EQ(inbox_.pooled_packets(), 2u);
    EXPECT_EQ(put(3, 0, 0, 60), Put::kCompleted);
    EXPECT_EQ(place_, data_);
    // Whole before anybody asked, and longer than the place.
    std::vector<std::byte> small(99);
    auto wrong = inbox_.post_any({5, 1, 0, 0}, small);
    ASSERT_TRUE(wrong);
    EXPECT_EQ(inbox_.state(wrong.value()), PostState::kWrongSize);
}

TEST_F(InboxTest, APostForAnyoneCanBeReleasedBeforeAnythingCame) {
    auto posted = inbox_.post_any({5, 0, 0, 0}, place_);
    ASSERT_TRUE(posted);
    inbox_.release(posted.value());
    EXPECT_EQ(put(1, 0, 0, 100), Put::kPooled);
    EXPECT_EQ(inbox_.pending_posts(1), 0u);
}

TEST_F(InboxTest, KnowsHowFarAllIsAtItsPlace) {
    const auto keep = [&](uint64_t sequence, uint32_t call) {
        inbox_.put(1, {sequence, {5, call, 0, 0}, 0, 100, false, data_});
    };
    EXPECT_EQ(inbox_.placed_end(1, 7), 7u);
    keep(4, 0);
    keep(3, 1);
    keep(5, 2);
    EXPECT_EQ(inbox_.placed_end(1, 7), 3u);
    EXPECT_EQ(inbox_.placed_end(1, 2), 2u);
    post(1, 1);
    EXPECT_EQ(inbox_.placed_end(1, 7), 4u);
    post(1, 2);
    EXPECT_EQ(inbox_.placed_end(1, 7), 4u);
    post(1, 0);
    EXPECT_EQ(inbox_.placed_end(1, 7), 7u);
}

TEST_F(InboxTest, ForeignTeamsAreDropped) {
    EXPECT_EQ(inbox_.put(1, {0, {6, 0, 0, 0}, 0, 100, false, data_}), Put::kDropped);
    EXPECT_EQ(inbox_.dropped_packets(), 1u);
    EXPECT_EQ(inbox_.pooled_packets(1), 0u);
}

TEST_F(InboxTest, ClosingATeamEmptiesThePool) {
    ASSERT_TRUE(inbox_.open_team(2));
    put(1, 0, 0, 100);
    EXPECT_EQ(inbox_.put(1, {0, {2, 0, 0, 0}, 0, 100, false, data_}), Put::kPooled);
    inbox_.close_team(5);
    EXPECT_EQ(inbox_.pooled_packets(1), 1u);
    EXPECT_EQ(put(1, 1, 0, 100), Put::kDropped);
}

TEST_F(InboxTest, LimitsAreErrors) {
    ASSERT_TRUE(inbox_.open_team(1));
    EXPECT_FALSE(inbox_.open_team(9));
    for (uint32_t i = 0; i < 4; ++i) post(1, i);
    EXPECT_FALSE(inbox_.post(1, {5, 9, 0, 0}, place_));
}

TEST_F(InboxTest, AReleasedPostIsPendingNoMore) {
    const PostId id = post(1, 0);
    put(1, 0, 0, 40);
    inbox_.release(id);
    EXPECT_EQ(inbox_.pending_posts(1), 0u);
}

}  // namespace
}  // namespace tutti::mcast
