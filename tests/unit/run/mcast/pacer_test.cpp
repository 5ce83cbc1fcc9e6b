// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/pacer.h"

#include <gtest/gtest.h>

namespace tutti::mcast {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(Pacer, WithoutARateEverythingMayLeave) {
    Pacer pacer(0, 0);
    for (int i = 0; i < 100; ++i) pacer.spend(5, 1500, false);
    EXPECT_LE(pacer.ready_ns(), 5u);
}

TEST(Pacer, LetsABurstPassAndThenKeepsTheRate) {
    Pacer pacer(1000, 300);
    uint64_t now = kSecond;
    int at_once = 0;
    while (pacer.ready_ns() <= now) {
        pacer.spend(now, 100, false);
        ++at_once;
    }
    // The bucket's 300 bytes, and the packet with which it runs empty.
    EXPECT_EQ(at_once, 4);
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(pacer.ready_ns(), now + kSecond / 10);
        now = pacer.ready_ns();
        pacer.spend(now, 100, false);
    }
}

// A packet a millisecond; the sender gets no processor for 6 ms, then for 40.
TEST(Pacer, MakesUpForBeingLateUpToABound) {
    Pacer pacer(1'000'000, 0);
    const auto passed = [&](uint64_t now_ns) {
        int packets = 0;
        for (; pacer.ready_ns() <= now_ns; ++packets) pacer.spend(now_ns, 1000, true);
        return packets;
    };
    pacer.spend(0, 1000, false);
    EXPECT_EQ(passed(999'999), 0);
    EXPECT_EQ(passed(6'000'000), 6);
    EXPECT_EQ(passed(6'500'000), 0);
    EXPECT_EQ(passed(7'000'000), 1);
    EXPECT_EQ(passed(47'000'000), 11);  // 10 ms' worth, and the one that is due
}

TEST(Pacer, AnIdleBucketDoesNotGrowBeyondItsBurst) {
    Pacer pacer(1000, 200);
    const uint64_t now = 1000 * kSecond;
    int at_once = 0;
    while (pacer.ready_ns() <= now) {
        pacer.spend(now, 100, false);
        ++at_once;
    }
    EXPECT_EQ(at_once, 3);
}

}  // namespace
}  // namespace tutti::mcast
