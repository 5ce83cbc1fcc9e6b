// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/streams.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/run/mcast/support.h"

namespace tutti::mcast {
namespace {

// Member 1 of 4. In the tree of stream 0, with two children a member, member 3 is its child.
class StreamsTest : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(streams_.open_team(5)); }

    Data data(uint64_t sequence, uint32_t offset = 0, uint32_t total = 100) {
        return {sequence, {5, 0, 0, 0}, offset, total, false, payload_};
    }
    std::vector<Work> queued(Member member) {
        std::vector<Work> found;
        for (const Work work : {Work::kAck, Work::kNak, Work::kAsk}) {
            if (work_.is_queued(work, member)) found.push_back(work);
        }
        return found;
    }
    Ack written_ack(Member stream) {
        const size_t bytes = streams_.write_ack(stream, out_, to_);
        return std::get<Ack>(parse(std::span<const std::byte>(out_).first(bytes))->body);
    }
    Ask written_ask(Member member) {
        const size_t bytes = streams_.write_ask(member, out_, to_);
        return std::get<Ask>(parse(std::span<const std::byte>(out_).first(bytes))->body);
    }

    const Params params_ = test_params(4, 1);
    const std::vector<std::byte> payload_ = test_bytes(100);
    Prng prng_{1};
    Watch watch_{params_};
    GroupWork work_{params_.members};
    Streams streams_{params_, prng_, watch_, work_};
    std::array<std::byte, kControlBytesMax> out_{};
    Member to_ = kNobody;
};

TEST_F(StreamsTest, AnAcknowledgementIsOwedToTheParentInTime) {
    EXPECT_EQ(streams_.next_ns(), kNever);
    EXPECT_EQ(streams_.judge(2, 0), Receiver::Verdict::kNew);
    streams_.take(0, 2, data(0));
    EXPECT_EQ(streams_.judge(2, 0), Receiver::Verdict::kDuplicate);
    EXPECT_EQ(queued(2), std::vector<Work>{});
    EXPECT_EQ(streams_.next_ns(), params_.timing.ack_delay_ns);
    streams_.tick(params_.timing.ack_delay_ns);
    EXPECT_EQ(queued(2), std::vector<Work>{Work::kAck});
    const Ack ack = written_ack(2);
    EXPECT_EQ(to_, 3) << "its parent in the tree of stream 2";
    EXPECT_EQ(ack.stream, 2);
    EXPECT_EQ(ack.received_end, 1u);
    EXPECT_EQ(ack.placed_end, 0u) << "nobody has posted it";
    EXPECT_EQ(streams_.counters().acks_sent, 1u);
}

TEST_F(StreamsTest, WhatAChildHasIsReportedWithTheOwn) {
    streams_.take(0, 0, data(0));
    EXPECT_EQ(written_ack(0).received_end, 0u) << "the child has nothing yet";
    EXPECT_TRUE(streams_.on_ack(0, 3, {0, 1, 9, 0}));
    EXPECT_FALSE(streams_.on_ack(0, 2, {0, 1, 9, 0})) << "no child of this member";
    EXPECT_EQ(written_ack(0).received_end, 1u);
}

TEST_F(StreamsTest, AMissingPacketIsAskedForAndItsSenderWaitedFor) {
    streams_.take(0, 2, data(1));
    EXPECT_TRUE(streams_.is_missing());
    EXPECT_EQ(watch_.reasons(2), 1u);
    const uint64_t due_ns = streams_.next_ns();
    ASSERT_NE(due_ns, kNever);
    streams_.tick(due_ns);
    EXPECT_EQ(queued(2), std::vector<Work>{Work::kNak});
    EXPECT_GT(streams_.write_nak(due_ns, 2, out_, to_), 0u);
    EXPECT_EQ(to_, kEverybody);
    EXPECT_NE(streams_.next_ns(), kNever) << "it may have to ask again";
    streams_.take(due_ns, 2, data(0));
    EXPECT_FALSE(streams_.is_missing());
    EXPECT_EQ(watch_.reasons(2), 0u);
    EXPECT_EQ(streams_.counters().received.repaired, 1u);
}

