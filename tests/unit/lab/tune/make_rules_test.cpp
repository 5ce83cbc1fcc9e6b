// SPDX-License-Identifier: BSD-3-Clause
#include "lab/tune/make_rules.h"

#include <gtest/gtest.h>

namespace tutti::tune {
namespace {

constexpr JobShape kJob{.ranks = 16, .hosts = 8, .ranks_per_host = 2};

MeasuredCall call(tutti_collective collective, uint64_t bytes, double host_us,
                  std::vector<Timed> ours) {
    return {collective, bytes, host_us, std::move(ours)};
}

std::string text_of(const std::vector<MeasuredCall>& calls, const JobShape& job = kJob) {
    std::string text;
    for (const select::Rule& rule : rules_of(calls, {}, job)) text += rule_text(rule);
    return text;
}

const Candidate kRing{"ring"};
const Candidate kPieces{"ring", {.segment_bytes = 64 << 10, .lanes_in_flight = 4}};
const Candidate kChain{"chain", {.flat = true, .order = algo::Order::kRanks}};

TEST(TunedRules, FromOneWinnerToTheNextHalfWay) {
    EXPECT_EQ(text_of({call(TUTTI_ALLREDUCE, 1 << 20, 900, {{kRing, 800}, {kPieces, 700}}),
                       call(TUTTI_ALLREDUCE, 1 << 10, 20, {{kRing, 40}}),
                       call(TUTTI_ALLREDUCE, 64 << 10, 90, {{kRing, 95}, {kPieces, 50}})}),
              "[[rule]]\n"
              "collective = \"allreduce\"\n"
              "bytes = \"..8K\"\n"
              "ranks = 16\n"
              "hosts = 8\n"
              "ranks_per_host = 2\n"
              "contiguous = true\n"
              "algorithm = \"host\"\n"
              "why = \"measured: at 1 KiB 20 us, ring 40 us\"\n"
              "[[rule]]\n"
              "collective = \"allreduce\"\n"
              "bytes = \"8193..\"\n"
              "ranks = 16\n"
              "hosts = 8\n"
              "ranks_per_host = 2\n"
              "contiguous = true\n"
              "algorithm = \"ring\"\n"
              "segment = \"64K\"\n"
              "lanes = 4\n"
              "why = \"measured: at 64 KiB 50 us, your MPI 90 us; at 1 MiB 700 us, your MPI 900 "
              "us\"\n");
}

TEST(TunedRules, TheHostsOwnStaysWhereItIsFasterByMoreThanNoise) {
    const auto first = [](double ours_us) {
        const std::vector<MeasuredCall> calls{
            call(TUTTI_BCAST, 8, 100, {{Candidate{"binomial"}, ours_us}})};
        return rules_of(calls, {}, kJob).front().algorithm;
    };
    EXPECT_EQ(first(99), "binomial");
    EXPECT_EQ(first(100 * kHostWins), "binomial");
    EXPECT_EQ(first(100 * kHostWins + 1), "host");
}

// Half-way to what there was no time for the rules end: there calls go by price.
TEST(TunedRules, EndWhereNothingWasMeasured) {
    const std::vector<MeasuredCall> calls{call(TUTTI_BCAST, 1 << 10, 9, {{kRing, 5}})};
    const std::vector<PlannedCall> left_out{{TUTTI_BCAST, 64 << 10, {}, 0},
                                            {TUTTI_BCAST, 4 << 10, {}, 0},
                                            {TUTTI_BCAST, 8, {}, 0},
                                            {TUTTI_REDUCE, 2 << 10, {}, 0}};
    const auto rules = rules_of(calls, left_out, kJob);
    ASSERT_EQ(rules.size(), 1u);
    EXPECT_EQ(rules[0].bytes, (select::Range{0, 2 << 10}));
}

TEST(TunedRules, WhatCouldNotRunLeavesItToTheHost) {
    EXPECT_EQ(text_of({call(TUTTI_BARRIER, 0, 7, {})}, {.ranks = 4, .hosts = 1}),
              "[[rule]]\ncollective = \"barrier\"\nranks = 4\nhosts = 1\nalgorithm = \"host\"\n"
              "why = \"measured: 7 us\"\n");
}

// Everything that a rule may say comes back from its text.
TEST(TunedRules, AreReadAsTheyWereWritten) {
    const std::vector<MeasuredCall> calls{
        call(TUTTI_BCAST, 8, 100, {{kChain, 9}}), call(TUTTI_BCAST, 128, 100, {{kRing, 200}}),
        call(TUTTI_GATHER, 8, 5, {{Candidate{"direct", {.fan_in = 2}}, 4}})};
    const JobShape job{.ranks = 17, .hosts = 8, .ranks_per_host = 0, .is_contiguous = false};
    const auto rules = rules_of(calls, {}, job);
    const auto read = select::Rules::parse(text_of(calls, job), "t");
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read.value().rules().size(), rules.size());
    for (size_t i = 0; i < rules.size(); ++i) {
        const select::Rule& one = read.value().rules()[i];
        EXPECT_EQ(one.collectives, rules[i].collectives);
        EXPECT_EQ(one.bytes, rules[i].bytes);
        EXPECT_EQ(one.ranks, rules[i].ranks);
        EXPECT_EQ(one.hosts, rules[i].hosts);
        EXPECT_EQ(one.ranks_per_host, rules[i].ranks_per_host);
        EXPECT_EQ(one.contiguous, rules[i].contiguous);
        EXPECT_EQ(one.algorithm, rules[i].algorithm);
        EXPECT_EQ(one.tuning, rules[i].tuning);
        EXPECT_EQ(one.why, rules[i].why);
    }
}

// Whatever people write in one.
TEST(TunedRules, OfPeopleAreWrittenAsTheyWereRead) {
    const std::string text =
        "[[rule]]\ncollective = [\"gather\", \"scatter\"]\nbytes = \"1K..64K\"\nranks = 16\n"
        "hosts = \"2..\"\nranks_per_host = \"..4\"\nswitches = 2\nhosts_per_switch = 4\n"
        "contiguous = false\nmpi = [\"openmpi\", \"impi\"]\nmulticast = true\n"
        "multicast_mbit = \"100..\"\nalgorithm = \"direct\"\nfan_in = 2\nwhy = \"\\\"so\\\"\"\n"
        "[[rule]]\ncollective = \"bcast\"\nbytes = \"64K\"\nhosts = 1\nalgorithm = \"node:small\"\n"
        "[[rule]]\ncollective = \"allreduce\"\ncommutative = true\nalgorithm = \"ring\"\n"
        "segment = \"64K\"\nlanes = 4\nleaders = 2\norder = \"ranks\"\n";
    const auto read = select::Rules::parse(text, "t");
    ASSERT_TRUE(read) << read.error().message;
    std::string written;
    for (const select::Rule& rule : read.value().rules()) written += rule_text(rule);
    EXPECT_EQ(written, text);
}

TEST(TunedRules, OfOtherJobsStay) {
    const auto rule = [](const char* more) {
        return std::string("[[rule]]\ncollective = \"bcast\"\n") + more + "algorithm = \"host\"\n";
    };
    const std::string own = "ranks = 16\nhosts = 8\nranks_per_host = 2\ncontiguous = true\n";
    const auto read = select::Rules::parse(
        "[tuned]\nmpi = \"m\"\nhosts = \"n#\"\nprocessor = \"p\"\n" + rule(own.c_str()) +
            rule("ranks = 32\nhosts = 16\nranks_per_host = 2\ncontiguous = true\n") +
            rule("ranks = 16\nhosts = 8\nranks_per_host = 2\ncontiguous = false\n"),
        "t");
    ASSERT_TRUE(read) << read.error().message;
    const auto kept = kept_rules(read.value(), {"m", "n#", "p"}, kJob);
    ASSERT_EQ(kept.size(), 2u);
    EXPECT_EQ(kept[0].ranks, (select::Range{32, 32}));
    EXPECT_EQ(kept[1].contiguous, false);
    EXPECT_TRUE(kept_rules(read.value(), {"another", "n#", "p"}, kJob).empty());
    EXPECT_TRUE(kept_rules(select::Rules::built_in(), {"m", "n#", "p"}, kJob).empty());
}

}  // namespace
}  // namespace tutti::tune
