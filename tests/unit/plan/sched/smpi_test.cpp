// SPDX-License-Identifier: BSD-3-Clause
#include "plan/sched/smpi.h"

#include <gtest/gtest.h>

#include "schedules.h"

namespace tutti::sched {
namespace {

// A fold takes half a nanosecond a byte, a copy a quarter.
constexpr TraceCosts kSlow{.reduce_ns_per_byte = 0.5, .copy_ns_per_byte = 0.25};

Lines traces_of(const Programs& programs, const topo::Placement& placement) {
    auto traces = print_smpi(programs, placement, kSlow);
    EXPECT_TRUE(traces) << traces.error().message;
    return traces ? traces.value() : Lines(programs.size());
}

TEST(Smpi, WaitsForWhatIsNeededAndComputes) {
    const Programs programs =
        written(shape_of(TUTTI_REDUCE, 2, 8), {1, 1, 2, 8},
                {"recv_reduce 0 from 1 output[0+8] = input[0+8] op *scratch[0+8]\nround 1\n"
                 "copy scratch[0+8] = output[0+8]\n",
                 "send 0 to 0 input[0+8]\n"});
    EXPECT_EQ(traces_of(programs, alone(2)), (Lines{"0 init\n"
                                                    "0 irecv 1 0 8\n"
                                                    "0 wait 1 0 0\n"
                                                    "0 compute 4\n"
                                                    "0 compute 2\n"
                                                    "0 finalize\n",
                                                    "1 init\n"
                                                    "1 isend 0 0 8\n"
                                                    "1 wait 1 0 0\n"
                                                    "1 finalize\n"}));
}

// Two lanes down a chain of three: rank 1 hands the first piece on before it waits for the second,
// and does not wait for its own sends before the end. Each lane has tags of its own.
TEST(Smpi, LanesOverlap) {
    const Programs programs =
        written(shape_of(TUTTI_BCAST, 3, 8), {2, 2, 2, 0},
                {"send 0 to 1 output[0+4]\nlane 1\nround 0\nsend 0 to 1 output[4+4]\n",
                 "recv 0 from 0 output[0+4]\nround 1\nsend 0 to 2 output[0+4]\nlane 1\nround 0\n"
                 "recv 0 from 0 output[4+4]\nround 1\nsend 0 to 2 output[4+4]\n",
                 "recv 0 from 1 output[0+4]\nlane 1\nround 0\nrecv 0 from 1 output[4+4]\n"});
    EXPECT_EQ(traces_of(programs, alone(3))[1],
              "1 init\n"
              "1 irecv 0 0 4\n"
              "1 irecv 0 1 4\n"
              "1 wait 0 1 0\n"
              "1 isend 2 0 4\n"
              "1 wait 0 1 1\n"
              "1 isend 2 1 4\n"
              "1 wait 1 2 0\n"
              "1 wait 1 2 1\n"
              "1 finalize\n");
}

// One lane in flight: the second begins when the first is complete.
TEST(Smpi, ALaneWaitsForItsSlot) {
    const Programs programs =
        written(shape_of(TUTTI_BCAST, 2, 8), {2, 1, 1, 0},
                {"send 2 to 1 output[0+4]\nlane 1\nround 0\nsend 2 to 1 output[4+4]\n",
                 "recv 2 from 0 output[0+4]\nlane 1\nround 0\nrecv 2 from 0 output[4+4]\n"});
    EXPECT_EQ(traces_of(programs, alone(2))[0],
              "0 init\n"
              "0 isend 1 2 4\n"
              "0 wait 0 1 2\n"
              "0 isend 1 5 4\n"
              "0 wait 0 1 5\n"
              "0 finalize\n");
}

// At 0.08 ns a byte 25,000 bytes take twice the latency of 1,000 ns: one is under way at a time. Of
// 24,980 two are.
TEST(Smpi, NoMoreAreUnderWayThanKeepTheLinkFull) {
    const auto trace_of = [](uint64_t bytes) {
        const std::string one = std::to_string(bytes);
        const auto lanes = [&](const std::string& message, const std::string& buffer) {
            return message + buffer + "[0+" + one + "]\nlane 1\nround 0\n" + message + buffer +
                   "[" + one + "+" + one + "]\n";
        };
        const Programs programs =
            written(shape_of(TUTTI_BCAST, 2, 2 * bytes), {2, 2, 1, 0},
                    {lanes("send 0 to 1 ", "output"), lanes("recv 0 from 0 ", "output")});
        return traces_of(programs, alone(2))[0];
    };
    EXPECT_EQ(trace_of(25'000),
              "0 init\n0 isend 1 0 25000\n0 wait 0 1 0\n0 isend 1 1 25000\n0 wait 0 1 1\n"
              "0 finalize\n");
    EXPECT_EQ(trace_of(24'980),
              "0 init\n0 isend 1 0 24980\n0 isend 1 1 24980\n0 wait 0 1 0\n0 wait 0 1 1\n"
              "0 finalize\n");
}

// A receive of no bytes would ask for the message's size, and block.
TEST(Smpi, MessagesHaveAByteAtLeast) {
    const Programs programs = written(shape_of(TUTTI_BARRIER, 2, 0), {1, 1, 1, 0},
                                      {"send 0 to 1 -\n", "recv 0 from 0 -\n"});
    const Lines traces = traces_of(programs, alone(2));
    EXPECT_NE(traces[0].find("isend 1 0 1\n"), std::string::npos) << traces[0];
    EXPECT_NE(traces[1].find("irecv 0 0 1\n"), std::string::npos) << traces[1];
}

// Behind the messages' tags come two for each node operation. The root takes part in none of the
// messages to itself; the second operation waits for the first.
TEST(Smpi, OperationsOfANodeAreMessagesWithinIt) {
    const Programs programs =
        written(shape_of(TUTTI_BARRIER, 3, 0), {1, 1, 2, 0},
                {"node_arrive root 0 order 0\nround 1\nnode_release root 0 order 1\n",
                 "node_arrive root 0 order 0\nround 1\nnode_release root 0 order 1\n", "\n"});
    const std::vector<uint64_t> node_of_rank{0, 0, 1};
    const Lines traces = traces_of(programs, topo::Placement(node_of_rank));
    EXPECT_EQ(traces[0],
              "0 init\n0 irecv 1 1 1\n0 wait 1 0 1\n0 isend 1 3 1\n0 wait 0 1 3\n"
              "0 finalize\n");
    EXPECT_EQ(traces[1],
              "1 init\n1 isend 0 1 1\n1 wait 1 0 1\n1 irecv 0 3 1\n1 wait 0 1 3\n"
              "1 finalize\n");
    EXPECT_EQ(traces[2], "2 init\n2 finalize\n");
}

// Rank 1 has nothing, and its empty part is no message.
TEST(Smpi, PartsOfANodeDifferInLength) {
    const OwnLengths lengths(std::vector<uint64_t>{4, 0, 12});
    Shape shape = shape_of(TUTTI_ALLGATHERV, 3, 12);
    shape.lengths = lengths.view();
    const Programs programs = written(
        shape, {1, 1, 1, 0},
        {"node_gatherv root 2 - = input[0+4] order 0\n", "node_gatherv root 2 - = - order 0\n",
         "node_gatherv root 2 output[0+16] = output[4+12] order 0\n"});
    const Lines traces = traces_of(programs, topo::Placement::blocks(3, 1));
    EXPECT_EQ(traces[0], "0 init\n0 isend 2 1 4\n0 wait 0 2 1\n0 finalize\n");
    EXPECT_EQ(traces[1], "1 init\n1 finalize\n");
    EXPECT_EQ(traces[2], "2 init\n2 irecv 0 1 4\n2 wait 0 2 1\n2 finalize\n");
}

// 64 KiB of four ranks: each folds 16 KiB of the three others, at 0.5 ns a byte, and rank 1 gets
// them.
TEST(Smpi, LongReductionsOfANodeAreFoldedInSlices) {
    const std::string root = "node_reduce root 1 output[0+65536] = input[0+65536] order 0\n";
    const std::string other = "node_reduce root 1 - = input[0+65536] order 0\n";
    const Programs programs =
        written(shape_of(TUTTI_REDUCE, 4, 65536, 1), {1, 1, 1, 0}, {other, root, other, other});
    const Lines traces = traces_of(programs, topo::Placement::blocks(4, 1));
    EXPECT_EQ(traces[0],
              "0 init\n"
              "0 isend 1 1 16384\n"
              "0 irecv 1 1 16384\n"
              "0 isend 2 1 16384\n"
              "0 irecv 2 1 16384\n"
              "0 isend 3 1 16384\n"
              "0 irecv 3 1 16384\n"
              "0 wait 1 0 1\n"
              "0 compute 8192\n"
              "0 wait 2 0 1\n"
              "0 compute 8192\n"
              "0 wait 3 0 1\n"
              "0 compute 8192\n"
              "0 wait 0 1 1\n"
              "0 wait 0 2 1\n"
              "0 wait 0 3 1\n"
              "0 isend 1 2 16384\n"
              "0 wait 0 1 2\n"
              "0 finalize\n");
    EXPECT_NE(traces[1].find("1 irecv 0 2 16384\n1 irecv 2 2 16384\n1 irecv 3 2 16384\n"),
              std::string::npos)
        << traces[1];
    // Of three the root folds alone.
    const Programs three =
        written(shape_of(TUTTI_REDUCE, 3, 65536, 1), {1, 1, 1, 0}, {other, root, other});
    EXPECT_EQ(traces_of(three, topo::Placement::blocks(3, 1))[0],
              "0 init\n0 isend 1 1 65536\n0 wait 0 1 1\n0 finalize\n");
}

// Each of three folds what comes with its own vector, at 0.5 ns a byte, and hands that on.
TEST(Smpi, AScanOfANodeGoesAlongItsRanks) {
    const std::string scan = "node_scan output[0+1000] = input[0+1000] order 0\n";
    const Programs programs =
        written(shape_of(TUTTI_SCAN, 3, 1000), {1, 1, 1, 0}, {scan, scan, scan});
    const Lines traces = traces_of(programs, topo::Placement::blocks(3, 1));
    EXPECT_NE(traces[0].find("0 isend 1 1 1000\n"), std::string::npos) << traces[0];
    EXPECT_EQ(traces[1],
              "1 init\n1 irecv 0 1 1000\n1 wait 0 1 1\n1 compute 500\n1 isend 2 1 1000\n"
              "1 wait 1 2 1\n1 finalize\n");
    EXPECT_EQ(traces[2], "2 init\n2 irecv 1 1 1000\n2 wait 1 2 1\n2 compute 500\n2 finalize\n");
}

TEST(Smpi, MulticastsAreRefused) {
    const Programs programs =
        written(shape_of(TUTTI_BARRIER, 2, 0), {1, 1, 1, 0, 1},
                {"recv_multicast from 1 - order 0\n", "multicast - order 0\n"});
    const auto traces = print_smpi(programs, alone(2), kSlow);
    ASSERT_FALSE(traces);
    EXPECT_EQ(
        traces.error().message,
        "rank 0, lane 0, round 0: recv_multicast from 1 - order 0: a trace has no multicasts");
}

TEST(Smpi, ThoseWhoMeetAreRefused) {
    const auto traces = print_smpi(
        written(shape_of(TUTTI_BARRIER, 2, 0), {1, 1, 1, 48}, kTwoWhoMeet), alone(2), kSlow);
    ASSERT_FALSE(traces);
    EXPECT_EQ(traces.error().message,
              "rank 0, lane 0, round 0: meet_with child 1 scratch[0+32]: a trace has no messages "
              "that follow arrivals");
}

TEST(Smpi, TagsAreBelow31Bits) {
    const Programs programs = written(shape_of(TUTTI_BARRIER, 2, 0), {1, 1, 1, 0},
                                      {"send 2147483647 to 1 -\n", "recv 2147483647 from 0 -\n"});
    const auto traces = print_smpi(programs, alone(2), kSlow);
    ASSERT_FALSE(traces);
    EXPECT_EQ(traces.error().message, "more messages than a trace has numbers for");
}

// Each of 64 members sends a slice to each other and folds what comes, in one operation.
TEST(Smpi, ThePartsOfANodeCountToo) {
    constexpr uint32_t p = 64;
    const std::string reduce = " = input[0+65536] order 0\n";
    std::vector<std::string> texts(p, "node_reduce root 0 -" + reduce);
    texts[0] = "node_reduce root 0 output[0+65536]" + reduce;
    const Programs programs = written(shape_of(TUTTI_REDUCE, p, 65536, 1), {1, 1, 1, 0}, texts);
    const topo::Placement placement = topo::Placement::blocks(p, 1);
    const uint32_t at_least = p * 3 * (p - 1);
    EXPECT_EQ(print_smpi(programs, placement, kSlow, at_least).error().message,
              "more than 12096 actions; no more are written");
    EXPECT_TRUE(print_smpi(programs, placement, kSlow, at_least + 6 * p));
    // Waiting takes memory, too.
    std::string many;
    for (uint32_t round = 0; round < 2; ++round) {
        if (round > 0) many += "round 1\n";
        for (uint32_t i = 0; i < 32; ++i) many += "copy scratch[0+8] = output[0+8]\n";
    }
    const Programs alone_there = written(shape_of(TUTTI_REDUCE, 1, 8), {1, 1, 2, 8}, {many});
    EXPECT_EQ(print_smpi(alone_there, alone(1), kSlow, 100).error().message,
              "actions wait for more than 400 others; no more are written");
}

TEST(Smpi, WhatNeverEndsIsRefused) {
    const Programs apart = written(shape_of(TUTTI_BARRIER, 2, 0), {1, 1, 1, 0},
                                   {"send 0 to 1 -\n", "recv 1 from 0 -\n"});
    EXPECT_EQ(print_smpi(apart, alone(2), kSlow).error().message,
              "a message of rank 0 has one end only, or ends of different sizes");
    const Programs stuck = written(
        shape_of(TUTTI_BARRIER, 2, 0), {1, 1, 2, 0},
        {"recv 0 from 1 -\nround 1\nsend 0 to 1 -\n", "recv 0 from 0 -\nround 1\nsend 0 to 0 -\n"});
    EXPECT_EQ(print_smpi(stuck, alone(2), kSlow).error().message,
              "these schedules wait for each other");
}

}  // namespace
}  // namespace tutti::sched
