// SPDX-License-Identifier: BSD-3-Clause
// Of the lane itself; whole algorithms are priced in tests/unit/select/predict_test.cpp.
#include "price/lanes.h"

#include <gtest/gtest.h>

#include "unit/sched/schedules.h"

namespace tutti::price {
namespace {

constexpr uint64_t kLatency = 2000;

sched::Shape with_speeds(sched::Shape shape) {
    shape.message_speed = {kLatency, 8000};  // a byte takes 1 ns
    shape.multicast_speed = {30'000, 1000};  // and 8 ns
    return shape;
}

// 0 -> 1 -> 2, eight bytes each.
sched::Programs chain(const sched::Shape& shape) {
    return sched::written(shape, {1, 1, 2, 0},
                          {"send 0 to 1 output[0+8]\n",
                           "recv 0 from 0 output[0+8]\nround 1\nsend 0 to 2 output[0+8]\n",
                           "recv 0 from 1 output[0+8]\n"});
}

TEST(Lanes, StepsComeOneAfterTheOther) {
    const sched::Shape shape = with_speeds(sched::shape_of(TUTTI_BCAST, 3, 8));
    const LaneTimes times = followed_lane(shape, sched::alone(3), chain(shape), 1);
    EXPECT_EQ(times.first_ns, 2 * (kLatency + 8));
    // The next lane waits for rank 1, which takes part in both steps.
    EXPECT_EQ(times.next_ns, 2 * kLatency);
    // Many lanes share the latencies, until the bytes of the busiest are longer.
    EXPECT_EQ(followed_lane(shape, sched::alone(3), chain(shape), 1000).next_ns, 8u);
}

TEST(Lanes, AnEstimateTakesOneRankForAll) {
    const sched::Shape shape = with_speeds(sched::shape_of(TUTTI_BCAST, 3, 8));
    const LaneTimes times = estimated_lane(shape, *chain(shape)[1]);
    EXPECT_EQ(times.first_ns, 2 * kLatency + 8);
    EXPECT_EQ(times.next_ns, 8u);
}

TEST(Lanes, MulticastsCostOneLatencyAndTheirBytes) {
    const sched::Shape shape = with_speeds(sched::shape_of(TUTTI_BCAST, 2, 100));
    const sched::Programs programs = sched::written(
        shape, {1, 1, 1, 0, 1},
        {"multicast input[0+100] order 0\n", "recv_multicast from 0 output[0+100] order 0\n"});
    const LaneTimes times = followed_lane(shape, sched::alone(2), programs, 1);
    EXPECT_EQ(times.first_ns, 30'000 + 8 * 100u);
    EXPECT_EQ(times.next_ns, 8 * 100u);
}

}  // namespace
}  // namespace tutti::price
