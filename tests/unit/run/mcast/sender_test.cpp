// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/sender.h"

#include <gtest/gtest.h>

#include "unit/run/mcast/support.h"

namespace tutti::mcast {
namespace {

constexpr size_t kPayload = kControlBytesMax - kDataHeaderBytes;

class SenderTest : public testing::Test {
  protected:
    Sender sender_{test_params()};
    std::array<std::byte, kControlBytesMax> out_{};
    Member to_ = kNobody;
    std::vector<std::byte> data_;
    Outgoing message_;

    void write(uint64_t now_ns, size_t packets) {
        data_ = test_bytes(packets * kPayload);
        message_ = {{1, 2, 3, 4}, data_, 0, false};
        sender_.write(now_ns, message_);
    }
    std::optional<Packet> next(uint64_t now_ns) {
        const size_t bytes = sender_.next_packet(now_ns, out_, to_);
        if (bytes == 0) return {};
        return parse(std::span<const std::byte>(out_).first(bytes));
    }
    // Sequence numbers of the data packets that leave now.
    std::vector<uint64_t> drain(uint64_t now_ns) {
        std::vector<uint64_t> sent;
        while (const auto packet = next(now_ns)) {
            if (const auto* data = std::get_if<Data>(&packet->body)) sent.push_back(data->sequence);
        }
        return sent;
    }
    void nak(uint64_t now_ns, Member asker, std::vector<Range> ranges, bool others = false) {
        sender_.on_nak(now_ns, asker, OwnNak(0, std::move(ranges), others).nak);
    }
};

using Numbers = std::vector<uint64_t>;

TEST_F(SenderTest, CutsAMessageAndNamesItsParts) {
    data_ = test_bytes(kPayload + 3);
    message_ = {{1, 2, 3, 4}, data_, 0, false};
    EXPECT_TRUE(sender_.write(0, message_));
    const auto first = next(0);
    ASSERT_TRUE(first);
    EXPECT_EQ(to_, kEverybody);
    EXPECT_EQ(std::get<Data>(first->body).name, (MessageName{1, 2, 3, 4}));
    EXPECT_EQ(std::get<Data>(first->body).payload.size(), kPayload);
    const auto second = next(0);
    ASSERT_TRUE(second);
    EXPECT_EQ(std::get<Data>(second->body).sequence, 1u);
    EXPECT_EQ(std::get<Data>(second->body).offset, kPayload);
    EXPECT_EQ(std::get<Data>(second->body).total, kPayload + 3);
    EXPECT_EQ(std::get<Data>(second->body).payload.size(), 3u);
    EXPECT_FALSE(next(0));
}

TEST_F(SenderTest, AnEmptyMessageIsOnePacket) {
    write(0, 0);
    EXPECT_TRUE(message_.is_taken);
    EXPECT_EQ(drain(0), Numbers{0});
}

TEST_F(SenderTest, AnswersWhoAsksWhateverComesWithTheQuestion) {
    write(0, 1);
    EXPECT_EQ(drain(0), Numbers{0});
    sender_.on_ask(1);
    sender_.on_acknowledged({1, 9, 1});
    EXPECT_EQ(sender_.next_ns(), 1u);
    const auto answer = next(1);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(std::holds_alternative<Heartbeat>(answer->body));
    EXPECT_EQ(sender_.next_ns(), kNever);
}

TEST_F(SenderTest, KeepsToTheGrantAndToItsWindow) {
    write(0, 20);
    EXPECT_FALSE(message_.is_taken);
    EXPECT_EQ(message_.taken_bytes, 8 * kPayload);
    EXPECT_EQ(drain(0), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
    // Three are acknowledged, but only two more granted.
    sender_.on_acknowledged({3, 10, 3});
    EXPECT_FALSE(sender_.write(1, message_));
    EXPECT_EQ(message_.taken_bytes, 11 * kPayload);
    EXPECT_EQ(drain(1), (Numbers{8, 9}));
    sender_.on_acknowledged({3, 11, 3});
    EXPECT_EQ(drain(1), Numbers{10});
}

TEST_F(SenderTest, RepairsToTheOneThatAsks) {
    write(0, 4);
    drain(0);
    nak(10, 2, {{1, 1}, {3, 1}});
    const auto repair = next(10);
    ASSERT_TRUE(repair);
    EXPECT_EQ(to_, 2);
    EXPECT_TRUE(std::get<Data>(repair->body).is_repair);
    EXPECT_EQ(std::get<Data>(repair->body).sequence, 1u);
    EXPECT_EQ(drain(10), Numbers{3});
    EXPECT_EQ(sender_.counters().repairs_to_one, 2u);
}

TEST_F(SenderTest, RepairsToAllWhenSeveralAsk) {
    write(0, 4);
    drain(0);
    nak(10, 2, {{1, 1}});
    nak(10, 3, {{1, 1}});
    EXPECT_TRUE(next(10));
    EXPECT_EQ(to_, kEverybody);
    // One that knows of another is enough.
    nak(20, 2, {{2, 1}}, true);
    EXPECT_TRUE(next(20));
    EXPECT_EQ(to_, kEverybody);
}

TEST_F(SenderTest, AnswersOnceWithinTheHoldOff) {
    const uint64_t hold_off = test_params().timing.hold_off_ns;
    write(0, 4);
    drain(0);
    nak(10, 2, {{1, 1}});
    EXPECT_EQ(drain(10), Numbers{1});
    nak(10 + hold_off - 1, 2, {{1, 1}});
    EXPECT_EQ(drain(10 + hold_off - 1), Numbers{});
    EXPECT_EQ(sender_.counters().naks_held_off, 1u);
    // Another member cannot have got that one.
    nak(11, 3, {{1, 1}});
    EXPECT_EQ(drain(11), Numbers{1});
    EXPECT_EQ(to_, kEverybody);
    nak(12, 1, {{1, 1}});
    EXPECT_EQ(drain(12), Numbers{});
    nak(11 + hold_off, 2, {{1, 1}});
    EXPECT_EQ(drain(11 + hold_off), Numbers{1});
}

TEST_F(SenderTest, WhatIsAcknowledgedOrNeverSentIsNotRepaired) {
    write(0, 4);
    drain(0);
    sender_.on_acknowledged({2, 10, 2});
    nak(10, 2, {{0, 2}, {4, 100}});
    EXPECT_EQ(drain(10), Numbers{});
    // Acknowledged between the question and the answer.
    nak(20, 2, {{2, 1}});
    sender_.on_acknowledged({4, 12, 4});
    EXPECT_EQ(drain(20), Numbers{});
}

TEST_F(SenderTest, RepairsGoBeforeNewData) {
    Params params = test_params();
    params.bytes_per_s = 1'000'000;
    params.burst_bytes = 0;
    params.burst_ns = 0;
    sender_ = Sender(params);
    write(0, 3);
    ASSERT_TRUE(next(0));
    nak(1, 2, {{0, 1}});
    EXPECT_FALSE(next(1)) << "paced";
    const uint64_t ready = sender_.next_ns();
    EXPECT_EQ(ready, (kControlBytesMax + kWireBytes) * 1000);
    const auto packet = next(ready);
    ASSERT_TRUE(packet);
    EXPECT_TRUE(std::get<Data>(packet->body).is_repair);
}

// No timer is as fine as the gap between two packets of a fast link.
TEST_F(SenderTest, BurstsLastAsLongAsTimersTake) {
    Params params = test_params();
    params.window_packets = 256;
    sender_ = Sender(params);
    sender_.set_rate(1'000'000'000);
    write(0, 256);
    const uint64_t in_time = params.burst_ns / (kControlBytesMax + kWireBytes);
    const size_t sent = drain(0).size();
    EXPECT_GE(sent, in_time);
    EXPECT_LE(sent, in_time + 2);
}

TEST_F(SenderTest, HeartbeatsBackOffAndEndWhenAllIsAcknowledged) {
    write(0, 2);
    drain(0);
    const uint64_t first = test_params().timing.heartbeat_ns_first;
    uint64_t due = first;
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(sender_.next_ns(), due);
        const auto packet = next(due);
        ASSERT_TRUE(packet);
        const auto& beat = std::get<Heartbeat>(packet->body);
        EXPECT_EQ(beat.end, 2u);
        EXPECT_EQ(beat.asks, i >= 2);
        due += first << (i + 1);
    }
    sender_.on_acknowledged({2, 10, 2});
    EXPECT_EQ(sender_.next_ns(), kNever);
    EXPECT_TRUE(sender_.is_acknowledged());
}

TEST_F(SenderTest, HeartbeatsGoOnUntilAllIsAtItsPlace) {
    write(0, 2);
    drain(0);
    sender_.on_acknowledged({2, 10, 1});
    EXPECT_TRUE(sender_.is_acknowledged());
    EXPECT_EQ(sender_.placed_end(), 1u);
    for (int i = 0; i < 3; ++i) {
        const auto packet = next(sender_.next_ns());
        ASSERT_TRUE(packet);
        EXPECT_EQ(std::get<Heartbeat>(packet->body).asks, i >= 2);
    }
    // An older one takes nothing back.
    sender_.on_acknowledged({2, 10, 0});
    EXPECT_EQ(sender_.placed_end(), 1u);
    sender_.on_acknowledged({2, 10, 2});
    EXPECT_EQ(sender_.next_ns(), kNever);
}

TEST_F(SenderTest, ABlockedSenderAsksAtOnce) {
    write(0, 8);
    drain(0);
    sender_.on_acknowledged({8, 8, 8});
    EXPECT_EQ(sender_.next_ns(), kNever);
    write(100, 1);
    EXPECT_EQ(drain(100), Numbers{});
    const auto packet = next(100 + test_params().timing.heartbeat_ns_first);
    ASSERT_TRUE(packet);
    EXPECT_TRUE(std::get<Heartbeat>(packet->body).asks);
}

// The first heartbeat asks, at once where nothing is on its way, else behind the last packet.
TEST_F(SenderTest, WhoIsInAHurryAsksAtOnce) {
    sender_.hasten(5);
    EXPECT_EQ(sender_.next_ns(), kNever) << "there is nothing to ask for";
    write(5, 2);
    sender_.hasten(5);
    EXPECT_TRUE(std::holds_alternative<Data>(next(5)->body));
    EXPECT_TRUE(std::holds_alternative<Data>(next(5)->body));
    for (const uint64_t now : {5, 6}) {
        const auto packet = next(now);
        ASSERT_TRUE(packet);
        EXPECT_TRUE(std::get<Heartbeat>(packet->body).asks);
        EXPECT_EQ(std::get<Heartbeat>(packet->body).end, 2u);
        EXPECT_FALSE(next(now));
        EXPECT_GT(sender_.next_ns(), now) << "the next one takes its time";
        sender_.hasten(now + 1);
        EXPECT_EQ(sender_.next_ns(), now + 1);
    }
    sender_.on_acknowledged({2, 10, 2});
    EXPECT_EQ(sender_.next_ns(), kNever);
}

TEST_F(SenderTest, AnAskIsAnsweredOnce) {
    sender_.on_ask(5);
    sender_.on_ask(5);
    const auto packet = next(5);
    ASSERT_TRUE(packet);
    EXPECT_EQ(to_, kEverybody);
    EXPECT_FALSE(std::get<Heartbeat>(packet->body).asks);
    EXPECT_FALSE(next(5));
    EXPECT_EQ(sender_.next_ns(), kNever);
}

}  // namespace
}  // namespace tutti::mcast
