// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/prober.h"

#include <gtest/gtest.h>

#include "unit/run/mcast/support.h"

namespace tutti::mcast {
namespace {

std::optional<Packet> next(Prober& prober, uint64_t now_ns, std::span<std::byte> out, Member& to) {
    const size_t bytes = prober.next_packet(now_ns, out, to);
    if (bytes == 0) return {};
    return parse(std::span<const std::byte>(out).first(bytes));
}

// Numbers of member 0's probes behind its row begin here.
constexpr uint32_t kBehindTrain = 1u << 16;

class ProberTest : public testing::Test {
  protected:
    std::array<std::byte, kControlBytesMax> out_{};
    Member to_ = kNobody;
};

// A row that left before a switch knew of all members would measure nothing.
TEST_F(ProberTest, MemberZeroSendsARowOfFullPacketsWhenAllHearAll) {
    Params params = test_params(2, 0);
    params.train_packets = 6;
    Prober prober(params);
    prober.start(0);
    ASSERT_TRUE(next(prober, 0, out_, to_));
    EXPECT_FALSE(next(prober, 0, out_, to_)) << "nobody has heard it";
    const std::byte all{3};
    prober.on_probe(10, 10, 1, {0, kNobody, false, false, 0, 0, {&all, 1}}, 100);
    prober.on_answer(20, 20, {0, 5});
    for (uint32_t i = 0; i < 6; ++i) {
        EXPECT_FALSE(prober.is_done());
        ASSERT_EQ(prober.next_packet(20, out_, to_), params.packet_bytes_max);
        const auto packet = parse(out_);
        ASSERT_TRUE(packet);
        EXPECT_TRUE(std::get<Probe>(packet->body).is_train);
        EXPECT_EQ(std::get<Probe>(packet->body).number, i);
    }
    EXPECT_TRUE(prober.is_done());
    const auto behind = next(prober, 20, out_, to_);
    ASSERT_TRUE(behind);
    EXPECT_FALSE(std::get<Probe>(behind->body).is_train);
    EXPECT_GE(std::get<Probe>(behind->body).number, kBehindTrain);
    EXPECT_FALSE(next(prober, 20, out_, to_));
}

TEST_F(ProberTest, TheRateIsThatOfTheSecondHalf) {
    Params params = test_params(4, 1);
    params.train_packets = 20;
    Prober prober(params);
    const std::byte heard{0};
    for (uint32_t i = 0; i < 20; ++i) {
        // A burst, then one packet of 1,000 bytes on the wire in a millisecond.
        const uint64_t now = i < 8 ? 0 : (i - 8) * kMillisecond;
        // All are looked at late and at once.
        prober.on_probe(50 * kMillisecond, now, 0, {i, kNobody, true, false, 0, 0, {&heard, 1}},
                        1000 - kWireBytes);
    }
    EXPECT_EQ(prober.bytes_per_s(), 1'000'000u);
    EXPECT_EQ(prober.own_bytes_per_s(), 1'000'000u);
}

TEST_F(ProberTest, WhatIsLostOfTheTrain) {
    const auto rate = [](auto is_lost) {
        Params params = test_params(4, 1);
        params.train_packets = 64;
        Prober prober(params);
        const std::byte heard{0};
        for (uint32_t i = 0; i < 64; ++i) {
            if (is_lost(i)) continue;
            const uint64_t now = i * kMillisecond;
            prober.on_probe(now, now, 0, {i, kNobody, true, false, 0, 0, {&heard, 1}},
                            1000 - kWireBytes);
        }
        return prober.own_bytes_per_s();
    };
    EXPECT_EQ(rate([](uint32_t i) { return i == 40 || i == 50 || i == 55; }), 1'000'000u);
    // A queue that takes every second packet.
    EXPECT_NEAR(static_cast<double>(rate([](uint32_t i) { return i % 2 == 1; })), 500'000, 20'000);
    // One of them is not enough.
    EXPECT_EQ(rate([](uint32_t i) { return i > 32; }), 0u);
}

TEST_F(ProberTest, KeepsItsProbesWhileTheTrainPasses) {
    Params params = test_params(4, 1);
    params.train_packets = 4;
    Prober prober(params);
    prober.start(0);
    ASSERT_TRUE(next(prober, 0, out_, to_));
    const std::byte heard{0};
    const uint64_t interval = params.timing.probe_ns;
    for (uint32_t i = 0; i < 3; ++i) {
        const uint64_t now = (i + 1) * (interval - 1);
        EXPECT_EQ(prober.next_packet(now, out_, to_), 0u);
        prober.on_probe(now, now, 0, {i, kNobody, true, false, 0, 0, {&heard, 1}}, 1000);
        EXPECT_EQ(prober.next_ns(), now + interval);
    }
    // It is over, or the rest is lost: on with it.
    const uint64_t last = 3 * (interval - 1) + 1;
    prober.on_probe(last, last, 0, {3, kNobody, true, false, 0, 0, {&heard, 1}}, 1000);
    EXPECT_EQ(prober.next_ns(), last - 1 + interval);
    EXPECT_TRUE(next(prober, last - 1 + interval, out_, to_));
}

TEST_F(ProberTest, AnswersWhomItIsToAnswer) {
    Prober prober(test_params(4, 1));
    prober.on_probe(0, 0, 2, {9, 3, false, false, 55, 0, {}}, 100);
    EXPECT_EQ(prober.next_ns(), kNever);
    prober.on_probe(0, 0, 2, {10, 1, false, false, 66, 0, {}}, 100);
    const auto packet = next(prober, 5, out_, to_);
    ASSERT_TRUE(packet);
    EXPECT_EQ(to_, 2);
    EXPECT_EQ(std::get<ProbeAnswer>(packet->body).number, 10u);
    EXPECT_EQ(std::get<ProbeAnswer>(packet->body).sent_ns, 66u);
    EXPECT_FALSE(next(prober, 5, out_, to_));
}

TEST_F(ProberTest, EndsAfterItsLastProbeWhateverItHears) {
    const Params params = test_params(4, 1);
    Prober prober(params);
    prober.start(0);
    uint32_t probes = 0;
    std::vector<int> asked(4, 0);
    while (!prober.is_done()) {
        ASSERT_NE(prober.next_ns(), kNever);
        if (const auto packet = next(prober, prober.next_ns(), out_, to_)) {
            ++probes;
            ++asked[std::get<Probe>(packet->body).answerer];
        }
    }
    EXPECT_EQ(probes, params.timing.probes_max);
    EXPECT_EQ(asked[1], 0);
    EXPECT_GT(asked[0], 10);
    EXPECT_GT(asked[2], 10);
    EXPECT_GT(asked[3], 10);
    EXPECT_FALSE(prober.all_hear_all());
    EXPECT_TRUE(prober.hears(1, 1));
    EXPECT_FALSE(prober.hears(1, 0));
}

TEST_F(ProberTest, IsDoneWhenItKnowsThatAllHearAll) {
    Prober prober(test_params(3, 1));
    prober.start(0);
    ASSERT_TRUE(next(prober, 0, out_, to_));
    prober.on_answer(800, 800, {0, 100});
    EXPECT_EQ(prober.round_trip_ns_min(), 700u);
    const std::byte all{7};
    const std::byte two{6};
    prober.on_probe(900, 900, 0, {kBehindTrain, kNobody, false, false, 0, 0, {&all, 1}}, 100);
    prober.on_probe(900, 900, 2, {0, kNobody, false, false, 0, 0, {&two, 1}}, 100);
    EXPECT_FALSE(prober.hears(2, 0));
    EXPECT_FALSE(prober.is_done());
    prober.on_probe(950, 950, 2, {1, kNobody, false, true, 0, 0, {&all, 1}}, 100);
    EXPECT_TRUE(prober.is_done());
    // It tells the others at once, and then only those that are not done.
    const auto packet = next(prober, 950, out_, to_);
    ASSERT_TRUE(packet);
    EXPECT_TRUE(std::get<Probe>(packet->body).is_done);
    EXPECT_EQ(prober.next_ns(), kNever);
    prober.on_probe(1000, 1000, 0, {5, kNobody, false, true, 0, 0, {&all, 1}}, 100);
    EXPECT_EQ(prober.next_ns(), kNever);
    prober.on_probe(1000, 1000, 0, {5, kNobody, false, false, 0, 0, {&all, 1}}, 100);
    EXPECT_NE(prober.next_ns(), kNever);
}

TEST_F(ProberTest, IsNotDoneBeforeTheTrainHasPassed) {
    const std::byte all{7};
    for (const bool last_is_lost : {false, true}) {
        Params params = test_params(3, 1);
        params.train_packets = 4;
        Prober prober(params);
        prober.start(0);
        prober.on_answer(800, 800, {0, 100});
        prober.on_probe(900, 900, 2, {0, kNobody, false, false, 0, 0, {&all, 1}}, 100);
        for (uint32_t i = 0; i < 3; ++i) {
            prober.on_probe(900, 900, 0, {i, kNobody, true, false, 0, 0, {&all, 1}}, 1000);
        }
        EXPECT_FALSE(prober.is_done());
        // From before the row, on another way.
        prober.on_probe(920, 920, 0, {7, kNobody, false, false, 0, 0, {&all, 1}}, 100);
        EXPECT_FALSE(prober.is_done());
        const uint32_t number = last_is_lost ? kBehindTrain : 3;
        prober.on_probe(950, 950, 0, {number, kNobody, !last_is_lost, false, 0, 0, {&all, 1}},
                        1000);
        EXPECT_TRUE(prober.is_done());
    }
}

}  // namespace
}  // namespace tutti::mcast
