// SPDX-License-Identifier: BSD-3-Clause
#include "run/adapt/arrival_figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/prng.h"
#include "run/adapt/clock_offset.h"
#include "sim/seeds.h"

namespace tutti::adapt {
namespace {

CallArrivals of_one(uint32_t rank, int64_t arrived_ns, int64_t left_ns) {
    return {arrived_ns, arrived_ns, left_ns, static_cast<uint64_t>(arrived_ns), rank, 1};
}

TEST(ArrivalFigures, OneCallInSixtyFourIsSampled) {
    uint64_t sampled = 0;
    uint64_t before = 0, farthest = 0;
    for (uint64_t call = 1; call <= 640'000; ++call) {
        if (!is_sampled(call)) continue;
        ++sampled;
        farthest = std::max(farthest, call - before);
        before = call;
    }
    EXPECT_NEAR(static_cast<double>(sampled), 10'000, 10);
    EXPECT_EQ(farthest, 89u);
}

// A loop of so many calls: each of them has its share.
TEST(ArrivalFigures, LoopsAreSampledEvenly) {
    for (uint32_t length = 1; length <= 64; ++length) {
        std::vector<uint64_t> sampled(length);
        for (uint64_t call = 1; call <= uint64_t{64} * 100 * length; ++call) {
            if (is_sampled(call)) ++sampled[call % length];
        }
        for (const uint64_t one : sampled) {
            EXPECT_GE(one, 80u) << length;
            EXPECT_LE(one, 120u) << length;
        }
    }
}

// Whatever ranks are put together first, they say the same; and it is what the definitions say. Of
// machines that have been up for years, too.
TEST(ArrivalFigures, TheSameInAnyOrder) {
    const auto seeds = test::Seeds::wanted(200);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng random(seed);
        const auto ranks = static_cast<uint32_t>(2 + random.below(300));
        const auto start = static_cast<int64_t>(random.below(uint64_t{1} << 62));
        std::vector<CallArrivals> each;
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            const auto arrived = start + static_cast<int64_t>(random.below(1000));
            each.push_back(of_one(rank, arrived, arrived + static_cast<int64_t>(random.below(50))));
        }
        const std::vector<CallArrivals> by_rank = each;
        while (each.size() > 1) {
            const size_t into = random.below(each.size());
            std::swap(each[into], each.back());
            const CallArrivals last = each.back();
            each.pop_back();
            each[random.below(each.size())].add(last);
        }
        const CallArrivals& all = each[0];
        int64_t first = INT64_MAX, last = INT64_MIN, left = INT64_MIN;
        uint32_t last_rank = 0;
        uint64_t waited = 0;
        for (const CallArrivals& one : by_rank) {
            first = std::min(first, one.first_ns);
            if (one.last_ns > last) last_rank = one.last_rank;
            last = std::max(last, one.last_ns);
            left = std::max(left, one.left_ns);
        }
        for (const CallArrivals& one : by_rank) waited += static_cast<uint64_t>(last - one.last_ns);
        ASSERT_EQ(all.ranks, ranks) << seed;
        ASSERT_EQ(all.last_rank, last_rank) << seed;
        ArrivalFigures figures;
        figures.add(all, by_rank[0].last_ns, true);
        EXPECT_EQ(figures.spread_ns, static_cast<uint64_t>(last - first)) << seed;
        EXPECT_EQ(figures.delay_ns, static_cast<uint64_t>(left - last)) << seed;
        EXPECT_EQ(figures.waited_ns, waited) << seed;
        EXPECT_EQ(figures.own_waited_ns, static_cast<uint64_t>(last - by_rank[0].last_ns)) << seed;
    }
}

TEST(ArrivalFigures, NobodyWaitsForAllInARootedCall) {
    CallArrivals call = of_one(0, 100, INT64_MIN);
    call.add(of_one(1, 700, INT64_MIN));
    ArrivalFigures figures;
    figures.add(call, 100, false);
    figures.add(CallArrivals{}, 100, true);  // nobody has said anything
    EXPECT_EQ(figures.samples, 1u);
    EXPECT_EQ(figures.spread_ns, 600u);
    EXPECT_EQ(figures.waited_ns, 0u);
    EXPECT_EQ(figures.own_waited_ns, 0u);
    EXPECT_EQ(figures.delay_samples, 0u);
}

// This rank comes 10 later than the first each time, 0 in the first two of 18.
TEST(ArrivalFigures, TheLastSamplesAreKept) {
    ArrivalFigures figures;
    for (int64_t i = 0; i < 18; ++i) {
        CallArrivals call = of_one(0, 1000 * i, INT64_MIN);
        const int64_t own = 1000 * i + (i < 2 ? 0 : 10 * i);
        call.add(of_one(1, own, INT64_MIN));
        figures.add(call, own, true);
    }
    for (uint64_t i = 2; i < 18; ++i) {
        EXPECT_EQ(figures.recent_late_ns[i % ArrivalFigures::kRecentMax], 10 * i);
    }
}

TEST(ArrivalFigures, BlocksHoldTheMostOfAny) {
    ArrivalBlock one, other;
    one.elapsed_ns = 5;
    other.elapsed_ns = 3;
    other.reading_ns = 8;
    other.error_ns = 1;
    one.calls[2] = of_one(4, 10, 12);
    other.calls[2] = of_one(3, 10, 11);
    one.add(other);
    EXPECT_EQ(one.elapsed_ns, 5u);
    EXPECT_EQ(one.reading_ns, 8u);
    EXPECT_EQ(one.error_ns, 1u);
    EXPECT_EQ(one.calls[2].last_rank, 3u);  // of two at once the lowest
    EXPECT_EQ(one.calls[2].left_ns, 12);
    EXPECT_EQ(one.calls[1].ranks, 0u);
}

// Whoever is last in more than a share of all samples stands in the places, and no count that is
// sure is too high.
TEST(ArrivalFigures, WhoIsOftenLastIsFound) {
    const auto seeds = test::Seeds::wanted(200);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng random(seed);
        const auto ranks = static_cast<uint32_t>(2 + random.below(1000));
        const auto late = static_cast<uint32_t>(random.below(ranks));
        std::map<uint32_t, uint64_t> exact;
        LastOnes last_ones;
        for (int i = 0; i < 500; ++i) {
            const auto rank =
                random.below(100) < 60 ? late : static_cast<uint32_t>(random.below(ranks));
            ++exact[rank];
            last_ones.add(rank);
        }
        const auto places = last_ones.places();
        EXPECT_EQ(places[0].rank, late) << seed;
        for (const LastOnes::Place& place : places) {
            if (place.counted == 0) continue;
            EXPECT_LE(place.at_least(), exact[place.rank]) << seed;
            EXPECT_GE(place.counted, exact[place.rank]) << seed;
        }
    }
}

// Of few ranks every count is exact.
TEST(ArrivalFigures, FewRanksAreCounted) {
    LastOnes last_ones;
    for (uint32_t i = 0; i < 36; ++i) last_ones.add(i % LastOnes::kPlaces);
    uint64_t counted = 0;
    for (const LastOnes::Place& place : last_ones.places()) {
        EXPECT_EQ(place.excess, 0u);
        counted += place.at_least();
    }
    EXPECT_EQ(counted, 36u);
}

}  // namespace
}  // namespace tutti::adapt
