// SPDX-License-Identifier: BSD-3-Clause
#include "run/multicast/network_choice.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "run/multicast/team_multicast.h"

namespace tutti::test {
namespace {

using multicast::is_next_faster;
using multicast::NetworkChoice;
using multicast::Predicted;

Predicted predicted(uint64_t latency_ns, uint64_t bytes_per_s) {
    multicast::AgreedMulticast facts;
    facts.latency_ns = latency_ns;
    facts.bytes_per_s = bytes_per_s;
    return multicast::predict(facts);
}

TEST(NetworkChoice, ABroadcastIsALatencyAndItsBytes) {
    const Predicted one = predicted(10'000, 1'000'000'000);
    EXPECT_EQ(one.short_ns, 10'000u + 8);
    EXPECT_EQ(one.long_ns, 10'000u + 65'536);
    EXPECT_EQ(predicted(10'000, 3).short_ns, 10'000u + 2'666'666'667);
}

TEST(NetworkChoice, TheFasterOneIsTaken) {
    const Predicted slow = predicted(30'000, 100'000'000);
    const Predicted fast = predicted(3'000, 3'000'000'000);
    EXPECT_FALSE(is_next_faster(fast, slow));
    EXPECT_TRUE(is_next_faster(slow, fast));
}

// The latency of one, the rate of the other: 8 bytes in half the time do not make up for 64 KiB in
// twice, nor the other way round; in a quarter of it they do for half as much again.
TEST(NetworkChoice, BothLengthsCount) {
    EXPECT_FALSE(is_next_faster({10'000, 100'000}, {5'000, 200'000}));
    EXPECT_FALSE(is_next_faster({10'000, 100'000}, {20'000, 50'000}));
    EXPECT_TRUE(is_next_faster({10'000, 100'000}, {2'500, 150'000}));
    EXPECT_TRUE(is_next_faster({10'000, 100'000}, {15'000, 25'000}));
}

TEST(NetworkChoice, TheFirstStaysWhereTheyAreNearEachOther) {
    EXPECT_FALSE(is_next_faster({10'000, 100'000}, {10'000, 100'000}));
    EXPECT_FALSE(is_next_faster({10'000, 100'000}, {9'000, 90'000}));
    EXPECT_FALSE(is_next_faster({10'000, 100'000}, {10'000, 80'000}));
    EXPECT_TRUE(is_next_faster({10'000, 100'000}, {8'990, 90'000}));
}

TEST(NetworkChoice, TheFirstStaysWhereOneIsNotKnown) {
    const Predicted slow = predicted(1'000'000, 1'000);
    const Predicted fast = predicted(1'000, 1'000'000'000);
    EXPECT_EQ(predicted(0, 1'000'000), Predicted{});
    EXPECT_EQ(predicted(1'000, 0), Predicted{});
    EXPECT_FALSE(is_next_faster(slow, {}));
    EXPECT_FALSE(is_next_faster({}, fast));
    EXPECT_FALSE(is_next_faster({}, {}));
}

// A byte a second, and a rate above every link's: no product is too large.
TEST(NetworkChoice, AllRatesAreCompared) {
    const Predicted slowest = predicted(UINT32_MAX, 1);
    const Predicted fastest = predicted(1, uint64_t{1} << 50);
    EXPECT_TRUE(is_next_faster(slowest, fastest));
    EXPECT_FALSE(is_next_faster(fastest, slowest));
}

constexpr size_t kLast = kMulticastNetworks.size() - 1;

TEST(NetworkChoice, TheLastOneIsTheOnlyOneByDefault) {
    NetworkChoice choice{McastOver{}};
    EXPECT_EQ(choice.next(), kLast);
    choice.take({nullptr, "h1: no socket"});
    EXPECT_EQ(choice.next(), std::nullopt);
    EXPECT_EQ(choice.kept(), nullptr);
    EXPECT_EQ(choice.finish().obstacle, "h1: no socket");
}

TEST(NetworkChoice, WhereNoneReachesAllEachReasonIsSaid) {
    for (const bool takes_faster : {false, true}) {
        NetworkChoice choice({.first = 0, .takes_faster = takes_faster});
        for (size_t number = 0; number <= kLast; ++number) {
            EXPECT_EQ(choice.next(), number);
            choice.take({nullptr, "why " + std::to_string(number)});
        }
        EXPECT_EQ(choice.next(), std::nullopt);
        EXPECT_EQ(choice.finish().obstacle, "by verbs: why 0; by UDP: why 1");
    }
}

}  // namespace
}  // namespace tutti::test
