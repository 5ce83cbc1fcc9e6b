// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/live_facts.h"

#include <gtest/gtest.h>

namespace tutti::select {
namespace {

constexpr uint32_t kRanks = 16;

// Of a broadcast of 64 KiB: the MPI's own, and a chain that was tried.
Live::Question question(uint64_t chain_ns, bool is_decided) {
    Live::Question asked;
    asked.kind.collective = TUTTI_BCAST;
    asked.kind.bytes = 65536;
    asked.calls = 3000;
    asked.ways.resize(2);
    asked.ways[0].name = "host";
    asked.ways[1].name = "chain:segment=16K";
    asked.ways[1].ns = chain_ns;
    asked.ways[1].instead_ns = 236'000'000;
    if (is_decided) {
        const bool is_faster = chain_ns < asked.ways[1].instead_ns;
        asked.ways[1].outcome = is_faster ? Way::Outcome::kFaster : Way::Outcome::kSlower;
        if (is_faster) {
            asked.in_use = 1;
            asked.since = 1812;
        }
    }
    return asked;
}

TEST(LiveFacts, Text) {
    EXPECT_EQ(facts_of(question(24'000'000, true), 0, kRanks).text(),
              "live: bcast of 65,536 bytes, 16 ranks: chain:segment=16K from call 1,812 on, 24 ms, "
              "236 ms before; first host");
    EXPECT_EQ(facts_of(question(300'000'000, true), 0, kRanks).text(),
              "live: bcast of 65,536 bytes, 16 ranks: nothing was faster than host");
    EXPECT_EQ(facts_of(question(0, false), 0, kRanks).text(),
              "live: bcast of 65,536 bytes, 16 ranks: no trial beside host has ended");
    Live::Question barrier = question(0, false);
    barrier.kind = CallKind{};
    EXPECT_EQ(facts_of(barrier, 0, kRanks).text(),
              "live: barrier, 16 ranks: no trial beside host has ended");
}

TEST(LiveFacts, HaveTheNamesOfTheReport) {
    const FactRow row = facts_of(question(24'000'000, true), 0, kRanks);
    EXPECT_EQ(row.subject, "tuning/calls");
    EXPECT_EQ(row.find("collective")->value, Fact::Value("bcast"));
    EXPECT_EQ(row.find("runs_by")->value, Fact::Value("chain:segment=16K"));
    EXPECT_EQ(row.find("first")->value, Fact::Value("host"));
    EXPECT_EQ(row.find("since_call")->value, Fact::Value(uint64_t{1812}));
    EXPECT_EQ(row.find("tried/0/algorithm")->value, Fact::Value("chain:segment=16K"));
    EXPECT_EQ(row.find("tried/0/seconds")->value, Fact::Value(24'000'000 * 1e-9));
    EXPECT_EQ(row.find("tried/0/instead_of_seconds")->value, Fact::Value(236'000'000 * 1e-9));
    EXPECT_EQ(row.find("tried/0/decided")->value, Fact::Value(true));
    EXPECT_EQ(row.find("tried/1/algorithm"), nullptr);
    EXPECT_NE(facts_of(question(0, false), 0, kRanks).find("tried/"), nullptr);
}

TEST(LiveFacts, TheFirstRankTellsOfWhatCanBeTried) {
    EXPECT_TRUE(facts_of(question(0, false), 0, kRanks).is_told);
    EXPECT_FALSE(facts_of(question(0, false), 1, kRanks).is_told);
    Live::Question one = question(0, false);
    one.ways.resize(1);
    EXPECT_FALSE(facts_of(one, 0, kRanks).is_told);
    one.ways.clear();  // nobody has asked yet
    EXPECT_FALSE(facts_of(one, 0, kRanks).is_told);
    EXPECT_EQ(facts_of(one, 0, kRanks).find("ways")->value, Fact::Value(uint64_t{0}));
}

TEST(LiveFacts, WhatGainedMostStandsFirst) {
    Live::Question often = question(235'999'000, true);
    often.calls = 1'000'000;
    EXPECT_GT(facts_of(question(24'000'000, true), 0, kRanks).weight,
              facts_of(often, 0, kRanks).weight);
    EXPECT_GT(facts_of(often, 0, kRanks).weight,
              facts_of(question(300'000'000, true), 0, kRanks).weight);
    often.calls = UINT64_MAX / 2;
    EXPECT_GT(facts_of(often, 0, kRanks).weight, often.calls);
}

}  // namespace
}  // namespace tutti::select
