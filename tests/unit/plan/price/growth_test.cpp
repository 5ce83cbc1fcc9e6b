// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/growth.h"

#include <gtest/gtest.h>

namespace tutti::price {
namespace {

TEST(Growth, LogarithmsAreExactForPowersOfTwo) {
    EXPECT_EQ(log2_1024({1, 1}), 0u);
    EXPECT_EQ(log2_1024({4096, 8}), 9 * 1024u);
    EXPECT_EQ(log2_1024({3, 1}), 1623u);  // 1.58496
}

// 4 hosts on each of 2 switches up to 32 on each of 128.
constexpr Reach kReach{{32, 4}, {128, 2}};

TEST(Growth, EachLawMeetsItself) {
    // 100 for each doubling of hosts, 300 of switches.
    EXPECT_EQ(grown({500, 600, 800, 900}, kReach, Growth::kLogarithmic), 500 + 3 * 100 + 6 * 300u);
    // 7 a host of a switch, and one message more than there are hosts.
    EXPECT_EQ(grown({4 * 7 + 8, 8 * 7 + 16, 4 * 7 + 16, 8 * 7 + 32}, kReach, Growth::kLinear),
              32 * 7 + 4096u);
    // 1 - 1/h and 1 - 1/L.
    EXPECT_EQ(grown({750 + 500, 875 + 500, 750 + 750, 875 + 750}, kReach, Growth::kSaturating),
              968 + 992u);
}

TEST(Growth, NothingIsLessForMore) {
    EXPECT_EQ(grown({500, 400, 450, 300}, kReach, Growth::kLinear), 500u);
    EXPECT_EQ(grown({500, 400, 450, 300}, kReach, Growth::kLogarithmic), 500u);
    EXPECT_EQ(grown({50, 0, 50, 0}, kReach, Growth::kSaturating), 0u);
}

TEST(Growth, WhatIsCountedTellsTheLaw) {
    EXPECT_EQ(growth_towards({3, 4, 4, 5}, kReach, 12), Growth::kLogarithmic);
    EXPECT_EQ(growth_towards({7, 15, 15, 31}, kReach, 4095), Growth::kLinear);
    EXPECT_EQ(growth_towards({875, 937, 937, 969}, kReach, 999), Growth::kSaturating);
}

TEST(Growth, QuotientsOfLongTimes) {
    EXPECT_EQ(scaled(1000, {3, 2}), 1500u);
    constexpr uint64_t kHour = 3600 * 1'000'000'000ull;
    EXPECT_EQ(scaled(kHour, {2 * kHour, kHour}), 2 * kHour);
    EXPECT_NEAR(static_cast<double>(scaled(kHour - 1, {kHour, 3 * kHour})),
                static_cast<double>(kHour / 3), 1e6);
}

}  // namespace
}  // namespace tutti::price
