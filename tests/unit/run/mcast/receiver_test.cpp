// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/receiver.h"

#include <gtest/gtest.h>

#include "unit/run/mcast/support.h"

namespace tutti::mcast {
namespace {

using Verdict = Receiver::Verdict;

class ReceiverTest : public testing::Test {
  protected:
    Receiver receiver_{test_params(16, 1), 0};
    Prng prng_{1};
    std::array<std::byte, kControlBytesMax> out_{};
    std::array<std::byte, kControlBytesMax> kept_{};

    void get(uint64_t now_ns, uint64_t sequence, bool is_repair = false) {
        ASSERT_EQ(receiver_.judge(sequence, 0), Verdict::kNew);
        receiver_.accept(now_ns, sequence, is_repair, prng_);
    }
    // The NAK at its time; its ranges are valid until the next one.
    std::optional<Nak> nak(uint64_t now_ns) {
        const size_t bytes = receiver_.write_nak(now_ns, out_, prng_);
        if (bytes == 0) return {};
        kept_ = out_;
        return std::get<Nak>(parse(std::span<const std::byte>(kept_).first(bytes))->body);
    }
    void hear(uint64_t now_ns, Member asker, std::vector<Range> ranges, bool others = false) {
        receiver_.on_nak(now_ns, asker, OwnNak(0, std::move(ranges), others).nak, prng_);
    }
};

constexpr uint64_t kReorderNs = 50'000;   // the least wait; nothing is measured
constexpr uint64_t kBackoffNs = 100'000;  // the longest at first

TEST_F(ReceiverTest, InOrderNothingIsAskedFor) {
    for (uint64_t i = 0; i < 20; ++i) get(i, i);
    EXPECT_EQ(receiver_.received_end(), 20u);
    EXPECT_EQ(receiver_.nak_ns(), kNever);
    EXPECT_FALSE(receiver_.is_missing());
}

TEST_F(ReceiverTest, AGapIsAskedForAfterAShortWait) {
    get(0, 0);
    get(0, 3);
    EXPECT_EQ(receiver_.received_end(), 1u);
    EXPECT_GE(receiver_.nak_ns(), kReorderNs);
    EXPECT_LE(receiver_.nak_ns(), kReorderNs + kBackoffNs);
    const auto asked = nak(receiver_.nak_ns());
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->stream, 0);
    EXPECT_FALSE(asked->others_asked);
    ASSERT_EQ(asked->count(), 1u);
    EXPECT_EQ(asked->range(0).first, 1u);
    EXPECT_EQ(asked->range(0).count, 2u);
}

TEST_F(ReceiverTest, WhatWasOvertakenIsNotAskedFor) {
    get(0, 1);
    get(kReorderNs - 1, 0);
    EXPECT_EQ(receiver_.nak_ns(), kNever);
    EXPECT_FALSE(nak(kReorderNs + kBackoffNs));
    EXPECT_EQ(receiver_.received_end(), 2u);
}

TEST_F(ReceiverTest, TheWaitFollowsTheTimeBetweenPackets) {
    uint64_t now = 0;
    uint64_t sequence = 0;
    for (; sequence < 100; ++sequence) get(now += 200'000, sequence);
    get(now += 200'000, sequence + 1);
    // Three packets' time, a little less since the mean is rounded down.
    EXPECT_GE(receiver_.nak_ns(), now + 590'000);
    EXPECT_LE(receiver_.nak_ns(), now + 600'000 + kBackoffNs);
}

TEST_F(ReceiverTest, AHeartbeatRevealsALostLastPacket) {
    get(0, 0);
    receiver_.reveal(1000, 2, prng_);
    ASSERT_NE(receiver_.nak_ns(), kNever);
    EXPECT_EQ(nak(receiver_.nak_ns())->range(0).first, 1u);
    receiver_.reveal(2000, 2, prng_);
    get(3000, 1, true);
    EXPECT_EQ(receiver_.nak_ns(), kNever);
}

TEST_F(ReceiverTest, AsksAgainEverMoreRarelyButNeverAbove100Ms) {
    const Timing timing;
    get(0, 1);
    uint64_t asked_ns = receiver_.nak_ns();
    ASSERT_TRUE(nak(asked_ns));
    for (int i = 0; i < 20; ++i) {
        const uint64_t wait_ns = receiver_.nak_ns() - asked_ns;
        EXPECT_GE(wait_ns, timing.renak_ns_min);
        EXPECT_LE(wait_ns, timing.renak_ns_max + kBackoffNs);
        if (i < 2) {
            EXPECT_LE(wait_ns, timing.renak_ns_min + kBackoffNs);
        }
        asked_ns = receiver_.nak_ns();
        EXPECT_FALSE(nak(asked_ns - 300'000));
        ASSERT_TRUE(nak(asked_ns));
    }
    EXPECT_LT(timing.renak_ns_max + timing.backoff_ns_max, 100 * kMillisecond);
}

TEST_F(ReceiverTest, TheSecondVoiceSaysSo) {
    get(0, 1);
    hear(10, 5, {{0, 1}});
    const auto asked = nak(receiver_.nak_ns());
    ASSERT_TRUE(asked);
    EXPECT_TRUE(asked->others_asked);
}

TEST_F(ReceiverTest, TwoVoicesSilenceTheThird) {
    get(0, 1);
    const uint64_t due = receiver_.nak_ns();
    hear(10, 5, {{0, 1}});
    hear(20, 5, {{0, 1}});
    EXPECT_EQ(receiver_.nak_ns(), due) << "the same voice twice";
    hear(30, 6, {{0, 1}});
    EXPECT_GE(receiver_.nak_ns(), 30 + Timing{}.renak_ns_min);
    EXPECT_EQ(receiver_.counters().suppressed, 1u);
    // The repair did not come: it asks after all.
    EXPECT_TRUE(nak(receiver_.nak_ns()));
}

TEST_F(ReceiverTest, AVoiceThatKnowsOfAnotherIsEnough) {
    get(0, 1);
    hear(30, 6, {{0, 1}}, true);
    EXPECT_GE(receiver_.nak_ns(), 30 + Timing{}.renak_ns_min);
}

TEST_F(ReceiverTest, OthersAskingForOtherPacketsChangesNothing) {
    get(0, 1);
    const uint64_t due = receiver_.nak_ns();
    hear(10, 5, {{1, 7}}, true);
    EXPECT_EQ(receiver_.nak_ns(), due);
}

TEST_F(ReceiverTest, DuplicatesAndOverrunsAreTold) {
    get(0, 0);
    get(0, 2);
    EXPECT_EQ(receiver_.judge(0, 0), Verdict::kDuplicate);
    EXPECT_EQ(receiver_.judge(1, 0), Verdict::kNew);
    EXPECT_EQ(receiver_.judge(2, 0), Verdict::kDuplicate);
    EXPECT_EQ(receiver_.judge(8, 0), Verdict::kNew);
    EXPECT_EQ(receiver_.judge(9, 0), Verdict::kOverrun);
    // Two wait in the pool: so many fewer were granted.
    EXPECT_EQ(receiver_.judge(7, 2), Verdict::kNew);
    EXPECT_EQ(receiver_.judge(8, 2), Verdict::kOverrun);
}

TEST_F(ReceiverTest, AHeartbeatBeyondTheWindowIsCut) {
    receiver_.reveal(0, 1'000'000, prng_);
    EXPECT_EQ(receiver_.highest(), 8u);
}

TEST_F(ReceiverTest, GrantsWhatTheRestOfThePoolHolds) {
    EXPECT_EQ(receiver_.granted_end(0), 8u);
    for (uint64_t i = 0; i < 4; ++i) get(0, i);
    EXPECT_EQ(receiver_.granted_end(0), 12u);
    EXPECT_EQ(receiver_.granted_end(4), 8u);
    EXPECT_EQ(receiver_.granted_end(1), 11u);
    // What came early and was placed does not move the window.
    get(0, 6);
    EXPECT_EQ(receiver_.granted_end(0), 12u);
    EXPECT_EQ(receiver_.granted_end(1), 12u);
    EXPECT_EQ(receiver_.granted_end(3), 10u);
}

TEST_F(ReceiverTest, MeasuresTheRoundTripWhereAtMostTwoNaksWereSent) {
    get(0, 1);
    const uint64_t asked = receiver_.nak_ns();
    ASSERT_TRUE(nak(asked));
    get(asked + 700, 0, true);
    EXPECT_EQ(receiver_.round_trip().mean_ns(), 700u);
    get(asked + 1000, 3);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(nak(receiver_.nak_ns()));
    get(asked + 90 * kMillisecond, 2, true);
    EXPECT_EQ(receiver_.round_trip().mean_ns(), 700u);
    EXPECT_EQ(receiver_.counters().repaired, 2u);
    EXPECT_EQ(receiver_.counters().repaired_in_10_ms, 1u);
}

TEST_F(ReceiverTest, JitterDoesNotMakeItPatient) {
    const Timing timing;
    // Answers after 0.2 and 8 ms in turn.
    uint64_t now = 0;
    uint64_t sequence = 0;
    for (int i = 0; i < 20; ++i) {
        get(now, sequence);
        get(now, sequence + 2);
        now = receiver_.nak_ns();
        ASSERT_TRUE(nak(now));
        now += (i % 2 == 0 ? 200 : 8'000) * kMicrosecond;
        get(now, sequence + 1, true);
        sequence += 3;
    }
    const RoundTrip& round_trip = receiver_.round_trip();
    const uint64_t patience = 2 * round_trip.mean_ns() + timing.renak_ns_min;
    ASSERT_GT(round_trip.timeout_ns(), patience);
    get(now, sequence + 1);
    now = receiver_.nak_ns();
    ASSERT_TRUE(nak(now));
    EXPECT_GE(receiver_.nak_ns(), now + patience);
    EXPECT_LE(receiver_.nak_ns(), now + patience + timing.backoff_ns_max);
}

TEST_F(ReceiverTest, ManyGapsTakeSeveralNaks) {
    Params params = test_params(16, 1);
    params.window_packets = 128;
    receiver_ = Receiver(params, 0);
    for (uint64_t i = 1; i < 100; i += 2) get(0, i);
    const uint64_t due = receiver_.nak_ns() + 250'000;
    const auto first = nak(due);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->count(), kNakRangesMax);
    EXPECT_LE(receiver_.nak_ns(), due);
    const auto second = nak(due);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->range(0).first, 2 * kNakRangesMax);
    EXPECT_EQ(second->count(), 50 - kNakRangesMax);
    EXPECT_FALSE(nak(due));
}

}  // namespace
}  // namespace tutti::mcast
