// SPDX-License-Identifier: BSD-3-Clause
// Live tuning by drawn times: what it finds, what it costs, and what it leaves alone.
#include "plan/select/live.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tutti::select {
namespace {

CallKind allreduce_of(uint64_t bytes) {
    return {.collective = TUTTI_ALLREDUCE, .bytes = bytes, .element_bytes = 8};
}

// A program that makes calls, and the members of its team, who agree.
class Program {
  public:
    Program(std::vector<double> way_ns, uint32_t seed, double noise = 0.1)
        : way_ns_(std::move(way_ns)), random_(seed), noise_(noise) {}

    void call(const CallKind& kind, double between_ns = 0) {
        if (++calls_ == compares_at_) compare();
        const uint32_t way = live.force(kind);
        const bool is_timed = live.is_timed(kind);
        now_ns_ += between_ns;
        const double arrived_ns = now_ns_;
        now_ns_ += way_ns_[way] * (1 + noise_ * std::abs(normal_(random_)));
        if (is_timed) {
            times_.push_back({static_cast<int64_t>(arrived_ns), static_cast<int64_t>(now_ns_)});
            if (way == silent_way) times_.back().left_ns = INT64_MIN;
        }
        live.ran(kind);
        ++used_[way];
        const auto& asked = live.questions();
        if (!asked.empty() && !asked[0].ways.empty() &&
            way != asked[0].ways[asked[0].in_use].force) {
            ++trials;
        }
    }
    void calls(int count, const CallKind& kind, double between_ns = 0) {
        for (int i = 0; i < count; ++i) call(kind, between_ns);
    }

    [[nodiscard]] uint64_t used(uint32_t way) const { return used_[way]; }
    [[nodiscard]] uint32_t in_use() const { return live.questions()[0].in_use; }
    void change(uint32_t way, double ns) { way_ns_[way] = ns; }

    Live live{false};
    uint32_t silent_way = UINT32_MAX;
    uint64_t comparisons = 0;
    uint64_t trials = 0;  // of the first kind

  private:
    void compare() {
        ++comparisons;
        const auto [name, calls] = live.wish(calls_);
        live.heard(times_, calls_);
        times_.clear();
        if (name != 0 && live.wants_ways(name)) {
            std::vector<Way> ways;
            for (uint32_t i = 0; i < way_ns_.size(); ++i) ways.push_back({i, std::to_string(i)});
            live.set_ways(name, std::move(ways));
        }
        if (name != 0) live.begin(name);
        compares_at_ = calls_ + calls;
    }

    std::vector<double> way_ns_;
    std::mt19937 random_;
    std::normal_distribution<double> normal_;
    double noise_;
    double now_ns_ = 0;
    uint64_t calls_ = 0;
    uint64_t compares_at_ = 128;
    std::vector<Live::Times> times_;
    std::array<uint64_t, 8> used_{};
};

constexpr uint32_t kSeeds = 100;

TEST(Live, FindsTheFastestWay) {
    uint32_t found = 0;
    for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
        Program program({100e3, 140e3, 80e3, 250e3}, seed);
        program.calls(5000, allreduce_of(8));
        if (program.in_use() == 2) ++found;
    }
    EXPECT_GE(found, kSeeds * 95 / 100);
}

TEST(Live, StaysWhereNothingIsFaster) {
    uint32_t changed = 0;
    for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
        Program program({100e3, 100e3, 110e3}, seed);
        program.calls(20'000, allreduce_of(8));
        if (program.in_use() != 0) ++changed;
        EXPECT_NE(program.in_use(), 2u) << seed;
    }
    // One that takes as long does no harm.
    EXPECT_LE(changed, kSeeds / 5);
}

TEST(Live, TrialsAreATwentiethOfTheCalls) {
    for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
        Program program({100e3, 95e3, 105e3, 110e3, 290e3}, seed, 0.3);
        for (uint64_t i = 1; i <= 20'000; ++i) {
            program.call(allreduce_of(8));
            ASSERT_LE(program.trials * Live::kShare, i) << seed;
        }
        EXPECT_GT(program.trials, 0u);
    }
}

