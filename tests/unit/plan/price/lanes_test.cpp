// SPDX-License-Identifier: BSD-3-Clause
// Of the lane itself; whole algorithms are priced in tests/unit/plan/select/predict_test.cpp.
#include "plan/price/lanes.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/sched/shortened.h"
#include "unit/plan/sched/schedules.h"

namespace tutti::price {
namespace {

constexpr uint64_t kLatency = 2000;

// A byte takes 1 ns, multicast 8 ns.
Network network(uint32_t hosts) {
    return Network::measured(hosts, {kLatency, 8000}, {30'000, 1000});
}

std::optional<LaneTimes> times_of(const Network& network, const sched::Programs& programs,
                                  uint64_t count = 1, uint32_t in_flight = 1,
                                  sched::Stretch alike = {},
                                  std::span<const uint64_t> late_ns = {}) {
    std::vector<uint32_t> host_of(programs.size());
    std::iota(host_of.begin(), host_of.end(), 0);
    const auto program = [&](sched::Rank rank) {
        return sched::shortened(*programs[rank], {}, {});
    };
    const Lanes lanes{.participants = static_cast<sched::Rank>(programs.size()),
                      .program = program,
                      .host_of = host_of,
                      .count = count,
                      .in_flight = in_flight,
                      .alike = {alike},
                      .late_ns = late_ns};
    return followed_lanes(network, {}, lanes);
}

// 0 -> 1 -> 2, eight bytes each.
sched::Programs chain(const sched::Shape& shape) {
    return sched::written(shape, {1, 1, 2, 0},
                          {"send 0 to 1 output[0+8]\n",
                           "recv 0 from 0 output[0+8]\nround 1\nsend 0 to 2 output[0+8]\n",
                           "recv 0 from 1 output[0+8]\n"});
}

TEST(Lanes, MessagesComeOneAfterTheOther) {
    const auto programs = chain(sched::shape_of(TUTTI_BCAST, 3, 8));
    const auto times = times_of(network(3), programs);
    ASSERT_TRUE(times);
    EXPECT_EQ(times->first_ns, 2 * (kLatency + 8));
    EXPECT_EQ(times->all_ns, times->first_ns);
}

// What is on its way already is not waited for, and who is late has no part in what comes before
// it.
TEST(Lanes, FromTheLastArrivalOn) {
    const auto programs = chain(sched::shape_of(TUTTI_BCAST, 3, 8));
    constexpr uint64_t kHop = kLatency + 8;
    constexpr uint64_t kLong = 1'000'000;
    const auto late = [&](std::array<uint64_t, 3> late_ns) {
        return times_of(network(3), programs, 1, 1, {}, late_ns)->first_ns;
    };
    EXPECT_EQ(late({0, 0, 0}), 2 * kHop);
    EXPECT_EQ(late({kLong, 0, 0}), 2 * kHop);
    EXPECT_EQ(late({0, kLong, 0}), kHop);
    EXPECT_EQ(late({0, 0, kLong}), 0u);
    EXPECT_EQ(late({0, 0, 500}), 2 * kHop - 500);
}

// Lanes follow each other over the same links. If one alone may be under way, it waits for rank 1,
// which is in it from the first message on until its own has left.
TEST(Lanes, LanesAreAPipeline) {
    const auto programs = chain(sched::shape_of(TUTTI_BCAST, 3, 8));
    EXPECT_EQ(times_of(network(3), programs, 10, 10)->all_ns, 2 * (kLatency + 8) + 9 * 8);
    EXPECT_EQ(times_of(network(3), programs, 10, 1)->all_ns,
              2 * (kLatency + 8) + 9 * (kLatency + 8 + 8));
}

// The root sends to both at once, but by one link.
TEST(Lanes, MessagesShareALink) {
    const sched::Shape shape = sched::shape_of(TUTTI_BCAST, 3, 100);
    const auto programs =
        sched::written(shape, {1, 1, 1, 0},
                       {"send 0 to 1 output[0+100]\nsend 1 to 2 output[0+100]\n",
                        "recv 0 from 0 output[0+100]\n", "recv 1 from 0 output[0+100]\n"});
    const auto times = times_of(network(3), programs);
    ASSERT_TRUE(times);
    EXPECT_EQ(times->first_ns, kLatency + 2 * 100);
}

// Two switches, one link between them at a quarter of the rate, and foreign traffic there.
TEST(Lanes, LinksBetweenSwitchesAreShared) {
    const sched::Shape shape = sched::shape_of(TUTTI_BCAST, 4, 100);
    const auto programs =
        sched::written(shape, {1, 1, 1, 0},
                       {"send 0 to 2 output[0+100]\n", "send 0 to 3 output[0+100]\n",
                        "recv 0 from 0 output[0+100]\n", "recv 0 from 1 output[0+100]\n"});
    Network two = network(0);
    const std::array<uint32_t, 2> hosts = {2, 2};
    const auto latency_ns = two.fabric.latency_ns;
    const auto rate = two.fabric.host_bits_per_s;
    two.fabric = topo::Fabric::leaves(hosts);
    two.fabric.latency_ns = latency_ns;
    two.fabric.host_bits_per_s = rate;
    two.fabric.trunk_bits_per_s = rate / 4;
    // Four links, each of half a latency; the second message waits for the first.
    EXPECT_EQ(times_of(two, programs)->first_ns, 2 * kLatency + 2 * 400);
    two.foreign_permille = 1500;
    EXPECT_EQ(times_of(two, programs)->first_ns, 2 * kLatency + 2 * 600);
    two.payload_permille = 500;
    EXPECT_EQ(times_of(two, programs)->first_ns, 2 * kLatency + 2 * 1200);
}

// A request and its answer before a long message, work of the processors before any.
TEST(Lanes, LongMessagesAskFirst) {
    const auto programs = chain(sched::shape_of(TUTTI_BCAST, 3, 8));
    Network asks = network(3);
    asks.eager_bytes_max = 7;
    EXPECT_EQ(times_of(asks, programs)->first_ns, 2 * (3 * kLatency + 8));
    Network works = network(3);
    works.message_ns = 10;
    EXPECT_EQ(times_of(works, programs)->first_ns, 2 * (10 + kLatency + 8));
}

// What a link saves within its burst it saves once: many messages pass at the rate.
TEST(Lanes, ABurstPassesAtOnce) {
    const auto programs = chain(sched::shape_of(TUTTI_BCAST, 3, 8));
    Network bucket = network(3);
    bucket.burst_bytes = 8;
    EXPECT_EQ(times_of(bucket, programs)->first_ns, 2 * kLatency);
    EXPECT_EQ(times_of(bucket, programs, 10, 10)->all_ns, 2 * kLatency + 9 * 8);
    bucket.burst_bytes = 5;
    EXPECT_EQ(times_of(bucket, programs)->first_ns, 2 * (kLatency + 3));
    const auto from_root =
        sched::written(sched::shape_of(TUTTI_BCAST, 3, 100), {1, 1, 1, 0},
                       {"send 0 to 1 output[0+100]\nsend 1 to 2 output[0+100]\n",
                        "recv 0 from 0 output[0+100]\n", "recv 1 from 0 output[0+100]\n"});
    bucket.burst_bytes = 130;
    EXPECT_EQ(times_of(bucket, from_root)->first_ns, kLatency + 2 * 100 - 130);
    // Of the rate, headers included.
    bucket.payload_permille = 500;
    EXPECT_EQ(times_of(bucket, from_root)->first_ns, kLatency + 2 * 200 - 130);
}

// Two hosts send each other 3000 bytes 40 times, each time what has come. 1000 bytes of the burst
// go in each of the first rounds, since a latency has let 2000 come back; then the rate is all.
TEST(Lanes, ABurstRunsOut) {
    sched::Lines bodies(2);
    for (int k = 0; k < 40; ++k) {
        for (int rank = 0; rank < 2; ++rank) {
            bodies[rank] += k == 0 ? "" : "round " + std::to_string(k) + "\n";
            bodies[rank] += "send " + std::to_string(k) + " to " + std::to_string(1 - rank) +
                            (k % 2 == 0 ? " output[0+3000]\n" : " output[3000+3000]\n");
            bodies[rank] += "recv " + std::to_string(k) + " from " + std::to_string(1 - rank) +
                            (k % 2 == 0 ? " output[3000+3000]\n" : " output[0+3000]\n");
        }
    }
    const auto programs =
        sched::written(sched::shape_of(TUTTI_ALLREDUCE, 2, 6000), {1, 1, 40, 0}, bodies);
    Network bucket = network(2);
    EXPECT_EQ(times_of(bucket, programs)->first_ns, 40 * (kLatency + 3000));
    bucket.burst_bytes = 42'000;
    EXPECT_EQ(times_of(bucket, programs)->first_ns, 40 * kLatency);
    bucket.burst_bytes = 20'000;
    const uint64_t rated_ns = kLatency + 40 * 3000 - 20'000;
    EXPECT_EQ(times_of(bucket, programs)->first_ns, rated_ns);
    // And where four rounds are followed, all within the burst.
    EXPECT_EQ(times_of(bucket, programs, 1, 1, {0, 40})->first_ns, rated_ns);
    EXPECT_EQ(times_of(bucket, programs, 3, 3, {0, 40})->all_ns, rated_ns + 2 * 40 * 3000);
}

sched::Programs exchange(uint64_t bytes) {
    const std::string area = " output[0+" + std::to_string(bytes) + "]\n";
    return sched::written(sched::shape_of(TUTTI_BCAST, 2, bytes), {1, 1, 1, 0},
                          {"send 0 to 1" + area + "recv 0 from 1" + area,
                           "send 0 to 0" + area + "recv 0 from 0" + area});
}

// From when the first byte comes on, half a latency after the first one left, both ways are busy.
TEST(Lanes, BothWaysOfALinkTakeLonger) {
    constexpr uint64_t kBytes = 10'000;
    const auto programs = exchange(kBytes);
    Network slower = network(2);
    EXPECT_EQ(times_of(slower, programs)->first_ns, kLatency + kBytes);
    slower.both_ways_permille = 1500;
    EXPECT_EQ(times_of(slower, programs)->first_ns,
              kLatency + kBytes + (kBytes - kLatency / 2) / 2);
    EXPECT_EQ(times_of(slower, programs, 10, 10)->all_ns, kLatency + 10 * kBytes * 3 / 2);
    // Only of messages that ask first, two ways before they set out.
    Network long_ones = network(2);
    long_ones.eager_bytes_max = kBytes - 1;
    long_ones.long_both_ways_permille = 1500;
    EXPECT_EQ(times_of(long_ones, programs)->first_ns,
              3 * kLatency + kBytes + (kBytes - kLatency / 2) / 2);
    long_ones.eager_bytes_max = kBytes;
    EXPECT_EQ(times_of(long_ones, programs)->first_ns, kLatency + kBytes);
    // One way at a time.
    const auto there = chain(sched::shape_of(TUTTI_BCAST, 3, 8));
    Network three = network(3);
    three.both_ways_permille = 1500;
    EXPECT_EQ(times_of(three, there)->first_ns, times_of(network(3), there)->first_ns);
}

// The second one's answer waits behind the first one's message, and then has its way to go.
TEST(Lanes, LongMessagesGoInTurn) {
    Network turns = network(2);
    turns.eager_bytes_max = 999;
    EXPECT_EQ(times_of(turns, exchange(1000))->first_ns, 3 * kLatency + 1000);
    turns.long_in_turn = true;
    EXPECT_EQ(times_of(turns, exchange(1000))->first_ns, 3 * kLatency + 1000 + kLatency + 1000);
    EXPECT_EQ(times_of(turns, exchange(999))->first_ns, kLatency + 999);
    // To others they do not.
    Network three = network(3);
    three.eager_bytes_max = 999;
    three.long_in_turn = true;
    const auto ring =
        sched::written(sched::shape_of(TUTTI_BCAST, 3, 1000), {1, 1, 1, 0},
                       {"send 0 to 1 output[0+1000]\nrecv 0 from 2 output[0+1000]\n",
                        "send 0 to 2 output[0+1000]\nrecv 0 from 0 output[0+1000]\n",
                        "send 0 to 0 output[0+1000]\nrecv 0 from 1 output[0+1000]\n"});
    EXPECT_EQ(times_of(three, ring)->first_ns, 3 * kLatency + 1000);
}

TEST(Lanes, AnEstimateTakesOneRankForAll) {
    const sched::Shape shape = sched::shape_of(TUTTI_BCAST, 3, 8);
    const auto programs = chain(shape);
    const std::vector<uint32_t> host_of = {0, 1, 2};
    const Lanes lanes{
        .participants = 3,
        .program = [&](sched::Rank rank) { return sched::shortened(*programs[rank], {}, {}); },
        .host_of = host_of,
        .count = 5};
    const LaneTimes times = estimated_lanes(network(3), {}, lanes, 1);
    EXPECT_EQ(times.first_ns, 2 * kLatency + 8);
    EXPECT_EQ(times.all_ns, 2 * kLatency + 5 * 8);
    Network other = network(3);
    other.both_ways_permille = 1500;
    EXPECT_EQ(estimated_lanes(other, {}, lanes, 1).all_ns, 2 * kLatency + 5 * 12);
    other.burst_bytes = 20;
    EXPECT_EQ(estimated_lanes(other, {}, lanes, 1).first_ns, 2 * kLatency);
    EXPECT_EQ(estimated_lanes(other, {}, lanes, 1).all_ns, 2 * kLatency + 5 * 12 - 20);
}

TEST(Lanes, MulticastsCostOneLatencyAndTheirBytes) {
    const sched::Shape shape = sched::shape_of(TUTTI_BCAST, 2, 100);
    const sched::Programs programs = sched::written(
        shape, {1, 1, 1, 0, 1},
        {"multicast input[0+100] order 0\n", "recv_multicast from 0 output[0+100] order 0\n"});
    const auto times = times_of(network(2), programs);
    ASSERT_TRUE(times);
    EXPECT_EQ(times->first_ns, 30'000 + 8 * 100u);
    EXPECT_EQ(times_of(network(2), programs, 3)->all_ns, 30'000 + 3 * 8 * 100u);
}

// Rank 1's link carries both what rank 0 multicasts and what rank 2 sends.
TEST(Lanes, MulticastsTakeTheLinksOfMessages) {
    const sched::Shape shape = sched::shape_of(TUTTI_BCAST, 3, 1000);
    const sched::Programs programs = sched::written(
        shape, {1, 1, 1, 0, 1},
        {"multicast input[0+500] order 0\n",
         "recv_multicast from 0 output[0+500] order 0\nrecv 0 from 2 output[0+1000]\n",
         "recv_multicast from 0 output[0+500] order 0\nsend 0 to 1 output[0+1000]\n"});
    Network fast = network(3);
    fast.multicast.mbit = 8000;  // as fast as links are
    EXPECT_EQ(times_of(fast, programs)->first_ns, 30'000 + 500);
    // In one lane alone that link is busy from 0 to 2000, with a pause.
    EXPECT_EQ(times_of(fast, programs, 10, 10)->all_ns, 30'000 + 500 + 10 * 1500 - 2000);
}

}  // namespace
}  // namespace tutti::price
