// SPDX-License-Identifier: BSD-3-Clause
// Sleeps end by a ring or not at all: far longer ones are allowed here
// than any wait makes, so that a lost ring is a failure and not a delay.
#include "base/bell.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "unit/threads.h"

namespace tutti {
namespace {

using test::after_ns;
using test::run_threads;

uint64_t much_later_ns() { return after_ns(60'000'000'000); }

// Each in turn does its deed, rings, and sleeps until the other has done the next one.
TEST(Bell, NoRingIsLost) {
    constexpr uint32_t kRanks = 3;
    constexpr uint64_t kDeeds = 9'000;
    const auto bell = std::make_unique<Bell>();
    std::atomic<uint64_t> deeds = 0;
    std::atomic<uint64_t> lost = 0;
    run_threads(kRanks, [&](uint32_t rank) {
        const Ringers before = ringer((rank + kRanks - 1) % kRanks);
        for (uint64_t mine = rank; mine < kDeeds && lost.load() == 0; mine += kRanks) {
            while (deeds.load(std::memory_order_acquire) < mine) {
                Sleeper sleeper(*bell);
                if (deeds.load(std::memory_order_acquire) >= mine) break;
                if (!sleeper.sleep(much_later_ns(), before)) ++lost;
            }
            deeds.store(mine + 1, std::memory_order_release);
            bell->ring(ringer(rank));
        }
    });
    EXPECT_EQ(lost.load(), 0u);
    EXPECT_EQ(deeds.load(), kDeeds);
    EXPECT_EQ(bell->sleepers.load(), 0u);
}

TEST(Bell, OthersDoNotWake) {
    const auto bell = std::make_unique<Bell>();
    std::atomic<bool> is_over = false;
    uint32_t by_others = 0;
    uint32_t by_the_awaited = 0;
    run_threads(2, [&](uint32_t thread) {
        while (thread == 0 && !is_over.load()) {
            Sleeper sleeper(*bell);
            if (!is_over.load()) sleeper.sleep(much_later_ns(), ringer(5));
        }
        if (thread == 0) return;
        for (int turn = 0; turn < 200; ++turn) {
            for (int more = 0; more < 20; ++more) by_others += bell->ring(ringer(4));
            // Whoever is awake just now will be asleep again.
            uint32_t woken = 0;
            while (woken == 0) woken = bell->ring(turn % 2 == 0 ? ringer(5) : kAllRingers);
            by_the_awaited += woken;
        }
        is_over.store(true);
        bell->ring();
    });
    EXPECT_EQ(by_others, 0u);
    EXPECT_EQ(by_the_awaited, 200u);
}

TEST(Bell, ASleepEndsByItself) {
    const auto bell = std::make_unique<Bell>();
    EXPECT_EQ(bell->ring(), 0u);
    Sleeper sleeper(*bell);
    EXPECT_FALSE(sleeper.sleep(after_ns(1'000)));
    // Somebody has rung since the last look was announced.
    EXPECT_EQ(bell->ring(ringer(7)), 0u);
    EXPECT_TRUE(sleeper.sleep(much_later_ns(), ringer(1)));
}

}  // namespace
}  // namespace tutti
