// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/arrival_facts.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti::engine {
namespace {

std::string host_of(uint32_t rank) { return "node" + std::to_string(rank); }

// 40 samples of 64 calls each; rank 2 is the last in 30 of them.
adapt::ArrivalFigures figures() {
    adapt::ArrivalFigures figures;
    figures.samples = 40;
    figures.spread_ns = 40 * uint64_t{1'500'000};
    figures.spread_ns_max = 9'000'000;
    figures.delay_samples = 20;
    figures.delay_ns = 20 * uint64_t{30'000};
    figures.delay_ns_max = 50'000;
    figures.waited_ns = 40 * uint64_t{3'000'000};
    for (int i = 0; i < 40; ++i) figures.last_ones.add(i < 30 ? 2 : 0);
    return figures;
}

ArrivalStory story_of(const adapt::ArrivalFigures& figures) {
    return {.collective = TUTTI_ALLREDUCE,
            .ranks = 64,
            .calls_per_sample = 64,
            .clock_error_ns = 12'000,
            .figures = figures};
}

template <class Value>
Value value_of(const FactRow& row, const char* name) {
    const Fact* fact = row.find(name);
    if (fact == nullptr || !std::holds_alternative<Value>(fact->value)) {
        ADD_FAILURE() << name;
        return {};
    }
    return std::get<Value>(fact->value);
}

TEST(ArrivalFacts, SayWhoIsLate) {
    const adapt::ArrivalFigures found = figures();
    const FactRow row = facts_of(story_of(found), host_of);
    EXPECT_EQ(row.text(),
              "late: rank 2 on node2 was last in 30 of 40 sampled allreduces of 64 ranks, on "
              "average 1.5 ms after the first");
    // All 64 ranks together.
    EXPECT_EQ(row.weight, uint64_t{7'680'000'000});
    EXPECT_DOUBLE_EQ(value_of<double>(row, "waited_s"), 7.68);
    EXPECT_DOUBLE_EQ(value_of<double>(row, "spread/mean_s"), 1.5e-3);
    EXPECT_DOUBLE_EQ(value_of<double>(row, "spread/max_s"), 9e-3);
    EXPECT_DOUBLE_EQ(value_of<double>(row, "synchronization_delay/mean_s"), 30e-6);
    EXPECT_DOUBLE_EQ(value_of<double>(row, "clock_error_s"), 12e-6);
    EXPECT_EQ(value_of<uint64_t>(row, "last/1/rank"), 0u);
    EXPECT_EQ(value_of<uint64_t>(row, "last/1/samples"), 10u);
    EXPECT_EQ(value_of<std::string>(row, "last/1/host"), "node0");
    EXPECT_EQ(row.find("last/2/rank"), nullptr);
    EXPECT_EQ(row.find("last/0/rank")->unit, TUTTI_UNIT_RANK);
    EXPECT_EQ(row.find("follows_since_call"), nullptr);
}

TEST(ArrivalFacts, SaySinceWhenCallsFollow) {
    const adapt::ArrivalFigures found = figures();
    ArrivalStory story = story_of(found);
    story.follows_since = 812;
    const FactRow row = facts_of(story, host_of);
    EXPECT_EQ(value_of<uint64_t>(row, "follows_since_call"), 812u);
    EXPECT_TRUE(
        row.text().ends_with("; from call 812 on short ones are released by the last rank "
                             "to come"))
        << row.text();
}

// All members know them; each waited for itself.
TEST(ArrivalFacts, TheFirstMemberTellsForAll) {
    const adapt::ArrivalFigures found = figures();
    ArrivalStory story = story_of(found);
    EXPECT_TRUE(facts_of(story, host_of).is_told);
    story.rank = 1;
    EXPECT_FALSE(facts_of(story, host_of).is_told);
    EXPECT_TRUE(own_wait(1e6).is_told);
    EXPECT_TRUE(own_lateness(TUTTI_BARRIER, found).is_told);
}

// Nobody knows who waited for whom there, and perhaps no exit.
TEST(ArrivalFacts, NoWordsOfRootedCalls) {
    adapt::ArrivalFigures found = figures();
    found.waited_ns = 0;
    found.delay_samples = 0;
    const FactRow row = facts_of(story_of(found), host_of);
    EXPECT_EQ(row.text(), "");
    EXPECT_EQ(row.weight, 0u);
    EXPECT_EQ(row.find("synchronization_delay/mean_s"), nullptr);
}

// Sample 18 of 18 is the last, and the ring begins again behind 16.
TEST(ArrivalFacts, TheLastSamplesOldestFirst) {
    adapt::ArrivalFigures found;
    found.samples = 18;
    for (uint64_t sample = 0; sample < found.samples; ++sample) {
        found.recent_late_ns[sample % adapt::ArrivalFigures::kRecentMax] = 1000 * sample;
    }
    const FactRow row = own_lateness(TUTTI_BARRIER, found);
    EXPECT_TRUE(row.by_rank);
    EXPECT_EQ(value_of<std::string>(row, "recorded/collective"), "barrier");
    EXPECT_DOUBLE_EQ(value_of<double>(row, "recorded/late_s/0"), 2e-6);
    EXPECT_DOUBLE_EQ(value_of<double>(row, "recorded/late_s/15"), 17e-6);
    EXPECT_EQ(row.find("recorded/late_s/16"), nullptr);
}

}  // namespace
}  // namespace tutti::engine
