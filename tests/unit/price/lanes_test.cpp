// SPDX-License-Identifier: BSD-3-Clause
// Of the lane itself; whole algorithms are priced in tests/unit/select/predict_test.cpp.
#include "price/lanes.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <optional>
#include <vector>

#include "sched/shortened.h"
#include "unit/sched/schedules.h"

namespace tutti::price {
namespace {

constexpr uint64_t kLatency = 2000;

// A byte takes 1 ns, multicast 8 ns.
Network network(uint32_t hosts) {
    return Network::measured(hosts, {kLatency, 8000}, {30'000, 1000});
}

std::optional<LaneTimes> times_of(const Network& network, const sched::Programs& programs,
                                  uint64_t count = 1, uint32_t in_flight = 1) {
    std::vector<uint32_t> host_of(programs.size());
    std::iota(host_of.begin(), host_of.end(), 0);
    const auto program = [&](sched::Rank rank) {
        return sched::shortened(*programs[rank], {}, {});
    };
    const Lanes lanes{.participants = static_cast<sched::Rank>(programs.size()),
                      .program = program,
                      .host_of = host_of,
                      .count = count,
                      .in_flight = in_flight};
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

}  // namespace
}  // namespace tutti::price
