// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/trip_rounds.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace tutti::survey {
namespace {

using Pair = std::pair<uint32_t, uint32_t>;

// How often each pair met, either way round, until the stage was done.
std::map<Pair, uint32_t> meetings(TripRounds& rounds, const LostHosts& lost, double time_ns) {
    std::map<Pair, uint32_t> met;
    for (auto pairs = rounds.ask(lost); !pairs.empty(); pairs = rounds.ask(lost)) {
        for (const auto [from, to] : pairs) ++met[std::minmax(from, to)];
        rounds.take(pairs, std::vector<double>(pairs.size(), time_ns));
    }
    return met;
}

TEST(TripRounds, AllPairsMeetOnceInEachPass) {
    for (uint32_t hosts = 2; hosts <= 17; ++hosts) {
        TripRounds rounds(hosts, 100);
        const auto met = meetings(rounds, LostHosts(hosts), 1000);
        EXPECT_EQ(met.size(), hosts * (hosts - 1) / 2) << hosts;
        for (const auto& [pair, times] : met) EXPECT_EQ(times, 2u) << hosts;
        EXPECT_EQ(rounds.trips().size(), hosts * (hosts - 1) / 2) << hosts;
    }
}

TEST(TripRounds, LostHostsMeetNobody) {
    LostHosts lost(6);
    lost.lose(4);
    TripRounds rounds(6, 100);
    for (const auto& [pair, times] : meetings(rounds, lost, 1000)) {
        EXPECT_NE(pair.first, 4u);
        EXPECT_NE(pair.second, 4u);
    }
}

TEST(TripRounds, TooManyHostsMeetAFewAndMakeNoGroups) {
    TripRounds rounds(64, 32);
    EXPECT_EQ(meetings(rounds, LostHosts(64), 1000).size(), 8u * 32);
    EXPECT_TRUE(rounds.groups().empty());
}

TEST(TripRounds, AreOverWhenNobodyAnswers) {
    TripRounds rounds(8, 100);
    EXPECT_EQ(meetings(rounds, LostHosts(8), kNoSpeed).size(), 3u * 4);
    for (uint32_t host = 0; host < 8; ++host) EXPECT_TRUE(rounds.is_silent(host));
}

}  // namespace
}  // namespace tutti::survey
