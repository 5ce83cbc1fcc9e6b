// SPDX-License-Identifier: BSD-3-Clause
// What follows from what was measured, on tables made up here.
#include "run/node/tuning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "run/node/tuner.h"

namespace tutti::node {
namespace {

constexpr size_t kAny = size_t{1} << 20;

// Measures by this, as long as it is asked.
Figures measured(const std::function<uint32_t(const Trial&)>& ns, bool can_read,
                 size_t all_ways_bytes_max = kAny, size_t* trials = nullptr, uint32_t distances = 0,
                 uint32_t readers = 1, bool has_long_rings = false) {
    constexpr size_t kTrialsMax = 60;
    Figures figures;
    for (size_t i = 0; i < kTrialsMax; ++i) {
        const auto trial =
            next_trial(figures, {can_read, has_long_rings, all_ways_bytes_max, distances, readers});
        if (trials) *trials = i;
        if (!trial) return figures;
        EXPECT_EQ(time_of(figures, *trial), 0u) << "measured twice";
        time_of(figures, *trial) = ns(*trial);
    }
    ADD_FAILURE() << "it never has enough";
    return figures;
}

// A ring moves a byte in ring_ps, a single copy in single_ps after start_ns.
auto machine(uint32_t ring_ps, uint32_t single_ps, uint32_t start_ns) {
    return [=](const Trial& trial) -> uint32_t {
        if (trial.pattern == Pattern::kBarrier) return 100;
        const uint64_t bytes = kMeasuredBytes[trial.size];
        if (trial.is_single) return static_cast<uint32_t>(start_ns + bytes * single_ps / 1000);
        return static_cast<uint32_t>(bytes * ring_ps / 1000);
    };
}

TEST(Tuning, TheQuickestWayIsTaken) {
    for (size_t best = 0; best < kCopyWays; ++best) {
        const Figures figures = measured(
            [&](const Trial& trial) {
                return static_cast<size_t>(trial.way) == best ? 1000u : 2000u;
            },
            false);
        const Tuning tuning = tune(figures, {}, {});
        EXPECT_EQ(static_cast<size_t>(tuning.way), best);
        EXPECT_EQ(tuning.single_one_way, kNever);
    }
}

// What each has measured by itself counts where no trip between two of them could be.
TEST(Tuning, RanksThatShareProcessorsReadWhatIsBetweenAll) {
    Figures figures;
    for (size_t size = 0; size < kMeasuredBytes.size(); ++size) {
        figures.once.ring[size] = 1000;
        figures.once.single[size] = size < 2 ? 1300 : 1200;
    }
    EXPECT_EQ(tune(figures, {}, {}).single_once, kMeasuredBytes[2]);
    EXPECT_EQ(tune(figures, {}, {}).single_all_ways, kNever);
    EXPECT_EQ(tune(figures, {}, {.has_single = false}).single_once, kNever);
    figures.once.single.back() = 1300;
    EXPECT_EQ(tune(figures, {}, {}).single_once, kNever);
    figures.once.single.back() = 1200;
    figures.way_ns.fill(1000);
    EXPECT_EQ(tune(figures, {}, {}).single_once, kNever) << "they have processors of their own";
}

TEST(Tuning, PiecesFollowTheWayAndTheRing) {
    Figures figures;
    figures.way_ns = {90, 80, 70, 60};
    EXPECT_EQ(tune(figures, {}, {}).way, CopyWay::kStream);
    EXPECT_EQ(tune(figures, {}, {}).pieces, (PieceRule{8, 8192, 64 * 1024}));
    EXPECT_EQ(tune(figures, {}, {}).ring_bytes, kWholeRing);
    EXPECT_EQ(tune(figures, {}, {.piece_bytes_max = 4096}).pieces.bytes_max, 4096u);
    // Whole chunks of a long ring.
    figures.way_ns = {90, 50, 70, 60};
    EXPECT_EQ(tune(figures, {}, {}).pieces, (PieceRule{8, 16 * 1024, 16 * 1024}));
    const Tuning small{.pieces = {.bytes_max = 4096}};
    EXPECT_EQ(tune(figures, small, {}).pieces, (PieceRule{8, 4096, 4096}));
    figures.short_ring_ns = 40;
    EXPECT_EQ(tune(figures, {}, {}).pieces, (PieceRule{8, 2048, 16 * 1024}));
    EXPECT_EQ(tune(figures, {}, {}).ring_bytes, kShortRingBytes);
}

// Ranks that have short rings only: what was measured in them, or what others have found of them.
TEST(Tuning, WhereRingsAreShortPiecesAreToo) {
    const TuningLimits limits{.has_long_rings = false};
    Figures figures;
    figures.way_ns = {90, 50, 70, 60};
    EXPECT_EQ(tune(figures, {}, limits).pieces, (PieceRule{8, 2048, 16 * 1024}));
    EXPECT_EQ(tune(figures, {}, limits).ring_bytes, kShortRingBytes);
    figures.short_ring_ns = 80;  // in long ones prefetches took 50
    EXPECT_EQ(tune(figures, {}, {}).way, CopyWay::kPrefetch);
    EXPECT_EQ(tune(figures, {}, limits).way, CopyWay::kStream);
    EXPECT_EQ(tune(figures, {}, limits).pieces, (PieceRule{8, 8192, 64 * 1024}));
    figures.short_ring_ns = 55;
    EXPECT_EQ(tune(figures, {}, limits).way, CopyWay::kPrefetch);
    EXPECT_EQ(tune(figures, {}, limits).pieces, (PieceRule{8, 2048, 16 * 1024}));
    const Trial ring{Pattern::kOneWay, CopyWay::kString, 2, false};
    EXPECT_EQ(tuning_for(ring, {}, limits).pieces, (PieceRule{8, 2048, 16 * 1024}));
    EXPECT_EQ(tune({}, {}, limits), Tuning{});
}

// By a way that keeps lines in the caches; streams find no ring too long.
TEST(Tuning, AShortRingWinsByEnough) {
    const auto ns = [](uint32_t short_ns) {
        return [short_ns](const Trial& trial) -> uint32_t {
            if (trial.is_short) {
                EXPECT_EQ(trial.way, CopyWay::kString);
                return short_ns;
            }
            constexpr uint32_t kWays[] = {3000, 3500, 2000, 1000};
            return kWays[static_cast<size_t>(trial.way)];
        };
    };
    const Figures near = measured(ns(900), false, kAny, nullptr, 0, 1, true);
    EXPECT_EQ(near.short_ring_ns, 900u);
    EXPECT_EQ(tune(near, {}, {}).way, CopyWay::kString);
    EXPECT_EQ(tune(near, {}, {}).ring_bytes, kShortRingBytes);
    const Figures like = measured(ns(970), false, kAny, nullptr, 0, 1, true);
    EXPECT_EQ(tune(like, {}, {}).way, CopyWay::kStream);
    EXPECT_EQ(tune(like, {}, {}).ring_bytes, kWholeRing);
    EXPECT_EQ(measured(ns(900), false).short_ring_ns, 0u) << "there are no long ones";
}

// What comes later is measured in the ring that the team will have.
TEST(Tuning, LaterTrialsUseTheRingThatWon) {
    for (const uint32_t short_ns : {1000u, 3000u}) {
        const auto ns = [&](const Trial& trial) -> uint32_t {
            const bool is_first = trial.pattern == Pattern::kBarrier ||
                                  (trial.pattern == Pattern::kOneWay && !trial.is_single &&
                                   trial.size == kMeasuredMiddle);
            if (!is_first) {
                EXPECT_EQ(trial.is_short, short_ns == 1000);
            }
            return trial.is_short ? short_ns : 2000;
        };
        measured(ns, true, kAny, nullptr, 0, 1, true);
    }
}

TEST(Tuning, NothingMeasuredChangesNothing) {
    Tuning untried;
    untried.way = CopyWay::kString;
    untried.way_to = Tuning::all_by(CopyWay::kString);
    untried.pieces = {3, 4096, 128 * 1024};
    EXPECT_EQ(tune({}, untried, {}), untried);
}

// The threshold is the smallest size from which on it won, whatever was measured on the way there.
TEST(Tuning, SingleCopyFromWhereItWins) {
    const struct {
        uint32_t ring_ps, single_ps, start_ns;
        uint64_t from;
    } cases[] = {
        {500, 200, 500, 8 << 10},      // 0.3 ns a byte saved: from 1.7 KB on, 8 KiB is the least
        {500, 200, 3000, 16 << 10},    // from 10 KB
        {500, 200, 7000, 32 << 10},    // from 23 KB
        {500, 200, 15'000, 64 << 10},  // from 50 KB
        {300, 200, 8000, 128 << 10},   // from 80 KB
        {300, 280, 8000, kNever},     {100, 300, 500, kNever},
    };
    for (const auto& one : cases) {
        const auto ns = machine(one.ring_ps, one.single_ps, one.start_ns);
        const Figures figures = measured(ns, true);
        const Tuning tuning = tune(figures, {}, {});
        EXPECT_EQ(tuning.single_one_way, one.from) << one.start_ns;
        EXPECT_EQ(tuning.single_all_ways, one.from) << one.start_ns;
        EXPECT_EQ(tuning.single_scatter, one.from) << one.start_ns;
        EXPECT_EQ(tune(figures, {}, {.has_single = false}).single_one_way, kNever);
        EXPECT_EQ(tune(figures, {}, {.has_single = false, .ranks = 9}).single_scatter, kNever);
        EXPECT_EQ(tune(figures, {}, {.is_always_single = true}).single_all_ways, 0u);
    }
}

// Of 64 KiB, us, as measured among cores of an Intel Xeon.
TEST(Tuning, AScatterIsReadWhereItsRootWouldWriteMany) {
    const struct {
        uint32_t ranks;
        bool is_flat;
        double ring_us, single_us;
        uint64_t from;
    } cases[] = {{2, true, 6.0, 9.0, kNever},       {3, true, 6.9, 21.3, 256 << 10},
                 {4, true, 7.5, 42.2, 256 << 10},   {6, true, 11.3, 55.4, 256 << 10},
                 {8, true, 9.2, 66.8, 256 << 10},   {12, false, 15.8, 76.7, 256 << 10},
                 {16, false, 17.1, 78.0, 64 << 10}, {3, true, 5.0, 30.0, kNever}};
    for (const auto& one : cases) {
        const auto ps = [](double us) { return static_cast<uint32_t>(us * 1e6 / 65536) + 1; };
        const Figures figures = measured(machine(ps(one.ring_us), ps(one.single_us), 0), true);
        const Tuning tuning = tune(figures, {}, {.ranks = one.ranks, .is_flat = one.is_flat});
        EXPECT_EQ(tuning.single_one_way, kNever);
        EXPECT_EQ(tuning.single_scatter, one.from) << one.ranks << " ranks";
    }
    EXPECT_EQ(tune({}, {}, {.ranks = 16}).single_scatter, kNever);
}

TEST(Tuning, WithoutSingleCopyNothingIsMeasuredOfIt) {
    size_t trials = 0;
    const Figures figures = measured(machine(500, 200, 500), false, kAny, &trials);
    EXPECT_EQ(trials, 1 + kCopyWays);
    EXPECT_EQ(figures.one_way, Times{});
    EXPECT_EQ(figures.all_ways, Times{});
}

// Many ranks have no memory for large blocks of all.
TEST(Tuning, BlocksOfAllAreLimited) {
    const Figures figures = measured(machine(500, 200, 500), true, 16 << 10);
    EXPECT_EQ(figures.all_ways.ring[1] != 0, true);
    for (size_t size = 2; size < kMeasuredBytes.size(); ++size) {
        EXPECT_EQ(figures.all_ways.ring[size], 0u);
    }
    EXPECT_EQ(tune(figures, {}, {}).single_all_ways, 8u << 10);
    const Figures none = measured(machine(500, 200, 500), true, 1000);
    EXPECT_EQ(none.all_ways, Times{});
    EXPECT_EQ(tune(none, {}, {}).single_all_ways, kNever);
}

// Last, and nothing follows from it.
TEST(Tuning, WhatPricesWantIsMeasuredToo) {
    const auto ns = machine(500, 200, 500);
    for (const size_t all_ways_bytes : {size_t{kAny}, size_t{16 << 10}}) {
        Figures figures = measured(ns, false, all_ways_bytes);
        const Tuning tuning = tune(figures, {}, {});
        std::vector<Pattern> asked;
        while (const auto next = next_trial(
                   figures, {.all_ways_bytes_max = all_ways_bytes, .for_prices = true})) {
            Figures cut = figures;
            forget_unfinished(cut, *next);
            EXPECT_EQ(cut, figures);
            EXPECT_EQ(rival_ns(figures, *next), 0u);
            asked.push_back(next->pattern);
            time_of(figures, *next) = 5;
        }
        std::vector<Pattern> wanted = {Pattern::kShort, Pattern::kFold};
        if (all_ways_bytes == kAny) wanted.push_back(Pattern::kAllWays);
        EXPECT_EQ(asked, wanted);
        EXPECT_EQ(figures.short_ns, 5u);
        EXPECT_EQ(figures.fold_ns, 5u);
        EXPECT_EQ(tune(figures, {}, {}), tuning);
    }
}

// Ways are compared when all were tried, sizes when the search for a threshold has ended.
TEST(Tuning, WhatIsCutOffIsNotMeasured) {
    const auto ns = machine(500, 200, 500);
    Figures figures;
    while (const auto next = next_trial(figures, {true, true, kAny})) {
        Figures cut = figures;
        forget_unfinished(cut, *next);
        const Tuning tuning = tune(cut, {}, {});
        if (next->pattern != Pattern::kAllWays) {
            EXPECT_EQ(tuning.single_one_way, kNever);
        }
        EXPECT_EQ(tuning.single_all_ways, kNever);
        const bool has_all_ways = figures.way_ns.back() != 0;
        EXPECT_EQ(cut.short_ring_ns, figures.short_ring_ns);
        EXPECT_EQ(cut.way_ns[0] != 0, has_all_ways);
        time_of(figures, *next) = ns(*next);
    }
    EXPECT_EQ(tune(figures, {}, {}).single_one_way, 8u << 10);
}

// ---- readers at a time --------------------------------------------------------------------------

// Rings take 30 us for 64 KiB, a read alone 5; readers at a time hinder each other from two on, as
// many as `hindrance_ns` says for each.
struct Contention {
    uint32_t readers;
    uint32_t hindrance_ns;
    uint32_t operator()(const Trial& trial) const {
        if (trial.pattern == Pattern::kBarrier) return 100;
        const auto share = [&](uint64_t ns) {
            return static_cast<uint32_t>(ns * kMeasuredBytes[trial.size] / (64 << 10));
        };
        if (!trial.is_single) return share(30'000);
        const uint32_t now = std::min(readers, trial.readers);
        const uint32_t turns = (readers + now - 1) / now;
        return share(uint64_t{turns} * (5000 + (now - 1) * hindrance_ns));
    }
};

// The limits that are tried, in their order.
std::vector<uint32_t> limits_tried(const Contention& machine, Figures& figures) {
    std::vector<uint32_t> tried;
    figures = {};
    while (const auto next = next_trial(figures, {true, false, kAny, 0, machine.readers})) {
        const bool is_new = next->is_single && next->readers != kAllReaders;
        if (is_new && next->pattern == Pattern::kOneWay && next->size == kMeasuredMiddle) {
            EXPECT_NE(figures.one_way.single[kMeasuredMiddle], 0u);
            tried.push_back(next->readers);
        }
        time_of(figures, *next) = machine(*next);
    }
    return tried;
}

using Limits = std::vector<uint32_t>;

TEST(Tuning, FewerReadersWhereManyHinderEachOther) {
    Figures figures;
    // One turn of 7 takes 53 us, two of 4 take 58, four of 2 take 52, seven of 1 take 35.
    EXPECT_EQ(limits_tried({7, 8000}, figures), (Limits{4, 2, 1}));
    EXPECT_EQ(tune(figures, {}, {}).readers_max, 1u);
    EXPECT_EQ(tune(figures, {}, {.is_always_single = true}).readers_max, 1u);
    EXPECT_EQ(tune(figures, {}, {.has_single = false}).readers_max, kAllReaders);
    // 26, 24 and 20
    EXPECT_EQ(limits_tried({4, 7000}, figures), (Limits{2, 1}));
    EXPECT_EQ(tune(figures, {}, {}).readers_max, 1u);
}

TEST(Tuning, AllReadWhereNobodyHindersAnother) {
    for (const uint32_t readers : {2u, 3u, 5u, 8u}) {
        Figures figures;
        EXPECT_EQ(limits_tried({readers, 0}, figures), (Limits{std::bit_floor(readers - 1)}));
        EXPECT_EQ(tune(figures, {}, {}).readers_max, kAllReaders);
        EXPECT_EQ(tuned_one_way(figures).single[kMeasuredMiddle], 5000u);
    }
}

// 100 readers, and 8 at a time are best.
TEST(Tuning, LimitsAreTriedFromTheTop) {
    constexpr uint32_t kReaders = 100;
    const auto ns = [](uint32_t now) {
        return now == 8 ? 20'000 : 20'000 + 200 * (now + 64 / now);
    };
    Figures figures;
    figures.barrier_ns = 100;
    figures.way_ns = {40'000, 40'000, 40'000, 40'000};
    figures.one_way.single[kMeasuredMiddle] = 60'000;
    Limits tried;
    for (;;) {
        const auto next = next_trial(figures, {true, false, 0, 0, kReaders});
        ASSERT_TRUE(next);
        if (next->size != kMeasuredMiddle) break;
        tried.push_back(next->readers);
        time_of(figures, *next) = static_cast<uint32_t>(ns(next->readers));
    }
    EXPECT_EQ(tried, (Limits{64, 32, 16, 8, 4, 2}));  // of which the last takes 26.8 us
    EXPECT_EQ(tune(figures, {}, {}).readers_max, 8u);
}

// By which no measurement is made longer, where it would tell nothing.
TEST(Tuning, NoLimitsAreTried) {
    Figures figures;
    EXPECT_EQ(limits_tried({1, 0}, figures), Limits{});  // two ranks
    figures = measured(machine(500, 1100, 500), true, kAny, nullptr, 0, 5);
    EXPECT_EQ(figures.readers_ns, Figures{}.readers_ns);  // more than twice as slow
    figures = measured(machine(500, 200, 500), false, kAny, nullptr, 0, 5);
    EXPECT_EQ(figures.readers_ns, Figures{}.readers_ns);
}

// A limit that wins by an accident is none.
TEST(Tuning, ALimitWinsByAMargin) {
    Figures figures;
    figures.way_ns = {30'000, 30'000, 30'000, 30'000};
    figures.one_way.single[kMeasuredMiddle] = 20'000;
    figures.readers_ns[1] = 19'000;
    EXPECT_EQ(tune(figures, {}, {}).readers_max, kAllReaders);
    figures.readers_ns[1] = 18'900;
    EXPECT_EQ(tune(figures, {}, {}).readers_max, 2u);
    figures.readers_ns[0] = 18'000;
    EXPECT_EQ(tune(figures, {}, {}).readers_max, 2u);
    EXPECT_EQ(tuned_one_way(figures).single[kMeasuredMiddle], 18'900u);
    figures.readers_ns[0] = 17'900;
    EXPECT_EQ(tune(figures, {}, {}).readers_max, 1u);
}

// All that single copy is measured for afterwards runs with the limit, and wins or loses by it.
TEST(Tuning, TheRestIsMeasuredWithTheLimit) {
    const Contention machine{4, 9000};  // 32, 28 and 20 us; rings take 30
    Figures figures;
    bool has_limit = false;
    while (const auto next = next_trial(figures, {true, false, kAny, 0, 4})) {
        has_limit |= figures.readers_ns[0] != 0;
        if (next->is_single && has_limit) {
            EXPECT_EQ(next->readers, 1u);
            EXPECT_EQ(tuning_for(*next, {}, {}).readers_max, 1u);
        }
        const bool is_cut_short = !has_limit || next->pattern == Pattern::kOneWay;
        Figures cut = figures;
        forget_unfinished(cut, *next);
        if (next->is_single && is_cut_short) {
            EXPECT_EQ(tune(cut, {}, {}).readers_max, kAllReaders);
            EXPECT_EQ(cut.one_way, Times{});
        } else if (next->pattern == Pattern::kAllWays) {
            EXPECT_EQ(tune(cut, {}, {}).readers_max, 1u);
        }
        time_of(figures, *next) = machine(*next);
    }
    EXPECT_TRUE(has_limit);
    EXPECT_EQ(tune(figures, {}, {}).single_one_way, 8u << 10);
    figures.readers_ns = {};
    EXPECT_EQ(tune(figures, {}, {}).single_one_way, kNever);
}

TEST(Tuning, ALimitsRivalIsTheBestSoFar) {
    Figures figures;
    figures.way_ns = {9000, 8000, 9000, 9000};
    figures.one_way.single[kMeasuredMiddle] = 9500;
    Trial trial{Pattern::kOneWay, CopyWay::kPrefetch, kMeasuredMiddle, true};
    EXPECT_EQ(rival_ns(figures, trial), 8000u);
    trial.readers = 4;
    EXPECT_EQ(rival_ns(figures, trial), 9500u);
    figures.readers_ns[2] = 7000;
    trial.readers = 2;
    EXPECT_EQ(rival_ns(figures, trial), 7000u);
    EXPECT_EQ(&time_of(figures, trial), &figures.readers_ns[1]);
}

// ---- by distance --------------------------------------------------------------------------------

// Near ranks want prefetches, far ones streams, those between strings.
uint32_t by_distance(const Trial& trial) {
    constexpr CopyWay kBest[] = {CopyWay::kPrefetch, CopyWay::kString, CopyWay::kStream};
    if (trial.pattern == Pattern::kFlag) return 50u << trial.distance;
    if (trial.pattern != Pattern::kPair) return machine(500, 200, 500)(trial);
    return trial.way == kBest[trial.distance] ? 1000 : 2000;
}

TEST(Tuning, WhereAllPairsAreAlikeNoneIsMeasured) {
    for (const bool can_read : {false, true}) {
        size_t whole = 0;
        measured(by_distance, can_read, kAny, &whole);
        for (uint32_t i = 0; i < kDistancesMax; ++i) {
            size_t trials = 0;
            const Figures figures = measured(by_distance, can_read, kAny, &trials, 1u << i);
            EXPECT_EQ(trials, whole);
            EXPECT_EQ(figures.pairs, Figures{}.pairs);
            EXPECT_EQ(tune(figures, {}, {}).way_to, Tuning::all_by(tune(figures, {}, {}).way));
        }
    }
}

TEST(Tuning, EachDistanceHasItsWay) {
    size_t whole = 0;
    measured(by_distance, true, kAny, &whole);
    size_t trials = 0;
    const Figures figures = measured(by_distance, true, kAny, &trials, 0b101);
    EXPECT_EQ(trials, whole + 2 * (1 + kCopyWays));
    EXPECT_EQ(figures.pairs[0].flag_ns, 50u);
    EXPECT_EQ(figures.pairs[1], PairFigures{});
    EXPECT_EQ(figures.pairs[2].flag_ns, 200u);
    const Tuning tuning = tune(figures, {}, {});
    EXPECT_EQ(tuning.way, CopyWay::kPlain);  // of equals
    EXPECT_EQ(tuning.way_to[0], CopyWay::kPrefetch);
    EXPECT_EQ(tuning.way_to[1], tuning.way);  // of which there was no pair
    EXPECT_EQ(tuning.way_to[2], CopyWay::kStream);
}

// The team as a whole first, but for flags, which take next to nothing; and ways of a pair that
// were not all tried count for nothing.
TEST(Tuning, PairsComeLast) {
    Figures figures;
    std::vector<Pattern> order;
    while (const auto next = next_trial(figures, {true, false, kAny, 0b11})) {
        if (order.empty() || order.back() != next->pattern) order.push_back(next->pattern);
        Figures cut = figures;
        forget_unfinished(cut, *next);
        for (size_t i = 0; i < 2; ++i) {
            const bool was_whole = figures.pairs[i].way_ns.back() != 0;
            EXPECT_EQ(cut.pairs[i].way_ns[0] != 0, was_whole);
            const bool knows_flags = figures.pairs[1].flag_ns != 0;
            EXPECT_EQ(cut.pairs[i].flag_ns != 0, knows_flags);
        }
        if (next->pattern == Pattern::kPair) {
            EXPECT_EQ(next->pieces_by, CopyWay::kPlain);  // of equals, as the team's
        }
        time_of(figures, *next) = by_distance(*next);
    }
    const std::vector<Pattern> wanted = {Pattern::kBarrier, Pattern::kOneWay,  Pattern::kFlag,
                                         Pattern::kOneWay,  Pattern::kAllWays, Pattern::kPair};
    EXPECT_EQ(order, wanted);
}

TEST(Tuning, APairsTrialHasARivalOfItsDistance) {
    Figures figures;
    figures.way_ns = {9000, 9000, 9000, 9000};
    figures.pairs[1].way_ns = {700, 0, 0, 0};
    Trial trial{Pattern::kPair, CopyWay::kString, kMeasuredMiddle};
    trial.distance = 1;
    EXPECT_EQ(rival_ns(figures, trial), 700u);
    trial.pattern = Pattern::kFlag;
    EXPECT_EQ(rival_ns(figures, trial), 0u);
}

TEST(Tuning, ATrialRunsByWhatItTries) {
    const Trial ring{Pattern::kOneWay, CopyWay::kString, 2, false};
    EXPECT_EQ(tuning_for(ring, {}, {}).way, CopyWay::kString);
    EXPECT_EQ(tuning_for(ring, {}, {}).way_to, Tuning::all_by(CopyWay::kString));
    EXPECT_EQ(tuning_for(ring, {}, {}).single_one_way, kNever);
    Trial pair{Pattern::kPair, CopyWay::kStream, 3};
    pair.pieces_by = CopyWay::kPlain;
    EXPECT_EQ(tuning_for(pair, {}, {}).way, CopyWay::kStream);
    EXPECT_EQ(tuning_for(pair, {}, {}).pieces, (PieceRule{8, 16 * 1024, 16 * 1024}));
    pair.is_short = true;
    EXPECT_EQ(tuning_for(pair, {}, {}).pieces, (PieceRule{8, 2048, 16 * 1024}));
    EXPECT_EQ(tuning_for(pair, {}, {}).ring_bytes, kShortRingBytes);
    const Trial single{Pattern::kAllWays, CopyWay::kPlain, 2, true};
    EXPECT_EQ(tuning_for(single, {}, {}).single_all_ways, 0u);
}

// ---- when a team looks --------------------------------------------------------------------------

class NoClock final : public Clock {
  public:
    uint64_t now_ns() override { return 1; }
};

// Calls of so many bytes from one look to the next.
std::vector<uint64_t> between_looks(size_t bytes, size_t looks, uint32_t barrier_ns = 50) {
    NoClock clock;
    Figures figures;
    figures.barrier_ns = barrier_ns;
    Tuner tuner(clock, {}, {}, figures);
    Call call;
    call.collective = TUTTI_BCAST;
    call.bytes = bytes;
    std::vector<uint64_t> calls;
    for (uint64_t since = 1; calls.size() < looks; ++since) {
        if (!tuner.is_due(Team{}, call)) continue;
        calls.push_back(since);
        since = 0;
    }
    return calls;
}

TEST(Looks, ComeAfterFewerCallsThatAreLonger) {
    EXPECT_EQ(between_looks(2048, 6), (std::vector<uint64_t>{64, 128, 256, 512, 1024, 1024}));
    EXPECT_EQ(between_looks(64 << 10, 6), (std::vector<uint64_t>{64, 43, 86, 171, 342, 342}));
    EXPECT_EQ(between_looks(64 << 20, 6), (std::vector<uint64_t>{64, 4, 8, 16, 32, 32}));
}

TEST(Looks, WhereTheyAreInVainComeEverLater) {
    EXPECT_EQ(between_looks(2048, 7, 0),
              (std::vector<uint64_t>{64, 128, 256, 512, 1024, 2048, 4096}));
}

// Whose bytes ranks may differ in.
TEST(Looks, GathersAndScattersDoNotCount) {
    NoClock clock;
    Tuner tuner(clock, {}, {}, {});
    Call call;
    call.bytes = 1 << 20;
    for (const tutti_collective kind : {TUTTI_GATHER, TUTTI_SCATTER}) {
        call.collective = kind;
        for (int i = 0; i < 3000; ++i) EXPECT_FALSE(tuner.is_due(Team{}, call));
    }
}

TEST(Tuning, MovedIsMoreThanNoise) {
    EXPECT_FALSE(has_moved(100, 100));
    EXPECT_FALSE(has_moved(100, 160));
    EXPECT_FALSE(has_moved(160, 100));
    EXPECT_TRUE(has_moved(100, 161));
    EXPECT_TRUE(has_moved(161, 100));
}

}  // namespace
}  // namespace tutti::node
