// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/backoff.h"

#include <gtest/gtest.h>

#include "run/mcast/round_trip.h"

namespace tutti::mcast {
namespace {

// Of 1,000 draws: how many in the first and the last quarter.
std::pair<int, int> quarters(uint32_t members) {
    Prng prng(1);
    std::pair<int, int> count{0, 0};
    for (int i = 0; i < 1000; ++i) {
        const uint64_t ns = draw_backoff_ns(prng, 1000, members);
        EXPECT_LE(ns, 1000u);
        if (ns < 250) ++count.first;
        if (ns >= 750) ++count.second;
    }
    return count;
}

TEST(Backoff, FewAreEarlyAndFewerTheMoreMembersThereAre) {
    const auto two = quarters(2);
    const auto many = quarters(1000);
    EXPECT_GT(two.first, 50);
    EXPECT_LT(many.first, 20);
    EXPECT_GT(many.second, 800);
    EXPECT_GT(many.second, two.second);
}

TEST(RoundTrip, FollowsRfc6298) {
    RoundTrip round_trip;
    EXPECT_EQ(round_trip.mean_ns(), 0u);
    round_trip.add(800);
    EXPECT_EQ(round_trip.mean_ns(), 800u);
    EXPECT_EQ(round_trip.timeout_ns(), 800u + 4 * 400);
    round_trip.add(1600);
    EXPECT_EQ(round_trip.mean_ns(), 900u);
    EXPECT_EQ(round_trip.timeout_ns(), 900u + 4 * 500);
}

}  // namespace
}  // namespace tutti::mcast
