// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/measured_facts.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti::node {
namespace {

// Two sockets: streams, and single copy from 32 KiB on.
NodeStory far_story() {
    NodeStory story;
    story.host = "node7";
    story.processes = 1;
    story.ranks = 4;
    story.can_read = story.may_read = true;
    story.ring_bytes = 2097152;
    story.has_measured = true;
    Figures& figures = story.figures;
    figures.barrier_ns = 1234;
    figures.way_ns = {31000, 25000, 30000, 15600};
    figures.one_way.ring[2] = 8000;
    figures.one_way.single[2] = 7000;
    figures.one_way.single[3] = 12000;
    figures.short_ns = 300;
    figures.fold_ns = 17000;
    figures.readers_ns[1] = 9000;
    figures.readers_ns[2] = 11000;
    Tuning& tuning = story.tuning;
    tuning.way = CopyWay::kStream;
    tuning.pieces = {4, 8192, 65536};
    tuning.single_one_way = 32768;
    tuning.single_scatter = 16384;
    tuning.readers_max = 2;
    return story;
}

NodeStory crowded_story() {
    NodeStory story;
    story.host = "node7";
    story.processes = 2;
    story.ranks = 8;
    story.ring_bytes = 524288;
    story.unmeasured = "ranks share processors";
    story.tuning.single_once = 32768;
    return story;
}

// A line each; texts as they are, without units.
std::string listed(const FactRow& row) {
    std::string text;
    for (const Fact& fact : row.facts) {
        if (fact.name.ends_with('/')) continue;
        Fact plain = fact;
        plain.unit = TUTTI_UNIT_NONE;
        text += fact.name + " " + value_text(plain) + "\n";
    }
    return text;
}

TEST(MeasuredFacts, HaveTheNamesOfTheReport) {
    EXPECT_EQ(listed(facts_of(far_story())),
              "host node7\n"
              "ranks 4\n"
              "communicators 1\n"
              "lean_communicators 0\n"
              "measured yes\n"
              "measured_again 0\n"
              "barrier_ns 1,234\n"
              "one_way_64k_ns/plain 31,000\n"
              "one_way_64k_ns/prefetch 25,000\n"
              "one_way_64k_ns/string 30,000\n"
              "one_way_64k_ns/stream 15,600\n"
              "one_way/0/bytes 32,768\n"
              "one_way/0/rings_ns 8,000\n"
              "one_way/0/single_copy_ns 7,000\n"
              "one_way/1/bytes 65,536\n"
              "one_way/1/single_copy_ns 12,000\n"
              "one_way_1k_ns 300\n"
              "folded_64k_ns 17,000\n"
              "one_way_64k_readers/0/readers 2\n"
              "one_way_64k_readers/0/single_copy_ns 9,000\n"
              "one_way_64k_readers/1/readers 4\n"
              "one_way_64k_readers/1/single_copy_ns 11,000\n"
              "follows/way stream\n"
              "follows/pieces 4\n"
              "follows/piece_bytes_min 8,192\n"
              "follows/piece_bytes_max 65,536\n"
              "follows/ring_bytes 2,097,152\n"
              "follows/single_copy yes\n"
              "follows/single_copy_one_way_from_bytes 32,768\n"
              "follows/single_copy_all_ways_from_bytes never\n"
              "follows/single_copy_scatter_from_bytes 16,384\n"
              "follows/single_copy_once_from_bytes never\n"
              "follows/single_copy_readers_max 2\n");
    EXPECT_EQ(listed(facts_of(crowded_story())),
              "host node7\n"
              "ranks 8\n"
              "communicators 1\n"
              "lean_communicators 0\n"
              "measured no\n"
              "reason ranks share processors\n"
              "follows/way prefetch\n"
              "follows/pieces 8\n"
              "follows/piece_bytes_min 2,048\n"
              "follows/piece_bytes_max 16,384\n"
              "follows/ring_bytes 524,288\n"
              "follows/single_copy no\n"
              "follows/single_copy_one_way_from_bytes never\n"
              "follows/single_copy_all_ways_from_bytes never\n"
              "follows/single_copy_scatter_from_bytes never\n"
              "follows/single_copy_once_from_bytes 32,768\n"
              "follows/single_copy_readers_max never\n");
}

TEST(MeasuredFacts, Text) {
    NodeStory lean = far_story();
    lean.is_lean = true;
    lean.again = 2;
    FactRow row = facts_of(far_story());
    row.merge(facts_of(lean));
    row.merge(facts_of(far_story()));
    EXPECT_TRUE(
        row.text().starts_with("within node7, 4 ranks, 3 communicators (1 lean), measured "
                               "again 2 times: barrier 1.2"))
        << row.text();
    EXPECT_NE(row.text().find("\n  -> copies by stream in pieces of up to 64 KiB; single copy"),
              std::string::npos)
        << row.text();
    EXPECT_TRUE(facts_of(crowded_story())
                    .text()
                    .starts_with("within node7, 8 ranks, 1 communicator: not measured: ranks share "
                                 "processors\n  -> copies by prefetch"))
        << facts_of(crowded_story()).text();
}

// Of teams of the same processes.
TEST(MeasuredFacts, WhatWasMeasuredLastSpeaks) {
    NodeStory earlier = far_story();
    earlier.has_measured = false;
    NodeStory moved = earlier;
    moved.again = 1;
    NodeStory unmeasured = crowded_story();
    unmeasured.ranks = far_story().ranks;
    EXPECT_GT(facts_of(far_story()).weight, facts_of(earlier).weight);
    EXPECT_GT(facts_of(moved).weight, facts_of(far_story()).weight);
    EXPECT_LT(facts_of(unmeasured).weight, facts_of(earlier).weight);
    moved.again = UINT32_MAX;
    EXPECT_LT(facts_of(moved).weight, facts_of(crowded_story()).weight) << "of more ranks";
}

TEST(MeasuredFacts, HostsAndSetsStayApart) {
    NodeStory other = far_story();
    other.host = "node8";
    EXPECT_NE(facts_of(other).key, facts_of(far_story()).key);
    other = far_story();
    other.processes = 3;
    EXPECT_NE(facts_of(other).key, facts_of(far_story()).key);
    other = far_story();
    other.rank = 1;
    EXPECT_EQ(facts_of(other).key, facts_of(far_story()).key);
    EXPECT_FALSE(facts_of(other).is_told) << "the first of each team tells";
}

}  // namespace
}  // namespace tutti::node
