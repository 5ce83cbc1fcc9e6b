// SPDX-License-Identifier: BSD-3-Clause
#include "run/multicast/fabric_choice.h"

#include <gtest/gtest.h>

#include "run/multicast/team_multicast.h"

namespace tutti::test {
namespace {

using multicast::is_udp_faster;
using multicast::Predicted;

Predicted predicted(uint64_t latency_ns, uint64_t bytes_per_s) {
    multicast::AgreedMulticast facts;
    facts.latency_ns = latency_ns;
    facts.bytes_per_s = bytes_per_s;
    return multicast::predict(facts);
}

TEST(FabricChoice, ABroadcastIsALatencyAndItsBytes) {
    const Predicted one = predicted(10'000, 1'000'000'000);
    EXPECT_EQ(one.short_ns, 10'000u + 8);
    EXPECT_EQ(one.long_ns, 10'000u + 65'536);
    EXPECT_EQ(predicted(10'000, 3).short_ns, 10'000u + 2'666'666'667);
}

TEST(FabricChoice, TheFasterOneIsTaken) {
    const Predicted slow = predicted(30'000, 100'000'000);
    const Predicted fast = predicted(3'000, 3'000'000'000);
    EXPECT_FALSE(is_udp_faster(fast, slow));
    EXPECT_TRUE(is_udp_faster(slow, fast));
}

// The latency of one, the rate of the other: 8 bytes in half the time do not make up for 64 KiB in
// twice, nor the other way round; in a quarter of it they do for half as much again.
TEST(FabricChoice, BothLengthsCount) {
    EXPECT_FALSE(is_udp_faster({10'000, 100'000}, {5'000, 200'000}));
    EXPECT_FALSE(is_udp_faster({10'000, 100'000}, {20'000, 50'000}));
    EXPECT_TRUE(is_udp_faster({10'000, 100'000}, {2'500, 150'000}));
    EXPECT_TRUE(is_udp_faster({10'000, 100'000}, {15'000, 25'000}));
}

TEST(FabricChoice, VerbsStayWhereTheyAreNearEachOther) {
    EXPECT_FALSE(is_udp_faster({10'000, 100'000}, {10'000, 100'000}));
    EXPECT_FALSE(is_udp_faster({10'000, 100'000}, {9'000, 90'000}));
    EXPECT_FALSE(is_udp_faster({10'000, 100'000}, {10'000, 80'000}));
    EXPECT_TRUE(is_udp_faster({10'000, 100'000}, {8'990, 90'000}));
}

TEST(FabricChoice, VerbsStayWhereOneIsNotKnown) {
    const Predicted slow = predicted(1'000'000, 1'000);
    const Predicted fast = predicted(1'000, 1'000'000'000);
    EXPECT_EQ(predicted(0, 1'000'000), Predicted{});
    EXPECT_EQ(predicted(1'000, 0), Predicted{});
    EXPECT_FALSE(is_udp_faster(slow, {}));
    EXPECT_FALSE(is_udp_faster({}, fast));
    EXPECT_FALSE(is_udp_faster({}, {}));
}

// A byte a second, and a rate above every link's: no product is too large.
TEST(FabricChoice, AllRatesAreCompared) {
    const Predicted slowest = predicted(UINT32_MAX, 1);
    const Predicted fastest = predicted(1, uint64_t{1} << 50);
    EXPECT_TRUE(is_udp_faster(slowest, fastest));
    EXPECT_FALSE(is_udp_faster(fastest, slowest));
}

}  // namespace
}  // namespace tutti::test
