// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/lone_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tutti::survey {
namespace {

constexpr LonePairs::Length kLength{1'000'000, 64 << 10, 4 << 20};

// Both ways at that speed.
void answer(LonePairs& pairs, double bytes_per_ns) {
    const double time_ns = static_cast<double>(pairs.bytes()) / bytes_per_ns;
    pairs.take(std::vector<double>{time_ns, time_ns});
}

TEST(LonePairs, FindHowLongTransfersMustBe) {
    for (const double speed : {0.01, 0.5, 1.0, 100.0}) {
        LonePairs pairs(kLength);
        Prng random(1);
        pairs.begin({0, 1, 2, 3}, random);
        while (!pairs.knows_length()) answer(pairs, speed);
        const double wanted = std::clamp(speed * 1e6, static_cast<double>(kLength.bytes_min),
                                         static_cast<double>(kLength.bytes_max));
        EXPECT_NEAR(static_cast<double>(pairs.bytes()), wanted, 16 << 10) << speed;
    }
}

TEST(LonePairs, EachPairIsMeasuredOnce) {
    LonePairs pairs(kLength);
    Prng random(1);
    pairs.begin({0, 1, 2, 3, 4, 5}, random);
    while (!pairs.knows_length()) answer(pairs, 1);
    std::set<uint32_t> hosts;
    for (uint32_t pair = 0; pair < 3; ++pair) {
        EXPECT_FALSE(pairs.is_done());
        for (const Transfer& one : pairs.ask()) hosts.insert(one.from);
        answer(pairs, 1 + pair);
    }
    EXPECT_TRUE(pairs.is_done());
    EXPECT_EQ(hosts.size(), 6u);
    EXPECT_EQ(pairs.usual(), 3);  // a narrow link may hold up some
}

TEST(LonePairs, FailWhereNothingComes) {
    LonePairs pairs(kLength);
    Prng random(1);
    pairs.begin({0, 1, 2, 3}, random);
    for (uint32_t tries = 0; !pairs.is_done(); ++tries) {
        ASSERT_LT(tries, 100u);
        pairs.take(std::vector<double>{kNoSpeed, 1000});
    }
    EXPECT_TRUE(pairs.has_failed());
}

}  // namespace
}  // namespace tutti::survey
