// SPDX-License-Identifier: BSD-3-Clause
// Right schedules are proved, and every kind of fault is found and named.
#include "lab/check/prove.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "faults.h"
#include "plan/sched/list_program.h"

namespace tutti::check {

using sched::Extent;
using sched::kBlockBytesMax;

namespace {

// Two ranks exchange and fold, rank order kept: the smallest allreduce.
const Lines kAllreduce = {
    "send 0 to 1 input[0+8]\nrecv_reduce 0 from 1 output[0+8] = input[0+8] op *scratch[0+8]\n",
    "send 0 to 0 input[0+8]\nrecv_reduce 0 from 0 output[0+8] = *scratch[0+8] op input[0+8]\n"};

Shape ordered(Shape shape) {
    shape.is_commutative = false;
    return shape;
}

TEST(Check, ProvesSmallSchedules) {
    // In place the folded vector overwrites what may still have to be sent: two rounds.
    EXPECT_EQ(faults_of(ordered(shape_of(TUTTI_ALLREDUCE, 2, 8)), {1, 1, 2, 8},
                        {"send 0 to 1 input[0+8]\nrecv 0 from 1 scratch[0+8]\nround 1\n"
                         "reduce output[0+8] = input[0+8] op scratch[0+8]\n",
                         "send 0 to 0 input[0+8]\nrecv 0 from 0 scratch[0+8]\nround 1\n"
                         "reduce output[0+8] = scratch[0+8] op input[0+8]\n"}),
              Lines{});
    EXPECT_EQ(faults_of(shape_of(TUTTI_BCAST, 3, 8, 1), {1, 1, 1, 0},
                        {"recv 0 from 1 output[0+8]\n",
                         "send 0 to 0 output[0+8]\nsend 0 to 2 output[0+8]\n",
                         "recv 0 from 1 output[0+8]\n"}),
              Lines{});
    EXPECT_EQ(faults_of(shape_of(TUTTI_GATHER, 2, 8, 1), {1, 1, 1, 0},
                        {"send 0 to 1 input[0+8]\n",
                         "recv 0 from 0 output[0+8]\ncopy output[8+8] = input[0+8]\n"}),
              Lines{});
    EXPECT_EQ(faults_of(shape_of(TUTTI_SCATTER, 2, 8), {1, 1, 1, 0},
                        {"send 0 to 1 input[8+8]\ncopy output[0+8] = input[0+8]\n",
                         "recv 0 from 0 output[0+8]\n"}),
              Lines{});
    EXPECT_EQ(faults_of(shape_of(TUTTI_ALLGATHER, 2, 8), {1, 1, 1, 0},
                        {"send 0 to 1 input[0+8]\nrecv 0 from 1 output[8+8]\n"
                         "copy output[0+8] = input[0+8]\n",
                         "send 0 to 0 input[0+8]\nrecv 0 from 0 output[0+8]\n"
                         "copy output[8+8] = input[0+8]\n"}),
              Lines{});
    EXPECT_EQ(faults_of(shape_of(TUTTI_ALLTOALL, 2, 8), {1, 1, 1, 0},
                        {"send 0 to 1 input[8+8]\nrecv 0 from 1 output[8+8]\n"
                         "copy output[0+8] = input[0+8]\n",
                         "send 0 to 0 input[0+8]\nrecv 0 from 0 output[0+8]\n"
                         "copy output[8+8] = input[8+8]\n"}),
              Lines{});
    EXPECT_EQ(faults_of(shape_of(TUTTI_BARRIER, 2, 0), {1, 1, 1, 0},
                        {"send 0 to 1 -\nrecv 0 from 1 -\n", "send 0 to 0 -\nrecv 0 from 0 -\n"}),
              Lines{});
}

// Blocks of 8, 0 and 4 bytes; rank 2 is told by rank 0 alone.
TEST(Check, ProvesBlocksOfAnyLengths) {
    const sched::OwnLengths lengths(std::vector<uint64_t>{8, 0, 4});
    Shape shape = shape_of(TUTTI_ALLGATHERV, 3, 8);
    shape.lengths = lengths.view();
    const std::string first =
        "send 0 to 1 input[0+8]\nsend 0 to 2 input[0+8]\n"
        "recv 0 from 2 output[8+4]\ncopy output[0+8] = input[0+8]\n";
    const std::string middle = "recv 0 from 0 output[0+8]\nrecv 0 from 2 output[8+4]\n";
    const auto last = [](const std::string& at) {
        return "send 0 to 0 input[0+4]\nsend 0 to 1 input[0+4]\nrecv 0 from 0 output[0+8]\n"
               "copy output[" +
               at + "+4] = input[0+4]\n";
    };
    EXPECT_EQ(faults_of(shape, {1, 1, 1, 0}, {first, middle, last("8")}), Lines{});
    expect_fault(faults_of(shape, {1, 1, 1, 0}, {first, middle, last("9")}),
                 "a block reaches beyond its buffer of 12 bytes");
    shape.collective = TUTTI_REDUCE_SCATTER;
    const auto folded = [&](const std::string& from_middle) {
        return faults_of(
            shape, {1, 1, 2, 16},
            {"send 0 to 2 input[8+4]\nrecv 0 from 1 scratch[0+8]\nrecv 0 from 2 scratch[8+8]\n"
             "round 1\nreduce scratch[0+8] = input[0+8] op scratch[0+8]\n",
             "send 0 to 0 input[0+8]\nsend 0 to 2 input[" + from_middle + "+4]\n",
             "send 0 to 0 input[0+8]\nrecv 0 from 0 scratch[0+4]\nrecv 0 from 1 scratch[8+4]\n"
             "round 1\nreduce output[0+4] = scratch[0+4] op scratch[8+4]\n"});
    };
    expect_fault(folded("8"), "bytes 0 to 7 of its output are never written");
    expect_fault(folded("4"), "it folds byte");
}

TEST(Check, InPlaceIsProvedToo) {
    expect_fault(faults_of(shape_of(TUTTI_ALLREDUCE, 2, 8), {1, 1, 1, 8}, kAllreduce),
                 "in place: rank 0, lane 0, round 0: send 0 to 1 input[0+8]: nothing orders it and "
                 "operation 1 of lane 0, round 0");
    // In place the copy has already overwritten what the next round sends.
    expect_fault(
        faults_of(shape_of(TUTTI_ALLREDUCE, 2, 8), {1, 1, 3, 8},
                  {"send 0 to 1 input[0+8]\nrecv 0 from 1 scratch[0+8]\nround 1\n"
                   "copy output[0+8] = scratch[0+8]\nround 2\n"
                   "reduce output[0+8] = input[0+8] op output[0+8]\n",
                   "send 0 to 0 input[0+8]\nrecv 0 from 0 scratch[0+8]\nround 1\n"
                   "reduce output[0+8] = scratch[0+8] op input[0+8]\n"}),
        "in place: rank 0, lane 0, round 2: reduce output[0+8] = input[0+8] op output[0+8]: it "
        "folds the contribution of rank 1 in twice");
}

TEST(CheckFaults, DroppedMessage) {
    const Shape shape = shape_of(TUTTI_BCAST, 3, 8);
    const Lines lines = faults_of(shape, {1, 1, 1, 0},
                                  {"send 0 to 1 output[0+8]\n", "recv 0 from 0 output[0+8]\n",
                                   "recv 0 from 0 output[0+8]\n"});
    EXPECT_EQ(lines, Lines{"rank 2, lane 0, round 0: recv 0 from 0 output[0+8]: rank 0 never sends "
                           "it"});
    expect_fault(faults_of(shape, {1, 1, 1, 0},
                           {"send 0 to 1 output[0+8]\nsend 0 to 2 output[0+8]\n",
                            "recv 0 from 0 output[0+8]\n", ""}),
                 "rank 0, lane 0, round 0: send 0 to 2 output[0+8]: rank 2 never receives it");
    // Nobody waits for what is not there.
    expect_fault(faults_of(shape, {1, 1, 1, 0},
                           {"send 0 to 1 output[0+8]\n", "recv 0 from 0 output[0+8]\n", ""}),
                 "rank 2: bytes 0 to 7 of its output are never written");
}

TEST(CheckFaults, DoubledContribution) {
    const Shape shape = shape_of(TUTTI_REDUCE, 2, 8);
    expect_fault(
        faults_of(shape, {1, 1, 2, 8},
                  {"recv_reduce 0 from 1 output[0+8] = input[0+8] op *scratch[0+8]\nround 1\n"
                   "reduce output[0+8] = output[0+8] op scratch[0+8]\n",
                   "send 0 to 0 input[0+8]\n"}),
        "rank 0, lane 0, round 1: reduce output[0+8] = output[0+8] op scratch[0+8]: it folds the "
        "contribution of rank 1 in twice");
    expect_fault(faults_of(shape, {1, 1, 2, 8},
                           {"recv 0 from 1 scratch[0+8]\nround 1\n"
                            "copy output[0+8] = scratch[0+8]\n",
                            "send 0 to 0 input[0+8]\n"}),
                 "rank 0: bytes 0 to 7 of its output hold the contributions of ranks 1 only");
}

TEST(CheckFaults, BlockOverwrittenEarly) {
    // The message of round 0 may still be on its way when round 1 receives into its block.
    const Lines early = {
        "send 0 to 1 output[0+8] after none\nround 1\n"
        "recv 0 from 1 output[0+8] after none\n",
        "recv 0 from 0 output[0+8]\nround 1\nsend 0 to 0 output[0+8]\n"};
    expect_fault(faults_of(shape_of(TUTTI_BCAST, 2, 8), {1, 1, 2, 0}, early),
                 "rank 0, lane 0, round 1: recv 0 from 1 output[0+8] after none: nothing orders it "
                 "and operation 0 of lane 0, round 0, which touches the same bytes");
    Lines later = early;
    later[0] = "send 0 to 1 output[0+8]\nround 1\nrecv 0 from 1 output[0+8] after 0\n";
    EXPECT_EQ(faults_of(shape_of(TUTTI_BCAST, 2, 8), {1, 1, 2, 0}, later), Lines{});
    later[0] = "send 0 to 1 output[0+8]\nround 2\nrecv 0 from 1 output[0+8] after none\n";
    EXPECT_EQ(faults_of(shape_of(TUTTI_BCAST, 2, 8), {1, 1, 3, 0}, later), Lines{});
}

TEST(CheckFaults, TwoWritersOfARound) {
    expect_fault(faults_of(shape_of(TUTTI_BCAST, 2, 8), {1, 1, 1, 0},
                           {"send 0 to 1 output[0+8]\nsend 1 to 1 output[4+4]\n",
                            "recv 0 from 0 output[0+8]\nrecv 1 from 0 output[4+4]\n"}),
                 "rank 1, lane 0, round 0: recv 1 from 0 output[4+4]: nothing orders it");
}

TEST(CheckFaults, SwappedOrder) {
    const Lines swapped = {
        "recv 0 from 1 scratch[0+8]\nround 1\nreduce output[0+8] = scratch[0+8] op input[0+8]\n",
        "send 0 to 0 input[0+8]\n"};
    const Shape shape = shape_of(TUTTI_REDUCE, 2, 8);
    EXPECT_EQ(faults_of(shape, {1, 1, 2, 8}, swapped), Lines{});
    expect_fault(faults_of(ordered(shape), {1, 1, 2, 8}, swapped),
                 "rank 0, lane 0, round 1: reduce output[0+8] = scratch[0+8] op input[0+8]: it "
                 "folds ranks 1 with ranks 0 to their right, and the operator does not commute");
    // Ranks 0 and 2 cannot be folded before rank 1 is.
    expect_fault(
        faults_of(ordered(shape_of(TUTTI_REDUCE, 3, 8)), {1, 1, 2, 8},
                  {"recv_reduce 0 from 2 output[0+8] = input[0+8] op *scratch[0+8]\nround 1\n"
                   "recv_reduce 0 from 1 output[0+8] = output[0+8] op *scratch[0+8]\n",
                   "send 0 to 0 input[0+8]\n", "send 0 to 0 input[0+8]\n"}),
        "folds ranks 0 with ranks 2 to their right");
}

TEST(CheckFaults, RanksFoldInDifferentOrder) {
    // Right under every operator that commutes, but not the same bits on both ranks.
    expect_fault(faults_of(shape_of(TUTTI_ALLREDUCE, 2, 8), {1, 1, 2, 8},
                           {"send 0 to 1 input[0+8]\nrecv 0 from 1 scratch[0+8]\nround 1\n"
                            "reduce output[0+8] = input[0+8] op scratch[0+8]\n",
                            "send 0 to 0 input[0+8]\nrecv 0 from 0 scratch[0+8]\nround 1\n"
                            "reduce output[0+8] = input[0+8] op scratch[0+8]\n"}),
                 "rank 1: bytes 0 to 7 of its output are folded in another order than on rank 0");
}

TEST(CheckFaults, LeftFoldWhereItIsAskedFor) {
    const Lines right_fold = {
        "recv_reduce 0 from 1 output[0+8] = input[0+8] op *scratch[0+8]\n",
        "recv_reduce 0 from 2 scratch[0+8] = input[0+8] op *scratch[0+8]\nround 1\n"
        "send 0 to 0 scratch[0+8]\n",
        "send 0 to 1 input[0+8]\n"};
    const Shape shape = ordered(shape_of(TUTTI_REDUCE, 3, 8));
    EXPECT_EQ(faults_of(shape, {1, 1, 2, 8}, right_fold), Lines{});
    expect_fault(faults_of(shape, alone(3), {1, 1, 2, 8}, right_fold, {true}),
                 "rank 0: bytes 0 to 7 of its output are not folded as ((r0 + r1) + r2) + ...");
    const Lines left_fold = {
        "recv_reduce 0 from 1 output[0+8] = input[0+8] op *scratch[0+8]\nround 1\n"
        "recv_reduce 0 from 2 output[0+8] = output[0+8] op *scratch[0+8]\n",
        "send 0 to 0 input[0+8]\n", "send 0 to 0 input[0+8]\n"};
    EXPECT_EQ(faults_of(shape, alone(3), {1, 1, 2, 8}, left_fold, {true}), Lines{});
}

// Ranks 0, 1 and 2 along a chain, each with a result of its own.
const Lines kScan = {"copy output[0+8] = input[0+8]\nsend 0 to 1 input[0+8]\n",
                     "recv_reduce 0 from 0 output[0+8] = *scratch[0+8] op input[0+8]\nround 1\n"
                     "send 0 to 2 output[0+8]\n",
                     "recv_reduce 0 from 1 output[0+8] = *scratch[0+8] op input[0+8]\n"};

TEST(Check, ProvesScans) {
    EXPECT_EQ(faults_of(ordered(shape_of(TUTTI_SCAN, 3, 8)), alone(3), {1, 1, 2, 8}, kScan, {true}),
              Lines{});
    // What lands in output is the result; rank 0 has none.
    const Lines exscan = {
        "send 0 to 1 input[0+8]\n",
        "copy scratch[0+8] = input[0+8]\nround 1\n"
        "recv_reduce 0 from 0 scratch[0+8] = *output[0+8] op scratch[0+8]\nround 2\n"
        "send 0 to 2 scratch[0+8]\n",
        "recv 0 from 1 output[0+8]\n"};
    EXPECT_EQ(
        faults_of(ordered(shape_of(TUTTI_EXSCAN, 3, 8)), alone(3), {1, 1, 3, 8}, exscan, {true}),
        Lines{});
}

TEST(CheckFaults, ScansOfOtherRanks) {
    // Rank 2 gets rank 0's vector twice, or not rank 1's, or what comes on the wrong side.
    const Shape shape = ordered(shape_of(TUTTI_SCAN, 3, 8));
    Lines wrong = kScan;
    wrong[1] =
        "recv_reduce 0 from 0 output[0+8] = *scratch[0+8] op input[0+8]\n"
        "send 0 to 2 input[0+8]\n";
    expect_fault(faults_of(shape, {1, 1, 1, 8}, wrong),
                 "rank 2: bytes 0 to 7 of its output hold the contributions of ranks 1-2 only");
    wrong = kScan;
    wrong[2] = "recv_reduce 0 from 1 output[0+8] = input[0+8] op *scratch[0+8]\n";
    expect_fault(faults_of(shape, {1, 1, 2, 8}, wrong),
                 "it folds ranks 2 with ranks 0-1 to their right");
    expect_fault(faults_of(shape_of(TUTTI_EXSCAN, 3, 8), {1, 1, 2, 8}, kScan),
                 "rank 0, lane 0, round 0: copy output[0+8] = input[0+8]: a block reaches beyond "
                 "its buffer of 0 bytes");
    wrong = {"send 0 to 1 input[0+8]\nsend 0 to 2 input[0+8]\n", "recv 0 from 0 output[0+8]\n",
             "recv 0 from 0 output[0+8]\n"};
    expect_fault(faults_of(shape_of(TUTTI_EXSCAN, 3, 8), {1, 1, 1, 0}, wrong),
                 "rank 2: bytes 0 to 7 of its output hold the contributions of ranks 0 only");
}

TEST(CheckFaults, LeftFoldOfAScan) {
    // r0 + (r1 + r2) on rank 2.
    const Lines right_fold = {
        "copy output[0+8] = input[0+8]\nsend 0 to 1 input[0+8]\nsend 0 to 2 input[0+8]\n",
        "recv 0 from 0 scratch[0+8]\nsend 0 to 2 input[0+8]\nround 1\n"
        "reduce output[0+8] = scratch[0+8] op input[0+8]\n",
        "recv_reduce 0 from 1 output[0+8] = *scratch[0+8] op input[0+8]\nround 1\n"
        "recv_reduce 0 from 0 output[0+8] = *scratch[0+8] op output[0+8]\n"};
    const Shape shape = ordered(shape_of(TUTTI_SCAN, 3, 8));
    EXPECT_EQ(faults_of(shape, {1, 1, 2, 8}, right_fold), Lines{});
    expect_fault(faults_of(shape, alone(3), {1, 1, 2, 8}, right_fold, {true}),
                 "rank 2: bytes 0 to 7 of its output are not folded as ((r0 + r1) + r2) + ...");
}

TEST(CheckFaults, CycleOfWaitingSends) {
    const auto body = [](int to, int from) {
        return "send 0 to " + std::to_string(to) + " -\nround 1\nrecv 0 from " +
               std::to_string(from) + " -\n";
    };
    const Lines cycle = {body(1, 2), body(2, 0), body(0, 1)};
    EXPECT_EQ(faults_of(shape_of(TUTTI_BARRIER, 3, 0), {1, 1, 2, 0}, cycle),
              Lines{"deadlock: rank 0, lane 0, round 0: send 0 to 1 -, waits for rank 1; rank 1, "
                    "lane 0, round 0: send 0 to 2 -, waits for rank 2; rank 2, lane 0, round 0: "
                    "send 0 to 0 -, waits for rank 0"});
}

TEST(CheckFaults, CycleThroughLanesOfASlot) {
    // Rank 1 takes lane 0's message only after a node operation that lane 1 must do first.
    const Shape shape = shape_of(TUTTI_BCAST, 2, 8);
    const Lines lines =
        faults_of(shape, {2, 1, 2, 4},
                  {"send 0 to 1 output[0+4]\nlane 1\nround 0\nsend 0 to 1 output[4+4]\n",
                   "node_arrive root 0 order 1\nround 1\nrecv 0 from 0 output[0+4]\n"
                   "lane 1\nround 0\nnode_arrive root 0 order 0\nrecv 0 from 0 output[4+4]\n"});
    EXPECT_EQ(lines,
              Lines{"deadlock: rank 1, lane 0, round 0: node_arrive root 0 order 1, waits for "
                    "order 0 of its own rank, which comes after it"});
}

TEST(CheckFaults, WrongPlaceAndUnwritten) {
    expect_fault(faults_of(shape_of(TUTTI_GATHER, 2, 8), {1, 1, 1, 0},
                           {"copy output[8+8] = input[0+8]\nrecv 0 from 1 output[0+8]\n",
                            "send 0 to 0 input[0+8]\n"}),
                 "rank 0: bytes 0 to 7 of its output hold byte 8 of all ranks' blocks and what "
                 "follows, not byte 0");
    expect_fault(faults_of(shape_of(TUTTI_BCAST, 2, 8), {1, 1, 1, 8},
                           {"send 0 to 1 scratch[4+4]\n", "recv 0 from 0 output[0+4]\n"}),
                 "rank 0, lane 0, round 0: send 0 to 1 scratch[4+4]: it reads bytes 0 to 3 of a "
                 "block before they are written");
    expect_fault(faults_of(shape_of(TUTTI_REDUCE, 2, 8), {1, 1, 2, 8},
                           {"recv 0 from 1 scratch[0+4]\nrecv 1 from 1 scratch[4+4]\nround 1\n"
                            "reduce output[0+8] = input[0+8] op scratch[0+8]\n",
                            "send 0 to 0 input[4+4]\nsend 1 to 0 input[0+4]\n"}),
                 "it folds byte 0 of the vector with byte 4");
}

// Byte 0 of rank 1's block for rank 0 is byte 16 of all inputs.
TEST(CheckFaults, BlocksOfAnAlltoallInWrongPlaces) {
    const Shape shape = shape_of(TUTTI_ALLTOALL, 2, 8);
    const std::string of_1 =
        "send 0 to 0 input[0+8]\nrecv 0 from 0 output[0+8]\ncopy output[8+8] = input[8+8]\n";
    // Its own input, copied whole: right is the own block alone.
    expect_fault(faults_of(shape, {1, 1, 1, 8},
                           {"send 0 to 1 input[8+8]\nrecv 0 from 1 scratch[0+8]\n"
                            "copy output[0+16] = input[0+16]\n",
                            of_1}),
                 "rank 0: bytes 0 to 15 of its output hold byte 8 of all ranks' blocks and what "
                 "follows, not byte 16");
    // The block for another rank.
    expect_fault(
        faults_of(shape, {1, 1, 1, 0},
                  {"send 0 to 1 input[0+8]\nrecv 0 from 1 output[8+8]\n"
                   "copy output[0+8] = input[0+8]\n",
                   of_1}),
        "rank 1: bytes 0 to 7 of its output hold byte 0 of all ranks' blocks and what follows, "
        "not byte 8");
    // Two halves of a block, exchanged.
    expect_fault(
        faults_of(shape, {1, 1, 2, 8},
                  {"send 0 to 1 input[8+8]\nrecv 0 from 1 scratch[0+8]\n"
                   "copy output[0+8] = input[0+8]\nround 1\ncopy output[8+4] = scratch[4+4]\n"
                   "copy output[12+4] = scratch[0+4]\n",
                   of_1}),
        "rank 0: bytes 8 to 11 of its output hold byte 20 of all ranks' blocks and what follows, "
        "not byte 16");
}

TEST(CheckFaults, BarrierLetsSomebodyGoEarly) {
    expect_fault(
        faults_of(shape_of(TUTTI_BARRIER, 3, 0), {1, 1, 1, 0},
                  {"recv 0 from 1 -\nrecv 0 from 2 -\n", "send 0 to 0 -\n", "send 0 to 0 -\n"}),
        "rank 1 leaves the barrier when it knows only of ranks 1");
    // What is sent in the same round tells nothing of what is received in it.
    expect_fault(
        faults_of(shape_of(TUTTI_BARRIER, 3, 0), {1, 1, 2, 0},
                  {"recv 0 from 1 -\nrecv 0 from 2 -\nround 1\nsend 0 to 1 - after 0\n"
                   "send 0 to 2 -\n",
                   "send 0 to 0 -\nrecv 0 from 0 -\n", "send 0 to 0 -\nrecv 0 from 0 -\n"}),
        "rank 1 leaves the barrier when it knows only of ranks 0-1");
}

TEST(CheckFaults, MessagesThatDoNotMeet) {
    const Shape shape = shape_of(TUTTI_BCAST, 2, 8);
    expect_fault(faults_of(shape, {1, 1, 1, 0},
                           {"send 0 to 1 output[0+8]\n", "recv 0 from 0 output[0+4]\n"}),
                 "rank 1, lane 0, round 0: recv 0 from 0 output[0+4]: rank 0 sends 8 bytes in "
                 "round 0");
    expect_fault(
        faults_of(shape, {1, 1, 1, 0}, {"send 1 to 1 output[0+4]\nsend 0 to 1 output[4+4]\n", ""}),
        "send 0 to 1 output[4+4]: message 1 between the two stands before it");
    expect_fault(faults_of(shape, {1, 1, 2, 0},
                           {"recv 0 from 1 -\nrecv 1 from 1 -\nround 1\nsend 0 to 1 - after 0\n"
                            "send 1 to 1 - after 1\n",
                            ""}),
                 "another message between the two in this round waits for other operations");
    expect_fault(faults_of(shape, {1, 1, 1, 0}, {"send 0 to 2 -\n", ""}), "there is no such rank");
    expect_fault(faults_of(shape, {1, 1, 1, 0}, {"send 0 to 0 -\n", ""}),
                 "a rank sends nothing to itself");
}

TEST(CheckFaults, SomeOfTheCountedMessages) {
    const Shape shape = shape_of(TUTTI_BARRIER, 3, 0);
    const Extent extent = {.lanes = 1, .lanes_in_flight = 1, .rounds = 3};
    const std::string arrive = "send 0 to 0 - counted\n";
    const std::string leave = "round 1\nrecv 0 from 0 -\n";
    const std::string hear = "recv 0 from 1 - counted\nrecv 0 from 2 - counted\n";
    const std::string tell = "round 1\nsend 0 to 1 -\nsend 0 to 2 -\n";
    EXPECT_EQ(faults_of(shape, extent, {hear + tell, arrive + leave, arrive + leave}), Lines{});
    // As an addition at one end, and as a message at the other.
    expect_fault(faults_of(shape, extent, {hear + tell, arrive + leave, "send 0 to 0 -\n" + leave}),
                 "never sends it");
    expect_fault(faults_of(shape, extent,
                           {hear + "round 1\nsend 0 to 1 - after 0\nsend 0 to 2 -\n",
                            arrive + leave, arrive + leave}),
                 "it waits for some counted messages and not for all");
    expect_fault(faults_of(shape, extent,
                           {"recv 0 from 1 - counted\nround 1\nsend 0 to 1 -\n"
                            "recv 0 from 2 - counted\nround 2\nsend 0 to 2 -\n",
                            arrive + leave, arrive + leave}),
                 "something waits for counted messages and not for this");
}

TEST(CheckFaults, BundledMessages) {
    const Shape shape = shape_of(TUTTI_ALLTOALLV, 2, 300);
    const Extent extent = {.lanes = 2, .lanes_in_flight = 2, .rounds = 3, .scratch_bytes = 64};
    const std::string carried = "round 1\nnode_bundles in scratch[0+64] order 0\n";
    const auto exchange = [](int peer, const std::string& marks) {
        const std::string own = std::to_string(300 * (1 - peer));
        const std::string other = std::to_string(300 * peer);
        const std::string with = std::to_string(peer);
        return "copy output[" + own + "+300] = input[" + own + "+300]\nrecv 0 from " + with +
               " output[" + other + "+300]" + marks + "\nsend 0 to " + with + " input[" + other +
               "+300]" + marks + "\n";
    };
    const auto both = [&](const std::string& marks, const std::string& behind) {
        return faults_of(shape, topo::Placement::blocks(2, 1), extent,
                         {exchange(1, marks) + behind, exchange(0, marks) + behind});
    };
    EXPECT_EQ(both(" bundled", carried), Lines{});
    expect_fault(both(" bundled", ""), "no node_bundles stands behind bundled messages");
    expect_fault(both(" bundled", "round 1\nnode_bundles in scratch[0+64] order 0 after none\n"),
                 "it waits for all bundled messages");
    expect_fault(both(" bundled", carried + "round 2\nnode_bundles in scratch[0+64] order 1\n"),
                 "there is one node_bundles at most");
    expect_fault(both("", carried + "round 2\nsend 1 to 1 - bundled\n"),
                 "node_bundles stands in front of it");
    // On two nodes; and bundled at one end alone.
    const std::string other = exchange(0, " bundled") + carried;
    expect_fault(faults_of(shape, extent, {exchange(1, " bundled") + carried, other}),
                 "a bundle takes one message to a rank, of 128 bytes at most");
    expect_fault(
        faults_of(shape, topo::Placement::blocks(2, 1), extent, {exchange(1, "") + carried, other}),
        "never sends it");
}

TEST(CheckFaults, BlocksOutOfBounds) {
    Shape shape = shape_of(TUTTI_ALLREDUCE, 1, 16);
    shape.element_bytes = 8;
    const auto expect = [&](const std::string& operation, const std::string& what) {
        expect_fault(faults_of(shape, {1, 1, 2, 8}, {operation + "\n"}), what);
    };
    expect("copy output[8+16] = input[0+16]", "a block reaches beyond its buffer of 16 bytes");
    expect("copy scratch[0+16] = input[0+16]", "a block reaches beyond its buffer of 8 bytes");
    expect("copy input[0+8] = input[8+8]", "input is never written");
    expect("copy output[0+8] = input[0+16]", "its blocks differ in length");
    expect("copy output[0+4] = input[0+4]", "a block is cut within an element of 8 bytes");
    expect("copy output[4+8] = input[0+8]", "a block is cut within an element of 8 bytes");
    expect("round 1\ncopy output[0+8] = input[0+8] after 0",
           "it waits for an operation that the round before does not have; it has 0");
    expect("node_arrive root 0 order 1", "rank 0: no node operation has order 0");
    expect("node_arrive root 0 order 0\nnode_arrive root 0 order 0",
           "rank 0: 2 node operations have order 0");
    expect("node_bcast root 1 output[0+16] order 0", "its root is none of the 1 ranks of the node");
    expect_fault(faults_of(shape_of(TUTTI_BCAST, 1, 16), {1, 1, 1, 8},
                           {"reduce output[0+8] = output[0+8] op output[8+8]\n"}),
                 "a collective that only moves folds nothing");
    expect_fault(faults_of(shape_of(TUTTI_BCAST, 1, 16), {1, 1, 1, 16},
                           {"copy output[4+8] = output[0+8]\n"}),
                 "its blocks overlap");
    expect_fault(faults_of(shape_of(TUTTI_REDUCE, 2, 8), {1, 1, 1, 8},
                           {"recv_reduce 0 from 1 output[0+8] = scratch[0+8] op *scratch[0+8]\n",
                            "send 0 to 0 input[0+8]\n"}),
                 "the message hides its operand");
}

// Only messages have a limit of length; a node moves blocks of many ranks at once.
TEST(Check, BlocksOfANodeMayBeLongerThanAMessage) {
    const uint64_t block = kBlockBytesMax / 2 + 1;
    const std::string own = "input[0+" + std::to_string(block) + "]";
    const std::string all = "output[0+" + std::to_string(2 * block) + "]";
    const Shape gather = shape_of(TUTTI_GATHER, 2, block);
    const Programs programs = written(gather, {1, 1, 1, 0},
                                      {"node_gather root 0 " + all + " = " + own + " order 0\n",
                                       "node_gather root 0 - = " + own + " order 0\n"});
    const Faults faults = prove(gather, topo::Placement::blocks(2, 1), programs);
    EXPECT_TRUE(faults.lines.empty()) << faults.lines[0];

    const uint64_t too_long = kBlockBytesMax + 1;
    const std::string vector = "output[0+" + std::to_string(too_long) + "]\n";
    expect_fault(faults_of(shape_of(TUTTI_BCAST, 2, too_long), {1, 1, 1, 0},
                           {"send 0 to 1 " + vector, "recv 0 from 0 " + vector}),
                 "a message is longer than 1073741824 bytes");
}

TEST(CheckFaults, Extents) {
    const Shape shape = shape_of(TUTTI_BARRIER, 1, 0);
    Programs many;
    many.push_back(std::make_unique<sched::ListProgram>("test", Extent{1, 17, 1, 0}));
    expect_fault(prove(shape, alone(1), many).lines, "17 lanes in flight; 1 to 16 are possible");
    expect_fault(faults_of(shape, {1, 1, uint64_t{1} << 40, 0}, {""}), "are too many");
    const Shape two = shape_of(TUTTI_BARRIER, 2, 0);
    Programs programs = written(two, {2, 2, 1, 0}, {"", ""});
    programs[1] = std::move(written(two, {2, 1, 1, 0}, {"", ""})[1]);
    expect_fault(prove(two, alone(2), programs).lines,
                 "rank 1: 2 lanes, 1 in flight; rank 0 has 2 lanes, 2 in flight");
}

// Two ranks of a node, with the node's own operations.
const topo::Placement kOneNode = topo::Placement::blocks(2, 1);

TEST(CheckNode, ProvesEveryOperation) {
    const auto proves = [](const Shape& shape, const Lines& bodies) {
        EXPECT_EQ(faults_of(shape, kOneNode, {1, 1, 2, 16}, bodies), Lines{}) << bodies[0];
    };
    const std::string halves = "node_arrive root 1 order 0\nround 1\nnode_release root 1 order 1\n";
    proves(shape_of(TUTTI_BARRIER, 2, 0), {halves, halves});
    proves(shape_of(TUTTI_BCAST, 2, 8, 1),
           {"node_bcast root 1 output[0+8] order 0\n", "node_bcast root 1 output[0+8] order 0\n"});
    proves(ordered(shape_of(TUTTI_REDUCE, 2, 8)),
           {"node_reduce root 0 output[0+8] = input[0+8] order 0\n",
            "node_reduce root 0 - = input[0+8] order 0\n"});
    proves(ordered(shape_of(TUTTI_ALLREDUCE, 2, 8)),
           {"node_reduce root 0 scratch[0+8] = input[0+8] order 0\nround 1\n"
            "node_bcast root 0 scratch[0+8] order 1\ncopy output[0+8] = scratch[0+8]\n",
            "node_reduce root 0 - = input[0+8] order 0\nround 1\n"
            "node_bcast root 0 output[0+8] order 1\n"});
    proves(shape_of(TUTTI_GATHER, 2, 8), {"node_gather root 0 output[0+16] = input[0+8] order 0\n",
                                          "node_gather root 0 - = input[0+8] order 0\n"});
    proves(shape_of(TUTTI_SCATTER, 2, 8),
           {"node_scatter root 0 output[0+8] = input[0+16] order 0\n",
            "node_scatter root 0 output[0+8] = - order 0\n"});
    const std::string scan = "node_scan output[0+8] = input[0+8] order 0\n";
    proves(ordered(shape_of(TUTTI_SCAN, 2, 8)), {scan, scan});
    proves(
        ordered(shape_of(TUTTI_EXSCAN, 2, 8)),
        {"node_exscan - = input[0+8] order 0\n", "node_exscan output[0+8] = input[0+8] order 0\n"});
}

TEST(CheckNode, ScansGiveWhatIsUpToEachRank) {
    const auto expect = [](tutti_collective collective, const Lines& bodies,
                           const std::string& what) {
        expect_fault(faults_of(shape_of(collective, 2, 8), kOneNode, {1, 1, 1, 8}, bodies), what);
    };
    const std::string scan = "node_scan output[0+8] = input[0+8] order 0\n";
    const std::string exscan = "node_exscan output[0+8] = input[0+8] order 0\n";
    const std::string first = "node_exscan - = input[0+8] order 0\n";
    expect(TUTTI_SCAN, {"node_scan - = input[0+8] order 0\n", scan},
           "node_scan - = input[0+8] order 0: its result has another length");
    expect(TUTTI_SCAN, {scan, "node_scan output[0+4] = input[0+8] order 0\n"},
           "its result has another length");
    expect(TUTTI_EXSCAN, {"node_exscan scratch[0+8] = input[0+8] order 0\n", exscan},
           "its result has another length");
    expect(TUTTI_EXSCAN, {first, scan}, "it does not agree with");
    expect(TUTTI_SCAN, {first + "copy output[0+8] = input[0+8]\n", exscan},
           "rank 1: bytes 0 to 7 of its output hold the contributions of ranks 0 only");
    expect(TUTTI_EXSCAN, {"node_scan scratch[0+8] = input[0+8] order 0\n", scan},
           "rank 1: bytes 0 to 7 of its output hold the contributions of ranks 0-1 only");
}

// Blocks of 4, 0 and 12 bytes, of three ranks of a node whose second one is the root.
TEST(CheckNode, ProvesPartsThatDifferInLength) {
    const topo::Placement node = topo::Placement::blocks(3, 1);
    const sched::OwnLengths lengths(std::vector<uint64_t>{4, 0, 12});
    Shape shape = shape_of(TUTTI_ALLGATHERV, 3, 12);
    shape.lengths = lengths.view();
    const std::string closing = "round 1\nnode_bcast root 1 output[0+16] order 1\n";
    const auto gathered = [&](const std::string& whole) {
        const std::string last = "node_gatherv root 1 - = input[0+12] order 0\n" + closing;
        return faults_of(shape, node, {1, 1, 2, 0},
                         {"node_gatherv root 1 - = input[0+4] order 0\n" + closing,
                          "node_gatherv root 1 " + whole + " = - order 0\n" + closing, last});
    };
    EXPECT_EQ(gathered("output[0+16]"), Lines{});
    expect_fault(gathered("output[0+12]"),
                 "the root's blocks do not fit 16 bytes from or to 3 ranks");
    shape.collective = TUTTI_REDUCE_SCATTER;
    const auto scattered = [&](const std::string& whole) {
        const std::string reduce = " = input[0+16] order 0\nround 1\n";
        return faults_of(
            shape, node, {1, 1, 2, 32},
            {"node_reduce root 1 -" + reduce + "node_scatterv root 1 output[0+4] = - order 1\n",
             "node_reduce root 1 scratch[0+16]" + reduce + "node_scatterv root 1 - = " + whole +
                 " order 1\n",
             "node_reduce root 1 -" + reduce + "node_scatterv root 1 output[0+12] = - order 1\n"});
    };
    EXPECT_EQ(scattered("scratch[0+16]"), Lines{});
    expect_fault(scattered("scratch[16+16]"), "before they are written");
}

TEST(CheckNode, MembersDisagree) {
    const Shape shape = shape_of(TUTTI_BCAST, 2, 8);
    const auto expect = [&](const std::string& second, const std::string& what) {
        expect_fault(faults_of(shape, kOneNode, {1, 1, 1, 8},
                               {"node_bcast root 0 output[0+8] order 0\n", second + "\n"}),
                     what);
    };
    expect("node_bcast root 1 output[0+8] order 0",
           "rank 1, lane 0, round 0: node_bcast root 1 output[0+8] order 0: it does not agree with "
           "rank 0, lane 0, round 0: node_bcast root 0 output[0+8] order 0");
    expect("node_bcast root 0 output[0+4] order 0", "it does not agree with");
    expect("node_arrive root 0 order 0", "it does not agree with");
    expect("",
           "deadlock: rank 0, lane 0, round 0: node_bcast root 0 output[0+8] order 0, waits for "
           "rank 1, which has finished");
    expect_fault(faults_of(shape_of(TUTTI_GATHER, 2, 8), kOneNode, {1, 1, 1, 0},
                           {"node_gather root 0 output[0+8] = input[0+8] order 0\n",
                            "node_gather root 0 - = input[0+8] order 0\n"}),
                 "the root's blocks do not fit 16 bytes from or to 2 ranks");
}

// Only a barrier meets without moving anything.
TEST(CheckNode, EmptyOperationsTellNothing) {
    const Shape shape = shape_of(TUTTI_BARRIER, 2, 0);
    const std::string gather = "node_gather root 0 - = - order 0\nround 1\n";
    const std::string bcast = "node_bcast root 0 - order 1\n";
    expect_fault(faults_of(shape, kOneNode, {1, 1, 2, 0}, {gather + bcast, gather + bcast}),
                 "rank 0 leaves the barrier when it knows only of ranks 0");
    const std::string halves =
        "node_arrive root 0 order 0\nround 1\nnode_release root 0 order 1\nround 2\n";
    const std::string last = "node_bcast root 0 - order 2\n";
    EXPECT_EQ(faults_of(shape, kOneNode, {1, 1, 3, 0}, {halves + last, halves + last}), Lines{});
}

// Each half of a barrier lets the others go.
TEST(CheckNode, HalvesOfABarrierAreNoBarrier) {
    const Shape shape = shape_of(TUTTI_BARRIER, 2, 0);
    const std::string arrive = "node_arrive root 0 order 0\n";
    const std::string release = "node_release root 0 order 0\n";
    expect_fault(faults_of(shape, kOneNode, {1, 1, 1, 0}, {arrive, arrive}),
                 "rank 1 leaves the barrier when it knows only of ranks 1");
    expect_fault(faults_of(shape, kOneNode, {1, 1, 1, 0}, {release, release}),
                 "rank 0 leaves the barrier when it knows only of ranks 0");
}

TEST(CheckNode, NodeOrderOrdersLanes) {
    // Lanes 0 and 1 are in flight together and use the same bytes of output: only the order of the
    // node operations keeps them apart.
    const std::string first =
        "node_bcast root 0 output[0+8] order 0\nlane 1\nround 0\n"
        "node_bcast root 0 output[0+8] order 1\n";
    const Shape shape = shape_of(TUTTI_BCAST, 2, 8);
    EXPECT_EQ(faults_of(shape, kOneNode, {2, 2, 1, 0}, {first, first}), Lines{});
    // The copy is before nothing of the other lane.
    expect_fault(faults_of(shape, kOneNode, {2, 2, 2, 8},
                           {"node_bcast root 0 output[0+8] order 0\nround 1\n"
                            "copy scratch[0+8] = output[0+8]\nlane 1\nround 0\n"
                            "node_bcast root 0 output[0+8] order 1\n",
                            "node_bcast root 0 output[0+8] order 0\nround 1\n"
                            "copy scratch[0+8] = output[0+8]\nlane 1\nround 0\n"
                            "node_bcast root 0 output[0+8] order 1\n"}),
                 "rank 1, lane 1, round 0: node_bcast root 0 output[0+8] order 1: nothing orders "
                 "it and operation 0 of lane 0, round 1");
    // The copy stands before a node operation of its own lane, which stands before lane 1's.
    const std::string chained =
        "node_bcast root 0 output[0+8] order 0\nround 1\n"
        "copy scratch[0+8] = output[0+8]\nround 2\nnode_arrive root 0 order 1 after 0\nlane "
        "1\nround 0\n"
        "node_bcast root 0 output[0+8] order 2\n";
    EXPECT_EQ(faults_of(shape, kOneNode, {2, 2, 3, 8}, {chained, chained}), Lines{});
    std::string loose = chained;
    loose.replace(loose.find("after 0"), 7, "after none");
    expect_fault(faults_of(shape, kOneNode, {2, 2, 3, 8}, {loose, loose}), "nothing orders it");
}

TEST(CheckLanes, SlotsShareScratch) {
    const auto body = [](bool is_sender) {
        std::string text;
        for (int lane = 0; lane < 2; ++lane) {
            const std::string block = "[" + std::to_string(4 * lane) + "+4]";
            if (lane != 0) text += "lane 1\nround 0\n";
            text += is_sender ? "send 0 to 1 output" + block + "\n"
                              : "recv 0 from 0 scratch[0+4]\nround 1\ncopy output" + block +
                                    " = scratch[0+4]\n";
        }
        return text;
    };
    const Shape shape = shape_of(TUTTI_BCAST, 2, 8);
    // One slot: one lane after the other; two: each has scratch of its own.
    for (const uint32_t slots : {1u, 2u}) {
        EXPECT_EQ(faults_of(shape, {2, slots, 2, 4}, {body(true), body(false)}), Lines{});
    }
    // Contents do not outlive the lane.
    expect_fault(faults_of(shape, {2, 1, 2, 8},
                           {body(true),
                            "recv 0 from 0 scratch[0+4]\nround 1\n"
                            "copy output[0+4] = scratch[0+4]\nlane 1\nround 0\n"
                            "recv 0 from 0 scratch[4+4]\nround 1\n"
                            "copy output[4+4] = scratch[0+4]\n"}),
                 "it reads bytes 0 to 3 of a block before they are written");
    // Lanes in flight together are not ordered.
    expect_fault(faults_of(shape, {2, 2, 2, 4},
                           {"send 0 to 1 output[0+8]\nlane 1\nround 0\nsend 0 to 1 output[4+4]\n",
                            "recv 0 from 0 output[0+8]\nlane 1\nround 0\n"
                            "recv 0 from 0 output[4+4]\n"}),
                 "rank 1, lane 1, round 0: recv 0 from 0 output[4+4]: nothing orders it and "
                 "operation 0 of lane 0, round 0");
}

TEST(Check, ParticipantsMayBeNodes) {
    // Blocks of nodes with one and two ranks.
    const std::array<uint64_t, 3> node_of{0, 1, 1};
    const topo::Placement nodes(node_of);
    Shape shape = shape_of(TUTTI_ALLGATHER, 2, 8);
    shape.nodes = &nodes;
    const Lines right = {
        "send 0 to 1 input[0+8]\nrecv 0 from 1 output[8+16]\n"
        "copy output[0+8] = input[0+8]\n",
        "send 0 to 0 input[0+16]\nrecv 0 from 0 output[0+8]\n"
        "copy output[8+16] = input[0+16]\n"};
    EXPECT_EQ(faults_of(shape, {1, 1, 1, 0}, right), Lines{});
    shape.nodes = nullptr;
    EXPECT_NE(faults_of(shape, {1, 1, 1, 0}, right), Lines{});
}

TEST(Check, FaultsAreLimited) {
    std::string body;
    for (int i = 0; i < 60; ++i) body += "copy input[0+8] = input[0+8]\n";
    EXPECT_EQ(faults_of(shape_of(TUTTI_BCAST, 1, 8), {1, 1, 1, 0}, {body}).size(), kFaultLinesMax);
}

// The page's example stands between the fences of its first block of text.
TEST(Check, ThePagesExampleIsRight) {
    std::ifstream file(TUTTI_TEST_SCHEDULE_PAGE);
    ASSERT_TRUE(file) << TUTTI_TEST_SCHEDULE_PAGE;
    std::stringstream page;
    page << file.rdbuf();
    const std::string text = page.str();
    Programs programs;
    Shape shape;
    const std::string fence = "```schedule\n";
    for (size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at)) {
        at += fence.size();
        auto parsed = sched::parse_program(text.substr(at, text.find("```", at) - at), "page");
        ASSERT_TRUE(parsed) << parsed.error().message;
        ASSERT_EQ(parsed.value().rank, programs.size());
        shape = parsed.value().shape;
        programs.push_back(std::move(parsed.value().program));
    }
    ASSERT_EQ(programs.size(), shape.ranks);
    EXPECT_EQ(prove(shape, topo::Placement(std::vector<uint64_t>{0, 0, 1}), programs).lines,
              std::vector<std::string>{});
}

}  // namespace
}  // namespace tutti::check
