// SPDX-License-Identifier: BSD-3-Clause
#include "run/adapt/skew.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace tutti::adapt {
namespace {

constexpr uint32_t kRanks = 12;
constexpr uint32_t kHosts = 3;
constexpr uint64_t kMost = 1000;
constexpr uint64_t kCalls = 2000;

uint32_t host_of(uint32_t rank) { return rank / (kRanks / kHosts); }

// By call and rank.
std::vector<std::vector<uint64_t>> all_of(Skew skew, uint64_t seed = 7) {
    const Delays delays{skew, kMost, seed, kRanks, kHosts};
    std::vector<std::vector<uint64_t>> all(kCalls);
    for (uint64_t call = 0; call < kCalls; ++call) {
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            all[call].push_back(delays.delay_ns(call, rank, host_of(rank)));
        }
    }
    return all;
}

TEST(Skew, HasNames) {
    for (const std::string_view name : kSkewNames) {
        ASSERT_TRUE(find_skew(name)) << name;
        EXPECT_EQ(skew_name(*find_skew(name)), name);
    }
    EXPECT_EQ(find_skew("node"), Skew::kNode);
    for (const char* bad : {"", "Node", "nod", "reports"}) EXPECT_FALSE(find_skew(bad)) << bad;
}

TEST(Skew, NobodyIsLateWithoutIt) {
    for (const auto& call : all_of(Skew::kNone)) {
        EXPECT_EQ(call, std::vector<uint64_t>(kRanks, 0));
    }
}

TEST(Skew, OneIsLateAndEachAtSomeTime) {
    std::set<uint32_t> seen;
    for (const auto& call : all_of(Skew::kOne)) {
        uint32_t late = 0;
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            ASSERT_TRUE(call[rank] == 0 || call[rank] == kMost);
            if (call[rank] == 0) continue;
            ++late;
            seen.insert(rank);
        }
        EXPECT_EQ(late, 1u);
    }
    EXPECT_EQ(seen.size(), kRanks);
}

TEST(Skew, AHostIsLateAsAWhole) {
    std::set<uint32_t> seen;
    for (const auto& call : all_of(Skew::kNode)) {
        std::set<uint32_t> late;
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            ASSERT_EQ(call[rank], call[host_of(rank) * (kRanks / kHosts)]);
            if (call[rank] == kMost) late.insert(host_of(rank));
        }
        ASSERT_EQ(late.size(), 1u);
        seen.insert(*late.begin());
    }
    EXPECT_EQ(seen.size(), kHosts);
}

TEST(Skew, OddRanksAreLate) {
    for (const auto& call : all_of(Skew::kAlternating)) {
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            EXPECT_EQ(call[rank], rank % 2 == 1 ? kMost : 0);
        }
    }
}

// The mean of a rank's delays, and how many are the most.
void expect_spread(Skew skew, double mean, double cut) {
    const auto all = all_of(skew);
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        double sum = 0;
        double most = 0;
        for (const auto& call : all) {
            ASSERT_LE(call[rank], kMost);
            sum += static_cast<double>(call[rank]);
            most += call[rank] == kMost ? 1 : 0;
        }
        // Five standard errors of 2,000 draws.
        EXPECT_NEAR(sum / kCalls, mean, 5 * 0.29 * kMost / 44.7) << rank;
        EXPECT_NEAR(most / kCalls, cut, 0.015) << rank;
    }
}

TEST(Skew, SpreadsAsItSays) {
    expect_spread(Skew::kUniform, kMost / 2.0, 1.0 / kMost);
    // The integral of an exponential that is cut at 4 times its mean, and what is cut: e^-4.
    expect_spread(Skew::kExponential, kMost / 4.0 * (1 - 0.0183), 0.0183);
}

TEST(Skew, IsAFunctionOfSeedCallAndRank) {
    for (const Skew skew : {Skew::kOne, Skew::kUniform, Skew::kExponential, Skew::kNode}) {
        const auto first = all_of(skew);
        EXPECT_EQ(first, all_of(skew));
        EXPECT_NE(first, all_of(skew, 8));
        EXPECT_NE(first[0], first[1]) << skew_name(skew);
    }
    // What a rank draws is not what its neighbour drew in the call before.
    const auto uniform = all_of(Skew::kUniform);
    uint64_t alike = 0;
    for (uint64_t call = 1; call < kCalls; ++call) {
        for (uint32_t rank = 1; rank < kRanks; ++rank) {
            alike += uniform[call][rank - 1] == uniform[call - 1][rank] ? 1 : 0;
        }
    }
    EXPECT_LT(alike, 100u);  // of 22,000, by one chance in 1,001
}

// Call after call, from the one that the seed says, and again.
TEST(Skew, IsReplayed) {
    const RecordedDelays recorded{{0, 10, 20}, {1, 0, 5}};
    const Delays delays{Skew::kReport, 20, 3, 3, 2, &recorded};
    for (uint64_t call = 0; call < 5; ++call) {
        for (uint32_t rank = 0; rank < 3; ++rank) {
            EXPECT_EQ(delays.delay_ns(call, rank, 1), recorded[(call + 1) % 2][rank]);
        }
    }
}

TEST(Skew, OfNothingIsNothing) {
    for (size_t i = 0; i < static_cast<size_t>(Skew::kReport); ++i) {
        const Delays delays{static_cast<Skew>(i), 0, 3, 1, 1};
        for (uint64_t call = 0; call < 10; ++call) EXPECT_EQ(delays.delay_ns(call, 0, 0), 0u);
    }
}

}  // namespace
}  // namespace tutti::adapt
