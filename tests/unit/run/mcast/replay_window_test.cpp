// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/replay_window.h"

#include <gtest/gtest.h>

#include <set>

#include "base/prng.h"

namespace tutti::mcast {
namespace {

TEST(ReplayWindow, EachCounterIsLetInOnce) {
    ReplayWindow window(128);
    EXPECT_FALSE(window.accept(0)) << "packets are counted from 1";
    for (uint64_t counter = 1; counter < 1000; ++counter) {
        EXPECT_TRUE(window.accept(counter));
        EXPECT_FALSE(window.accept(counter));
        EXPECT_FALSE(window.accept(counter - counter % 7));
    }
}

TEST(ReplayWindow, WhatIsLateIsLetInWhileItCanBeToldFromWhatWasHere) {
    ReplayWindow window(128);
    EXPECT_TRUE(window.accept(1000));
    EXPECT_TRUE(window.accept(1000 - 128));
    EXPECT_FALSE(window.accept(1000 - 128));
    EXPECT_FALSE(window.accept(1000 - 200)) << "too old to tell";
    EXPECT_TRUE(window.accept(999));
}

TEST(ReplayWindow, ALongLeapForgetsNothingThatItCouldTell) {
    ReplayWindow window(128);
    for (uint64_t counter = 1; counter < 200; ++counter) EXPECT_TRUE(window.accept(counter));
    const uint64_t far = uint64_t{1} << 47;
    EXPECT_TRUE(window.accept(far));
    for (uint64_t counter = 0; counter < 200; ++counter) EXPECT_FALSE(window.accept(counter));
    for (uint64_t back = 1; back <= 128; ++back) {
        EXPECT_TRUE(window.accept(far - back)) << back;
        EXPECT_FALSE(window.accept(far - back)) << back;
    }
}

// Counters as a network that delays and doubles brings them, against a set that forgets nothing.
TEST(ReplayWindow, AgainstASetOfAllThatWasLetIn) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng prng(seed);
        const auto counters = static_cast<uint32_t>(1 + prng.below(300));
        ReplayWindow window(counters);
        std::set<uint64_t> here;
        uint64_t highest = 0;
        for (int i = 0; i < 2000; ++i) {
            const bool leaps = prng.below(50) == 0;
            const uint64_t ahead = prng.below(leaps ? 2000 : 6);
            const uint64_t back = prng.below(2 * counters);
            const uint64_t counter = highest + ahead > back ? highest + ahead - back : 1;
            const bool is_in_reach = counter + counters >= highest;
            const bool is_let_in = window.accept(counter);
            EXPECT_FALSE(is_let_in && here.contains(counter)) << "replayed " << counter;
            EXPECT_TRUE(is_let_in || here.contains(counter) || !is_in_reach) << "lost " << counter;
            if (is_let_in) here.insert(counter);
            highest = std::max(highest, counter);
        }
        EXPECT_GT(here.size(), 200u);
    }
}

}  // namespace
}  // namespace tutti::mcast
