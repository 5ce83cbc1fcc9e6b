// SPDX-License-Identifier: BSD-3-Clause
// Those who meet: right trees are proved, and each way to get one wrong is found and named.
#include <gtest/gtest.h>

#include <string>

#include "faults.h"
#include "lab/check/count.h"

namespace tutti::check {
namespace {

// Vectors of 8 bytes: messages of 32, and room for two of them.
std::string with(const std::string& whom, uint32_t place) {
    return "meet_with " + whom + " scratch[" + std::to_string(64 * place) + "+64]\n";
}
const std::string kMeet = "meet output[0+8] = input[0+8] by scratch[192+32]\n";
constexpr Extent kExtent{1, 1, 1, 224};

Shape ordered(uint32_t ranks) {
    Shape shape = shape_of(TUTTI_ALLREDUCE, ranks, 8);
    shape.is_commutative = false;
    return shape;
}

// 0 - 1, 0 - 3, 1 - 2
const Lines kFour = {with("child 1", 0) + with("child 3", 1) + kMeet,
                     with("parent 0", 0) + with("child 2", 1) + kMeet, with("parent 1", 0) + kMeet,
                     with("parent 0", 0) + kMeet};

Lines faults_with(uint32_t rank, const std::string& body) {
    Lines bodies = kFour;
    bodies[rank] = body;
    return faults_of(ordered(4), kExtent, bodies);
}

TEST(CheckMeet, ProvesATree) {
    EXPECT_EQ(faults_of(ordered(4), kExtent, kFour), Lines{});
    EXPECT_EQ(faults_of(shape_of(TUTTI_BARRIER, 2, 0), {1, 1, 1, 48}, sched::kTwoWhoMeet), Lines{});
    EXPECT_EQ(faults_of(ordered(1), kExtent, {kMeet}), Lines{});
}

// Up to the top and down again, as if all came at once.
TEST(CheckMeet, IsCountedAsMessages) {
    const auto programs = written(ordered(4), kExtent, kFour);
    EXPECT_EQ(critical_rounds(alone(4), programs), 4u);
    const Count middle = count(*programs[1]);
    EXPECT_EQ(middle.messages_sent, 2u);
    EXPECT_EQ(middle.bytes_sent, 64u);
    EXPECT_EQ(middle.messages_received, 2u);
    EXPECT_EQ(middle.bytes_received, 64u);
    EXPECT_EQ(middle.reduced_bytes, 16u);
    EXPECT_EQ(middle.rounds, 1u);
    const auto passages = steps(alone(4), programs);
    ASSERT_EQ(passages.size(), 4u);
    EXPECT_EQ(passages[0].size(), 2u);  // 2 -> 1, 3 -> 0
    EXPECT_EQ(passages[3].size(), 1u);  // 1 -> 2
    EXPECT_EQ(passages[3][0].bytes, 32u);
}

TEST(CheckMeet, ThoseWhoDoNotKnowEachOther) {
    expect_fault(faults_with(3, with("parent 1", 0) + kMeet), "that rank does not know of it");
    expect_fault(faults_with(0, with("child 1", 0) + with("parent 3", 1) + kMeet),
                 "a parent is the first");
    expect_fault(faults_with(3, with("child 0", 0) + kMeet), "both take the other for the same");
    expect_fault(faults_with(3, with("parent 3", 0) + kMeet), "a rank sends nothing to itself");
    expect_fault(faults_with(3, with("parent 9", 0) + kMeet), "there is no such rank");
}

TEST(CheckMeet, SomebodyWhoNeverComes) {
    expect_fault(faults_with(3, "copy output[0+8] = input[0+8]\n"),
                 "waits for rank 3, which has finished");
    expect_fault(faults_with(3, kMeet), "that rank does not know of it");
}

TEST(CheckMeet, TreesApart) {
    expect_fault(faults_of(ordered(4), kExtent,
                           {with("child 1", 0) + kMeet, with("parent 0", 0) + kMeet,
                            with("child 3", 0) + kMeet, with("parent 2", 0) + kMeet}),
                 "hold the contributions of ranks 0-1 only");
}

// 2 stands before 1: its fold would come behind.
TEST(CheckMeet, OrderOfOperands) {
    const Lines bodies = {with("child 2", 0) + with("child 1", 1) + kMeet,
                          with("parent 0", 0) + kMeet, with("parent 0", 0) + kMeet};
    expect_fault(faults_of(ordered(3), kExtent, bodies), "and the operator does not commute");
    EXPECT_EQ(faults_of(shape_of(TUTTI_ALLREDUCE, 3, 8), kExtent, bodies), Lines{});
}

// 0 and 1 on one node, 2 and 3 on another one.
TEST(CheckMeet, Letters) {
    const topo::Placement nodes = topo::Placement::blocks(4, 2);
    const Lines right = {with("child 1 near 1", 0) + with("child 2", 1) + kMeet,
                         with("parent 0 near 0", 0) + kMeet,
                         with("parent 0", 0) + with("child 3 near 1", 1) + kMeet,
                         with("parent 2 near 0", 0) + kMeet};
    EXPECT_EQ(faults_of(ordered(4), nodes, kExtent, right), Lines{});
    const auto programs = written(ordered(4), kExtent, right);
    EXPECT_EQ(count(*programs[0]).messages_sent, 1u);
    EXPECT_EQ(count(*programs[1]).messages_sent, 0u);
    EXPECT_EQ(steps(nodes, programs).size(), 2u);
    const auto otherwise = [&](uint32_t rank, const std::string& body) {
        Lines bodies = right;
        bodies[rank] = body;
        return faults_of(ordered(4), nodes, kExtent, bodies);
    };
    expect_fault(otherwise(1, with("parent 0", 0) + kMeet), "has letters for its node");
    expect_fault(otherwise(1, with("parent 0 near 1", 0) + kMeet),
                 "rank 0 is not number 1 of the node");
    expect_fault(otherwise(2, with("parent 0 near 0", 0) + with("child 3 near 1", 1) + kMeet),
                 "rank 0 is not number 0 of the node");
    Extent longer = kExtent;
    longer.rounds = 2;
    Lines more = right;
    more[1] += "round 1\nnode_bcast root 0 - order 0\n";
    expect_fault(faults_of(ordered(4), nodes, longer, more), "letters and node operations");
    Extent several = kExtent;
    several.lanes = several.lanes_in_flight = 2;
    Lines twice = right;
    for (std::string& body : twice) body += "lane 1\nround 0\n" + body;
    expect_fault(faults_of(ordered(4), nodes, several, twice), "more than one lane is in flight");
}

TEST(CheckMeet, RoomsOfTheWrongSize) {
    expect_fault(faults_with(3, "meet_with parent 0 scratch[0+32]\n" + kMeet),
                 "its message buffer has 32 bytes; it takes 64");
    expect_fault(faults_of(shape_of(TUTTI_ALLREDUCE, 1, 32), kExtent,
                           {"meet output[0+8] = input[0+8] by output[0+32]\n"}),
                 "its message buffer is to be scratch");
    expect_fault(
        faults_with(3, with("parent 0", 0) + "meet output[0+8] = input[0+8] by scratch[64+16]\n"),
        "its message buffer has 16 bytes; it takes 32");
    expect_fault(
        faults_with(3, with("parent 0", 0) + "meet output[0+8] = input[0+8] by scratch[56+32]\n"),
        "nothing orders it");
}

std::string told(uint32_t rank) {
    return "meet_multicast as " + std::to_string(rank) +
           " output[0+8] = input[0+8] by scratch[192+32] order 0\n";
}
constexpr Extent kTold{1, 1, 1, 224, 1};

TEST(CheckMeet, ReleasesByMulticast) {
    const Lines three = {with("child 1", 0) + with("child 2", 1) + told(0),
                         with("parent 0", 0) + told(1), with("parent 0", 0) + told(2)};
    EXPECT_EQ(faults_of(ordered(3), kTold, three), Lines{});
    const auto but = [&](uint32_t rank, const std::string& body) {
        Lines bodies = three;
        bodies[rank] = body;
        return faults_of(ordered(3), kTold, bodies);
    };
    expect_fault(but(1, with("parent 0", 0) + told(2)), "it is another rank's");
    Extent wide = kTold;
    wide.lanes_in_flight = 2;
    wide.lanes = 2;
    expect_fault(faults_of(ordered(3), wide, three), "more than one lane is in flight");
    const std::string long_one =
        "meet_multicast as 0 output[0+16376] = input[0+16376] by scratch[0+32768] order 0\n";
    expect_fault(faults_of(shape_of(TUTTI_ALLREDUCE, 1, 16376), {1, 1, 1, 32768, 1}, {long_one}),
                 "a multicast is longer than 16384 bytes");
}

// By one word: all ranks say so, of a barrier.
TEST(CheckMeet, AllAddOrNobody) {
    const auto with_nothing = [](const std::string& whom, uint32_t place) {
        return "meet_with " + whom + " scratch[" + std::to_string(32 * place) + "+32]\n";
    };
    const auto added = [](uint32_t rank, const std::string& how) {
        return "meet_multicast as " + std::to_string(rank) + " - = - by scratch[192+16] " + how +
               "order 0\n";
    };
    Lines three = {with_nothing("child 1", 0) + with_nothing("child 2", 1) + added(0, "counted "),
                   with_nothing("parent 0", 0) + added(1, "counted "),
                   with_nothing("parent 0", 0) + added(2, "counted ")};
    EXPECT_EQ(faults_of(shape_of(TUTTI_BARRIER, 3, 0), kTold, three), Lines{});
    three[1] = with_nothing("parent 0", 0) + added(1, "");
    expect_fault(faults_of(shape_of(TUTTI_BARRIER, 3, 0), kTold, three),
                 "not all ranks are told of it alike");
    std::string sum = told(0);
    sum.insert(sum.find("order"), "counted ");
    expect_fault(faults_of(ordered(1), kTold, {sum}), "only messages of no bytes are counted");
}

// Two lanes whose numbers one rank has the other way round.
TEST(CheckMeet, AllAreToldAlike) {
    constexpr Extent kTwice{2, 1, 1, 224, 2};
    const auto numbers = [](const std::string& round, uint32_t rank, bool is_first) {
        std::string one = told(rank);
        one[one.size() - 2] = is_first ? '0' : '1';
        std::string other = told(rank);
        other[other.size() - 2] = is_first ? '1' : '0';
        return round + one + "lane 1\nround 0\n" + round + other;
    };
    const std::string up = with("parent 0", 0);
    expect_fault(faults_of(ordered(2), kTwice,
                           {numbers(with("child 1", 0), 0, true), numbers(up, 1, false)}),
                 "not all ranks are told of it alike");
}

// Messages have overwritten them.
TEST(CheckMeet, RoomsHoldNothing) {
    Extent longer = kExtent;
    longer.rounds = 3;
    longer.scratch_bytes = 300;
    const std::string before = "copy scratch[192+8] = input[0+8]\nround 1\n";
    expect_fault(faults_of(ordered(1), longer,
                           {before + kMeet + "round 2\ncopy output[0+8] = scratch[192+8]\n"}),
                 "it reads bytes 0 to 7 of a block before they are written");
}

TEST(CheckMeet, RoundsThatDoMore) {
    expect_fault(faults_with(3, with("parent 0", 0)), "the round has no meet at its end");
    expect_fault(faults_with(3, "copy scratch[0+8] = input[0+8]\n" + with("parent 0", 1) + kMeet),
                 "a round that meets does nothing else");
    expect_fault(faults_of(ordered(1), kExtent, {kMeet + "copy scratch[0+8] = input[0+8]\n"}),
                 "a round that meets does nothing else");
    Extent twice = kExtent;
    twice.rounds = 2;
    expect_fault(faults_of(ordered(1), twice, {kMeet + "round 1\n" + kMeet}), "a lane meets once");
}

// The order of operands is that of the walk, not the canonical one.
TEST(CheckMeet, IsNoLeftFold) {
    Demands demands;
    demands.left_fold = true;
    EXPECT_FALSE(faults_of(ordered(4), alone(4), kExtent, kFour, demands).empty());
}

// ---- those who are fed -------------------------------------------------------------------------

// 100 bytes in two pieces; 0 feeds 1 and 3, 1 feeds 2, if all are there at once.
std::string known(const std::string& whom, uint32_t place) {
    return "meet_with " + whom + " scratch[" + std::to_string(128 * place) + "+128]\n";
}
std::string fed(const std::string& way, uint32_t count) {
    return "feed " + way + " output[0+100] by output[0+64] to " + std::to_string(count) + " of 2\n";
}
constexpr Extent kFedExtent{1, 1, 1, 384};
const Lines kFourFed = {
    known("child 1", 0) + known("child 2", 1) + known("child 3", 2) + fed("out", 2),
    known("parent 0", 0) + fed("in", 1), known("parent 0", 0) + fed("in", 0),
    known("parent 0", 0) + fed("in", 0)};

Lines faults_fed(uint32_t rank, const std::string& body, const Extent& extent = kFedExtent) {
    Lines bodies = kFourFed;
    bodies[rank] = body;
    return faults_of(shape_of(TUTTI_BCAST, 4, 100), extent, bodies);
}

TEST(CheckFeed, ProvesAStar) {
    EXPECT_EQ(faults_fed(0, kFourFed[0]), Lines{});
    EXPECT_EQ(faults_of(shape_of(TUTTI_BCAST, 1, 100), kFedExtent, {fed("out", 0)}), Lines{});
}

TEST(CheckFeed, IsCountedAsIfAllWereThere) {
    const auto programs = written(shape_of(TUTTI_BCAST, 4, 100), kFedExtent, kFourFed);
    // A word, the answer, and two hops.
    EXPECT_EQ(critical_rounds(alone(4), programs), 4u);
    const Count inner = count(*programs[1]);
    EXPECT_EQ(inner.messages_sent, 1u + 2);
    EXPECT_EQ(inner.bytes_sent, 64u + 100);
    EXPECT_EQ(inner.messages_received, 1u + 2);
    EXPECT_EQ(inner.bytes_received, 64u + 100);
    EXPECT_EQ(inner.reduced_bytes, 0u);
    EXPECT_EQ(count(*programs[0]).bytes_sent, 3u * 64 + 200);
    const auto passages = steps(alone(4), programs);
    ASSERT_EQ(passages.size(), 4u);
    EXPECT_EQ(passages[2].size(), 4u);  // two pieces each to 1 and 3
    EXPECT_EQ(passages[3].size(), 2u);
    EXPECT_EQ(passages[3][1].bytes, 36u);
}

TEST(CheckFeed, WhatIsWrongIsFound) {
    expect_fault(faults_fed(1, known("parent 0", 0) + fed("in", 2)), "not all ranks are told");
    expect_fault(faults_fed(1, known("parent 0", 0) + fed("in", 3)), "one feeds 1 to 14 others");
    expect_fault(
        faults_fed(1, known("parent 0", 0) + "feed in output[0+100] by output[0+50] to 1 of 2\n"),
        "not all ranks are told");
    expect_fault(
        faults_fed(1, known("parent 0", 0) + "feed in output[0+60] by output[0+60] to 1 of 2\n"),
        "not all ranks are told");
    expect_fault(
        faults_fed(1, known("parent 0", 0) + "feed in output[0+100] by output[0+0] to 1 of 2\n"),
        "its first piece is none of its block");
    expect_fault(faults_fed(1, known("parent 0", 0) + fed("out", 1)), "not all ranks are told");
    expect_fault(faults_fed(1, "meet_with parent 0 scratch[0+64]\n" + fed("in", 1)),
                 "its message buffer has 64 bytes; it takes 128");
    expect_fault(faults_fed(0, kFourFed[0], {2, 2, 1, 384}), "more than one lane is in flight");
    // Not all know the middle: 2 hangs below 1.
    Lines bodies = kFourFed;
    bodies[0] = known("child 1", 0) + known("child 3", 1) + fed("out", 2);
    bodies[1] = known("parent 0", 0) + known("child 2", 1) + fed("in", 1);
    bodies[2] = known("parent 1", 0) + fed("in", 0);
    expect_fault(faults_of(shape_of(TUTTI_BCAST, 4, 100), kFedExtent, bodies),
                 "not all ranks are told");
}

}  // namespace
}  // namespace tutti::check
