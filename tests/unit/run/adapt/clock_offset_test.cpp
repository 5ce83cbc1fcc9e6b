// SPDX-License-Identifier: BSD-3-Clause
// Two clocks that drift, and messages between them that take random times.
#include "run/adapt/clock_offset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/prng.h"
#include "sim/seeds.h"

namespace tutti::adapt {
namespace {

// Clocks as lines over true time.
struct Clocks {
    uint64_t own_start_ns = 0;
    uint64_t other_start_ns = 0;
    int64_t own_ppm = 0;
    int64_t other_ppm = 0;

    static uint64_t shown(uint64_t start_ns, int64_t ppm, uint64_t true_ns) {
        return start_ns + true_ns +
               static_cast<uint64_t>(static_cast<int64_t>(true_ns) * ppm / 1'000'000);
    }
    [[nodiscard]] uint64_t own(uint64_t true_ns) const {
        return shown(own_start_ns, own_ppm, true_ns);
    }
    [[nodiscard]] uint64_t other(uint64_t true_ns) const {
        return shown(other_start_ns, other_ppm, true_ns);
    }
    [[nodiscard]] int64_t offset(uint64_t true_ns) const {
        return static_cast<int64_t>(other(true_ns) - own(true_ns));
    }
};

Clocks some_clocks(Prng& random) {
    constexpr uint64_t kYear = 31'557'600'000'000'000;
    Clocks clocks{random.below(kYear), random.below(kYear), 0, 0};
    clocks.own_ppm = static_cast<int64_t>(random.below(201)) - 100;
    clocks.other_ppm = static_cast<int64_t>(random.below(201)) - 100;
    return clocks;
}

// Trips one after the other from true_ns on, which becomes their end.
ClockReading read(const Clocks& clocks, Prng& random, uint64_t& true_ns, uint32_t trips) {
    ClockOffset offset;
    for (uint32_t i = 0; i < trips; ++i) {
        RoundTrip trip;
        trip.sent_ns = clocks.own(true_ns);
        true_ns += 500 + random.below(random.below(4) == 0 ? 1'000'000 : 5'000);
        trip.answered_ns = clocks.other(true_ns);
        true_ns += 500 + random.below(random.below(4) == 0 ? 1'000'000 : 5'000);
        trip.received_ns = clocks.own(true_ns);
        offset.add(trip);
    }
    return *offset.reading();
}

uint64_t distance(int64_t a, int64_t b) { return static_cast<uint64_t>(std::llabs(a - b)); }

TEST(ClockOffset, KnowsNothingBeforeTheFirstTrip) { EXPECT_FALSE(ClockOffset().reading()); }

TEST(ClockOffset, IsTheMiddleOfATripAndOffByHalfOfIt) {
    ClockOffset offset;
    offset.add({1000, 5600, 1200});
    EXPECT_EQ(offset.reading()->at_ns, 1100u);
    EXPECT_EQ(offset.reading()->offset_ns, 4500);
    EXPECT_EQ(offset.reading()->error_ns, 100u);
    // A longer one tells nothing more, a shorter one does, and an odd one is rounded up.
    offset.add({2000, 9000, 2201});
    EXPECT_EQ(offset.reading()->at_ns, 1100u);
    offset.add({3000, 0, 3021});
    EXPECT_EQ(offset.reading()->at_ns, 3010u);
    EXPECT_EQ(offset.reading()->offset_ns, -3010);
    EXPECT_EQ(offset.reading()->error_ns, 11u);
}

// Whatever the messages take: the true offset is within the error at the time of each reading and
// on the line between two, minutes apart.
TEST(ClockOffset, TheTrueOffsetIsWithinTheError) {
    const auto seeds = tutti::test::Seeds::wanted(2000);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng random(seed);
        const Clocks clocks = some_clocks(random);
        uint64_t true_ns = random.below(1'000'000'000);
        const auto trips = static_cast<uint32_t>(1 + random.below(40));
        const ClockReading before = read(clocks, random, true_ns, trips);
        const uint64_t start_ns = true_ns;
        true_ns += random.below(120'000'000'000);
        const uint64_t end_ns = true_ns;
        const ClockReading after = read(clocks, random, true_ns, trips);
        const ClockLine line(before, after);
        EXPECT_EQ(line.error_ns(), std::max(before.error_ns, after.error_ns));
        for (int i = 0; i <= 10; ++i) {
            const uint64_t at_ns = start_ns + (end_ns - start_ns) / 10 * static_cast<uint64_t>(i);
            // What the clocks drift apart by in the longest of trips, and rounding.
            const uint64_t more_ns = 2 * 1'000'500 * 200 / 1'000'000 + 4;
            const uint64_t own_ns = clocks.own(at_ns);
            ASSERT_LE(distance(line.offset_ns(own_ns), clocks.offset(at_ns)),
                      line.error_ns() + more_ns)
                << tutti::test::replay(seed);
            EXPECT_EQ(
                line.since_ns(own_ns, clocks.other_start_ns),
                static_cast<int64_t>(own_ns - clocks.other_start_ns) + line.offset_ns(own_ns));
        }
    }
}

// Before and behind the readings, and by one reading alone, where the error grows with the time.
TEST(ClockOffset, TheTrueOffsetIsWithinTheErrorAnyTime) {
    const auto seeds = tutti::test::Seeds::wanted(2000);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng random(seed);
        const Clocks clocks = some_clocks(random);
        constexpr uint64_t kMinute = 60'000'000'000;
        uint64_t true_ns = kMinute + random.below(1'000'000'000);
        const ClockReading before = read(clocks, random, true_ns, 12);
        true_ns += kMinute / 10 + random.below(kMinute);
        const ClockReading after = read(clocks, random, true_ns, 12);
        for (const ClockLine& line : {ClockLine(before, after), ClockLine(after, after)}) {
            for (int i = 0; i < 10; ++i) {
                const uint64_t at_ns = random.below(10 * kMinute);
                const uint64_t own_ns = clocks.own(at_ns);
                ASSERT_LE(distance(line.offset_ns(own_ns), clocks.offset(at_ns)),
                          line.error_at_ns(own_ns) + 1000)
                    << tutti::test::replay(seed);
            }
        }
    }
}

// By way of a third clock.
TEST(ClockOffset, AddsUpOverTheWay) {
    const ClockReading found = through({1000, 40, 3}, {9999, -100, 5});
    EXPECT_EQ(found.at_ns, 1000u);
    EXPECT_EQ(found.offset_ns, -60);
    EXPECT_EQ(found.error_ns, 8u);
}

TEST(ClockLine, GoesThroughItsReadings) {
    const ClockLine line({1000, -500, 3}, {3000, 700, 9});
    EXPECT_EQ(line.offset_ns(1000), -500);
    EXPECT_EQ(line.offset_ns(3000), 700);
    EXPECT_EQ(line.offset_ns(2000), 100);
    // Beyond them, on either side, it goes on.
    EXPECT_EQ(line.offset_ns(5000), 1900);
    EXPECT_EQ(line.offset_ns(0), -1100);
    EXPECT_EQ(line.error_ns(), 9u);
    EXPECT_EQ(line.since_ns(2000, 1500), 600);
    EXPECT_EQ(line.error_at_ns(2000), 9u);
    EXPECT_EQ(line.error_at_ns(5000), 9u + 12);
    EXPECT_EQ(line.error_at_ns(0), 9u + 6);
    // One reading alone, and none: the same clock.
    EXPECT_EQ(ClockLine({5, 40, 1}, {5, 40, 1}).offset_ns(99), 40);
    EXPECT_EQ(ClockLine({5, 40, 1}, {5, 40, 1}).error_at_ns(1'000'005), 1u + 1000);
    EXPECT_EQ(ClockLine().offset_ns(99), 0);
}

}  // namespace
}  // namespace tutti::adapt