TEST_F(StreamsTest, ASenderIsWaitedForAsLongAsAPostIs) {
    std::vector<std::byte> place(100);
    const auto id = streams_.post(0, 2, {5, 0, 0, 0}, place);
    ASSERT_TRUE(id);
    EXPECT_EQ(watch_.reasons(2), 1u);
    streams_.take(0, 2, data(0));
    EXPECT_EQ(watch_.reasons(2), 0u);
    EXPECT_EQ(streams_.inbox().state(id.value()), PostState::kDone);
    EXPECT_EQ(place, payload_);
    streams_.release(0, id.value());
}

TEST_F(StreamsTest, ChildrenAreWaitedForUntilAllIsAtItsPlaceThere) {
    streams_.on_sent(0, 2);
    EXPECT_EQ(watch_.reasons(2), 1u);
    EXPECT_EQ(watch_.reasons(3), 1u);
    EXPECT_EQ(watch_.reasons(0), 0u) << "it acknowledges to member 2 or 3";
    EXPECT_FALSE(streams_.on_ack(0, 2, {1, 3, 9, 0})) << "of what was never sent";
    EXPECT_TRUE(streams_.on_ack(0, 2, {1, 2, 9, 1}));
    EXPECT_EQ(watch_.reasons(2), 1u) << "one packet is in its pool";
    EXPECT_TRUE(streams_.on_ack(0, 2, {1, 2, 9, 2}));
    EXPECT_EQ(watch_.reasons(2), 0u);
    EXPECT_EQ(streams_.acknowledged().received_end, 0u) << "member 3 has said nothing";
    EXPECT_TRUE(streams_.on_ack(0, 3, {1, 1, 9, 1}));
    EXPECT_EQ(streams_.acknowledged(), (Reached{1, 9, 1}));
}

TEST_F(StreamsTest, AnAskIsAboutAStreamInWhichTheChildIsBehind) {
    streams_.on_sent(0, 2);
    const Ask ask = written_ask(3);
    EXPECT_EQ(to_, 3);
    EXPECT_EQ(ask.stream, 1);
    EXPECT_EQ(ask.end, 2u);
    streams_.reveal(0, 0, 4, false);
    std::vector<Member> about;
    for (int i = 0; i < 4; ++i) about.push_back(written_ask(3).stream);
    EXPECT_GT(std::ranges::count(about, Member{0}), 0) << "member 3 is behind in that one, too";
    EXPECT_GT(std::ranges::count(about, Member{1}), 0);
    EXPECT_EQ(std::ranges::count(about, Member{2}), 0);
}

TEST_F(StreamsTest, WhoAsksGetsAnAcknowledgementAtOnce) {
    streams_.reveal(0, 2, 0, false);
    EXPECT_EQ(queued(2), std::vector<Work>{});
    streams_.reveal(0, 2, 0, true);
    EXPECT_EQ(queued(2), std::vector<Work>{Work::kAck});
}

TEST_F(StreamsTest, AClosedTeamGivesWhatItsMessagesHeld) {
    for (uint64_t i = 0; i < 8; ++i) {
        ASSERT_EQ(streams_.judge(0, i), Receiver::Verdict::kNew);
        streams_.take(0, 0, data(i, static_cast<uint32_t>(100 * i), 900));
    }
    EXPECT_EQ(streams_.judge(0, 8), Receiver::Verdict::kOverrun) << "its pool is full";
    streams_.close_team(0, 5);
    EXPECT_EQ(streams_.judge(0, 8), Receiver::Verdict::kNew);
    EXPECT_EQ(streams_.counters().packets_dropped, 8u);
}

}  // namespace
}  // namespace tutti::mcast