TEST(Live, MembersCompareSeldom) {
    Program program({100e3, 140e3}, 1);
    program.calls(100'000, allreduce_of(8));
    EXPECT_LE(program.comparisons, 100'000u / 1000);
}

// One turn of a way that takes ten times as long.
TEST(Live, HopelessWaysCostATurn) {
    Program program({100e3, 1e6}, 1);
    program.calls(128 + 256, allreduce_of(8));
    EXPECT_EQ(program.used(1), Live::kTimesATurn);
    EXPECT_EQ(program.live.questions()[0].ways[1].outcome, Way::Outcome::kSlower);
}

TEST(Live, ShortCallsComeInLongTurns) {
    Program program({500, 400}, 1);
    program.calls(50'000, allreduce_of(8));
    EXPECT_EQ(program.in_use(), 1u);
}

// What the program does between its calls says nothing of calls in which all wait for all.
TEST(Live, OfCallsThatAreFarApartEachCounts) {
    uint32_t found = 0;
    for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
        std::mt19937 random(seed);
        Program program({100e3, 70e3}, seed);
        for (int i = 0; i < 4000; ++i) {
            program.call(allreduce_of(8), std::uniform_real_distribution(0.0, 10e6)(random));
        }
        if (program.in_use() == 1) ++found;
    }
    EXPECT_GE(found, kSeeds * 95 / 100);
}

TEST(Live, RootedCallsAreTimedInRows) {
    Program program({100e3, 70e3}, 3);
    program.calls(2000, {.collective = TUTTI_BCAST, .bytes = 8});
    EXPECT_EQ(program.in_use(), 1u);
}

TEST(Live, AsksAgainLater) {
    Program program({100e3, 80e3}, 1);
    program.calls(3000, allreduce_of(8));
    ASSERT_EQ(program.in_use(), 1u);
    program.change(1, 200e3);
    program.calls(20'000, allreduce_of(8));
    EXPECT_EQ(program.in_use(), 0u);
}

// What was measured while ranks shared a core, say: samples show that it is over.
TEST(Live, SamplesShowDrift) {
    Program program({100e3, 80e3}, 1);
    program.calls(3000, allreduce_of(8));
    ASSERT_EQ(program.in_use(), 1u);
    program.change(0, 10e3);
    program.change(1, 20e3);
    ASSERT_GT(program.live.questions()[0].share, Live::kShare);
    for (int i = 0; i < 5; ++i) program.live.sampled(0, {0, 20'000});
    program.live.sampled(0, {0, 80'000});
    program.live.sampled(0, {0, INT64_MIN});
    EXPECT_GT(program.live.questions()[0].share, Live::kShare);
    for (int i = 0; i < 2; ++i) program.live.sampled(0, {0, 20'000});
    EXPECT_EQ(program.live.questions()[0].share, Live::kShare);
    program.calls(4000, allreduce_of(8));
    EXPECT_EQ(program.in_use(), 0u);
}

TEST(Live, AWayThatNobodyTimesHasLost) {
    Program program({100e3, 80e3}, 1);
    program.silent_way = 1;
    program.calls(3000, allreduce_of(8));
    EXPECT_EQ(program.in_use(), 0u);
}

TEST(Live, KindsAreToldApart) {
    Program program({100e3, 80e3}, 1);
    for (int i = 0; i < 4000; ++i) {
        program.call(allreduce_of(8 + 8 * (static_cast<uint64_t>(i) % 40)));
    }
    EXPECT_EQ(program.live.questions().size(), Live::kKindsMax);
    EXPECT_EQ(program.live.force(allreduce_of(8 * 40)), 0u);
    EXPECT_NE(allreduce_of(8).name(), allreduce_of(16).name());
}

// Kinds that a program has done with make room for others.
TEST(Live, WhatComesNoMoreGivesWay) {
    Program program({100e3, 80e3}, 1);
    for (uint64_t kind = 0; kind < 20; ++kind) program.calls(3, allreduce_of(1000 + 8 * kind));
    EXPECT_EQ(program.live.questions().size(), Live::kKindsMax);
    program.calls(6000, allreduce_of(8));
    const uint32_t found = program.live.find(allreduce_of(8));
    ASSERT_NE(found, Live::kNone);
    EXPECT_EQ(program.live.questions()[found].in_use, 1u);
}

TEST(Live, GathersAndScattersAreNotAsked) {
    Live all(true);
    all.ran({.collective = TUTTI_GATHER, .bytes = 8});
    all.ran({.collective = TUTTI_SCATTER, .bytes = 8});
    EXPECT_TRUE(all.questions().empty());
}

TEST(Live, ReductionsWhoseBitsChangeAreForAllAlone) {
    CallKind kind = allreduce_of(8);
    kind.is_exact = false;
    Program program({100e3, 80e3}, 1);
    program.calls(100, kind);
    EXPECT_TRUE(program.live.questions().empty());
    Live all(true);
    all.ran(kind);
    EXPECT_EQ(all.questions().size(), 1u);
}

// A batch that members have not timed alike says nothing, and has its price.
TEST(Live, ABatchThatIsNotWholeIsTriedAgain) {
    Live live(false);
    const CallKind kind = allreduce_of(8);
    for (int i = 0; i < 1000; ++i) live.ran(kind);
    const auto [name, calls] = live.wish(1000);
    ASSERT_NE(live.wants_ways(name), nullptr);
    live.set_ways(name, {{0, "a"}, {1, "b"}});
    live.begin(name);
    ASSERT_TRUE(live.is_timed(kind));
    live.heard({}, 1000 + calls);
    EXPECT_FALSE(live.is_timed(kind));
    EXPECT_GT(live.questions()[0].spent, 0u);
    EXPECT_EQ(live.questions()[0].batches, 0u);
    for (int i = 0; i < 1000; ++i) live.ran(kind);
    EXPECT_EQ(live.wish(2000 + calls).calls, 2 * calls);
}

TEST(Live, WhereThereIsOneWayItIsAskedAgainLater) {
    Live live(false);
    const CallKind kind = allreduce_of(8);
    for (int i = 0; i < 1000; ++i) live.ran(kind);
    const uint64_t name = live.wish(1000).name;
    live.set_ways(name, {{0, "a"}});
    live.begin(name);
    EXPECT_FALSE(live.is_timed(kind));
    for (int times = 0; live.wish(1000).name != 0; ++times) {
        ASSERT_LT(times, 10);
        ASSERT_NE(live.wants_ways(name), nullptr);
        live.set_ways(name, {{0, "a"}});
    }
    for (int i = 0; i < 10'000; ++i) live.ran(kind);
    EXPECT_EQ(live.wish(11'000).name, name);
    live.set_ways(name, {{0, "a"}, {1, "b"}});
    live.begin(name);
    EXPECT_TRUE(live.is_timed(kind));
}

// Ways that come and go: what was found of those that stay is kept, and so is the one in use.
TEST(Live, WaysMayChange) {
    Program program({100e3, 80e3, 120e3}, 1);
    program.calls(3000, allreduce_of(8));
    ASSERT_EQ(program.in_use(), 1u);
    const uint64_t name = program.live.questions()[0].name;
    program.live.set_ways(name, {{0, "0"}, {2, "2"}, {3, "3"}});
    const Live::Question& question = program.live.questions()[0];
    ASSERT_EQ(question.ways.size(), 4u);
    EXPECT_EQ(question.ways[question.in_use].force, 1u);
    EXPECT_EQ(question.ways[1].outcome, Way::Outcome::kSlower);
    EXPECT_EQ(program.live.force(allreduce_of(8)), 1u);
}

}  // namespace
}  // namespace tutti::select
