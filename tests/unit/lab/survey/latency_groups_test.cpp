// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/latency_groups.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/prng.h"
#include "lab/survey/experiment.h"

namespace tutti::survey {
namespace {

// Each pair measured once, up to so much longer.
std::vector<uint64_t> times(uint32_t hosts, double noise, uint64_t seed,
                            const std::function<double(uint32_t, uint32_t)>& time_ns) {
    Prng random(seed);
    std::vector<uint64_t> all(size_t{hosts} * hosts, kMissingNs);
    for (uint32_t one = 0; one < hosts; ++one) {
        for (uint32_t other = one + 1; other < hosts; ++other) {
            const double more = noise * static_cast<double>(random.below(1000)) / 1000;
            all[one * hosts + other] = static_cast<uint64_t>(time_ns(one, other) * (1 + more));
        }
    }
    return all;
}

TEST(LatencyGroups, TwoLevels) {
    const auto leaf = [](uint32_t host) { return host / 4; };
    const auto time = [&](uint32_t one, uint32_t other) {
        return leaf(one) == leaf(other) ? 4000.0 : leaf(one) / 2 == leaf(other) / 2 ? 6000 : 9000;
    };
    const auto first = times(16, 0.05, 1, time);
    const auto second = times(16, 0.05, 2, time);
    const auto found = latency_groups(16, first, second);
    ASSERT_EQ(found.size(), 2u);
    for (uint32_t host = 0; host < 16; ++host) {
        EXPECT_EQ(found[0][host], host / 8);
        EXPECT_EQ(found[1][host], host / 4);
    }
}

// What it takes longer with everybody says nothing about where it is.
TEST(LatencyGroups, ASlowHostIsWithItsMates) {
    const auto time = [](uint32_t one, uint32_t other) {
        return (one / 4 == other / 4 ? 4000.0 : 7000) + (one == 2 || other == 2 ? 5000 : 0);
    };
    const auto first = times(12, 0.05, 1, time);
    const auto second = times(12, 0.05, 2, time);
    const auto found = latency_groups(12, first, second);
    ASSERT_EQ(found.size(), 1u);
    for (uint32_t host = 0; host < 12; ++host) EXPECT_EQ(found[0][host], host / 4);
}

TEST(LatencyGroups, NoiseMakesNone) {
    for (const uint32_t hosts : {1u, 2u, 3u, 4u, 5u, 6u, 8u, 16u, 64u}) {
        for (uint64_t seed = 1; seed <= 200; ++seed) {
            const auto time = [](uint32_t, uint32_t) { return 4000.0; };
            const auto first = times(hosts, 0.6, seed, time);
            const auto second = times(hosts, 0.6, seed + 10'000, time);
            EXPECT_TRUE(latency_groups(hosts, first, second).empty()) << hosts << " " << seed;
        }
    }
}

TEST(LatencyGroups, NothingIsKnown) {
    const std::vector<uint64_t> none(64, kMissingNs);
    EXPECT_TRUE(latency_groups(8, none, none).empty());
}

}  // namespace
}  // namespace tutti::survey
