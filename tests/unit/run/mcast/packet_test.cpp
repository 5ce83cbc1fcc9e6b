// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/packet.h"

#include <gtest/gtest.h>

#include "unit/run/mcast/support.h"

namespace tutti::mcast {
namespace {

class Wire : public testing::Test {
  protected:
    std::array<std::byte, 2048> out_{};
    size_t bytes_ = 0;

    std::optional<Packet> there_and_back(const Body& body) {
        bytes_ = write({0xcafe, 3, body}, out_);
        return parse(std::span<const std::byte>(out_).first(bytes_));
    }
    std::optional<Packet> parse_changed(size_t at, uint8_t value) {
        std::array<std::byte, 2048> changed = out_;
        changed[at] = std::byte{value};
        return parse(std::span<const std::byte>(changed).first(bytes_));
    }
};

TEST_F(Wire, DataIsReadBackWithAllItsFields) {
    const auto payload = test_bytes(100);
    Data data{0x0102030405060708, {11, 12, 13, 14}, 5, 105, true, payload};
    const auto packet = there_and_back(data);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->group, 0xcafeu);
    EXPECT_EQ(packet->sender, 3);
    const auto& back = std::get<Data>(packet->body);
    EXPECT_EQ(back.sequence, 0x0102030405060708u);
    EXPECT_EQ(back.name, data.name);
    EXPECT_EQ(back.offset, 5u);
    EXPECT_EQ(back.total, 105u);
    EXPECT_TRUE(back.is_repair);
    EXPECT_TRUE(
        std::equal(payload.begin(), payload.end(), back.payload.begin(), back.payload.end()));
    EXPECT_EQ(bytes_, 64u + 100u);
}

// The layout that docs/protocol/multicast.md draws.
TEST_F(Wire, TheLayoutIsFixed) {
    const auto payload = test_bytes(1);
    std::fill(out_.begin(), out_.end(), std::byte{0xff});
    ASSERT_TRUE(there_and_back(Data{0x11, {0x22, 0x33, 0x44, 0x55}, 0x66, 0x67, true, payload}));
    const auto at = [&](size_t index) { return std::to_integer<int>(out_[index]); };
    for (size_t i = 0; i < 16; ++i) EXPECT_EQ(at(i), 0) << "the code is put in later";
    EXPECT_EQ(at(16), 0xc7);
    EXPECT_EQ(at(17), 2);
    EXPECT_EQ(at(18), 1);
    EXPECT_EQ(at(19), 1);
    EXPECT_EQ(at(20), 0xfe);
    EXPECT_EQ(at(21), 0xca);
    EXPECT_EQ(at(24), 3);
    for (size_t i = 26; i < 32; ++i) EXPECT_EQ(at(i), 0) << "the counter is put in later";
    EXPECT_EQ(at(34), 0x55);
    EXPECT_EQ(at(36), 0x11);
    EXPECT_EQ(at(44), 0x22);
    EXPECT_EQ(at(48), 0x33);
    EXPECT_EQ(at(52), 0x44);
    EXPECT_EQ(at(56), 0x66);
    EXPECT_EQ(at(60), 0x67);
    EXPECT_EQ(at(64), 5);
    number(out_, 0x060504030201, 0x0908);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(at(26 + static_cast<size_t>(i)), i + 1);
    EXPECT_EQ(at(32), 8);
    EXPECT_EQ(at(33), 9);
    EXPECT_EQ(at(34), 0x55) << "what stands behind is left alone";
}

TEST_F(Wire, ControlPacketsAreReadBack) {
    auto packet = there_and_back(Heartbeat{9, 8, true});
    ASSERT_TRUE(packet);
    EXPECT_EQ(std::get<Heartbeat>(packet->body).end, 9u);
    EXPECT_EQ(std::get<Heartbeat>(packet->body).number, 8u);
    EXPECT_TRUE(std::get<Heartbeat>(packet->body).asks);

    packet = there_and_back(Ack{2, 100, 130, 90});
    ASSERT_TRUE(packet);
    EXPECT_EQ(std::get<Ack>(packet->body).stream, 2);
    EXPECT_EQ(std::get<Ack>(packet->body).received_end, 100u);
    EXPECT_EQ(std::get<Ack>(packet->body).granted_end, 130u);
    EXPECT_EQ(std::get<Ack>(packet->body).placed_end, 90u);

    packet = there_and_back(Ask{4, 2, 77});
    ASSERT_TRUE(packet);
    EXPECT_EQ(std::get<Ask>(packet->body).number, 4u);
    EXPECT_EQ(std::get<Ask>(packet->body).stream, 2);
    EXPECT_EQ(std::get<Ask>(packet->body).end, 77u);

    packet = there_and_back(Failure{6, Failure::Phase::kFlushed});
    ASSERT_TRUE(packet);
    EXPECT_EQ(std::get<Failure>(packet->body).dead, 6);
    EXPECT_EQ(std::get<Failure>(packet->body).phase, Failure::Phase::kFlushed);

    packet = there_and_back(ProbeAnswer{7, 70});
    ASSERT_TRUE(packet);
    EXPECT_EQ(std::get<ProbeAnswer>(packet->body).number, 7u);
    EXPECT_EQ(std::get<ProbeAnswer>(packet->body).sent_ns, 70u);

    const auto heard = test_bytes(2);
    packet = there_and_back(Probe{1, 2, false, true, 3, 4, heard});
    ASSERT_TRUE(packet);
    const auto& probe = std::get<Probe>(packet->body);
    EXPECT_EQ(probe.number, 1u);
    EXPECT_EQ(probe.answerer, 2);
    EXPECT_FALSE(probe.is_train);
    EXPECT_TRUE(probe.is_done);
    EXPECT_EQ(probe.sent_ns, 3u);
    EXPECT_EQ(probe.bytes_per_s, 4u);
    EXPECT_EQ(probe.heard.size(), 2u);
}

TEST_F(Wire, NaksCarryRanges) {
    const OwnNak own(5, {{1000, 1}, {1002, 7}, {1200, 2}}, true);
    const auto packet = there_and_back(own.nak);
    ASSERT_TRUE(packet);
    const auto& nak = std::get<Nak>(packet->body);
    EXPECT_EQ(nak.stream, 5);
    EXPECT_TRUE(nak.others_asked);
    ASSERT_EQ(nak.count(), 3u);
    EXPECT_EQ(nak.range(1).first, 1002u);
    EXPECT_EQ(nak.range(1).count, 7u);
    EXPECT_EQ(nak.range(2).first, 1200u);
}

TEST_F(Wire, RangesMustAscendAndBeSane) {
    EXPECT_TRUE(there_and_back(OwnNak(5, {{10, 2}, {12, 1}}).nak));
    EXPECT_FALSE(there_and_back(OwnNak(5, {{10, 3}, {12, 1}}).nak));
    EXPECT_FALSE(there_and_back(OwnNak(5, {{10, 0}}).nak));
    EXPECT_FALSE(there_and_back(OwnNak(5, {{kSequenceMax - 1, 2}}).nak));
    EXPECT_FALSE(there_and_back(Nak{5, false, 10, {}}));
}

TEST_F(Wire, DataMustLieInItsMessage) {
    const auto payload = test_bytes(10);
    EXPECT_TRUE(there_and_back(Data{0, {}, 10, 20, false, payload}));
    EXPECT_FALSE(there_and_back(Data{0, {}, 11, 20, false, payload}));
    EXPECT_FALSE(there_and_back(Data{0, {}, UINT32_MAX, UINT32_MAX, false, payload}));
    EXPECT_FALSE(there_and_back(Data{kSequenceMax, {}, 10, 20, false, payload}));
    EXPECT_TRUE(there_and_back(Data{0, {}, 0, 0, false, {}}));
    EXPECT_FALSE(there_and_back(Data{0, {}, 0, 1, false, {}}));
    EXPECT_FALSE(there_and_back(Ack{0, 11, 10}));
    EXPECT_FALSE(there_and_back(Ack{0, 10, 20, 11}));
}

TEST_F(Wire, WhatIsNotOursIsNotRead) {
    ASSERT_TRUE(there_and_back(Heartbeat{9, 8, true}));
    EXPECT_FALSE(parse_changed(16, 0));  // magic
    EXPECT_FALSE(parse_changed(17, 1));  // version
    EXPECT_FALSE(parse_changed(18, 0));  // kind
    EXPECT_FALSE(parse_changed(18, 9));
    EXPECT_FALSE(parse_changed(19, 2));     // flags
    EXPECT_FALSE(parse_changed(33, 0x10));  // to a member that cannot be
    EXPECT_FALSE(parse({}));
}

TEST_F(Wire, EveryCutIsRefused) {
    const auto payload = test_bytes(10);
    const OwnNak own(5, {{10, 2}, {15, 1}});
    const Body bodies[] = {Heartbeat{}, own.nak, Ack{},         Ask{},
                           Failure{},   Probe{}, ProbeAnswer{}, Data{0, {}, 0, 10, false, {}}};
    for (const Body& body : bodies) {
        there_and_back(body);
        for (size_t cut = 0; cut < bytes_; ++cut) {
            // A NAK that is cut between ranges is a shorter NAK; the code over the packet sees
            // that.
            if (std::holds_alternative<Nak>(body) && cut == bytes_ - 8) continue;
            EXPECT_FALSE(parse(std::span<const std::byte>(out_).first(cut))) << body.index();
        }
    }
}

TEST_F(Wire, ARepairIsTheSamePacketWithAFlag) {
    const auto payload = test_bytes(10);
    ASSERT_TRUE(there_and_back(Data{1, {}, 0, 10, false, payload}));
    mark_repair(std::span<std::byte>(out_).first(bytes_));
    const auto packet = parse(std::span<const std::byte>(out_).first(bytes_));
    ASSERT_TRUE(packet);
    EXPECT_TRUE(std::get<Data>(packet->body).is_repair);
}

TEST_F(Wire, CounterAndDestinationAreReadBack) {
    ASSERT_TRUE(there_and_back(Ask{4, 2, 77}));
    for (const uint64_t counter : {uint64_t{1}, uint64_t{0x0102030405}, kCounterMax}) {
        for (const Member to : {Member{0}, Member{4095}, kEverybody}) {
            number(out_, counter, to);
            const auto packet = parse(std::span<const std::byte>(out_).first(bytes_));
            ASSERT_TRUE(packet);
            EXPECT_EQ(packet->counter, counter);
            EXPECT_EQ(packet->to, to);
            EXPECT_EQ(packet->group, 0xcafeu);
            EXPECT_EQ(packet->sender, 3);
            EXPECT_EQ(std::get<Ask>(packet->body).number, 4u);
        }
    }
}

TEST(Packet, TheGroupBeforeAllElse) {
    std::vector<std::byte> bytes(kControlBytesMax);
    const size_t used = write({0x89abcdef, 3, Ask{1}}, bytes);
    EXPECT_EQ(group_of(std::span(bytes).first(used)), 0x89abcdefu);
    EXPECT_EQ(group_of(std::span(bytes).first(kHeaderBytes)), 0x89abcdefu);
    EXPECT_FALSE(group_of(std::span(bytes).first(kHeaderBytes - 1)));
}

}  // namespace
}  // namespace tutti::mcast
