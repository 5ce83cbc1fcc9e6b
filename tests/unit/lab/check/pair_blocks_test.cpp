// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/pair_blocks.h"

#include <gtest/gtest.h>

#include "unit/lab/check/faults.h"

namespace tutti::check {
namespace {

// Of two ranks: rank 0 gives 3 and 5 bytes, rank 1 none and 7.
const std::vector<uint64_t> kBytes = {3, 5, 0, 7};

Lines faults_of(tutti_collective collective, const PairBlocks& blocks, const Lines& bodies) {
    const Shape shape = shape_of(collective, 2, 0);
    return prove(shape, alone(2), written(shape, {1, 1, 1, 0}, bodies), {}, &blocks).lines;
}

TEST(PairBlocks, BlocksStandOneBehindTheOther) {
    const PairBlocks blocks(TUTTI_ALLTOALLV, 0, 2, kBytes, 0);
    const sched::CallBlocks first = blocks.of(0);
    EXPECT_EQ(first.input_bytes[1], 5U);
    EXPECT_EQ(first.input_offsets[1], 3U);
    EXPECT_EQ(first.output_bytes[0], 3U);
    EXPECT_EQ(first.output_bytes[1], 0U);
    EXPECT_EQ(blocks.input_bytes(0), 8U);
    EXPECT_EQ(blocks.output_bytes(0), 3U);
    EXPECT_EQ(blocks.output_bytes(1), 12U);
    const auto outputs = blocks.outputs(1);
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(outputs[1].offset, 5U);
    EXPECT_EQ(outputs[1].bytes, 7U);
    EXPECT_EQ(outputs[1].data, 8U);
}

TEST(PairBlocks, OnlyTheRootHasArraysOfARootedCollective) {
    const PairBlocks gather(TUTTI_GATHERV, 1, 2, kBytes, 0);
    EXPECT_EQ(gather.of(0).output_bytes, nullptr);
    EXPECT_EQ(gather.of(0).own_bytes, 5U);
    EXPECT_EQ(gather.of(1).output_bytes[0], 5U);
    EXPECT_EQ(gather.of(1).own_bytes, 7U);
    EXPECT_EQ(gather.own_offset(1), 5U);
    EXPECT_EQ(gather.bytes(0, 0), 0U) << "nobody gives it";
    EXPECT_EQ(gather.output_bytes(0), 0U);
    const PairBlocks scatter(TUTTI_SCATTERV, 0, 2, kBytes, 0);
    EXPECT_EQ(scatter.of(0).input_bytes[1], 5U);
    EXPECT_EQ(scatter.of(1).input_bytes, nullptr);
    EXPECT_EQ(scatter.of(1).own_bytes, 5U);
}

TEST(PairBlocks, OrderAndGapsAreDrawn) {
    std::vector<uint64_t> bytes(64, 10);
    const PairBlocks blocks(TUTTI_ALLTOALLV, 0, 8, bytes, 3);
    bool has_gap = false, is_moved = false;
    for (Rank rank = 0; rank < 8; ++rank) {
        has_gap |= blocks.input_bytes(rank) > 80;
        const auto all = blocks.inputs(rank);
        is_moved |= all[0].offset > all[1].offset;
        for (const auto& one : all) {
            for (const auto& other : all) {
                const bool are_apart = one.offset + 10 <= other.offset ||
                                       other.offset + 10 <= one.offset || &one == &other;
                EXPECT_TRUE(are_apart);
            }
        }
    }
    EXPECT_TRUE(has_gap);
    EXPECT_TRUE(is_moved);
}

TEST(ProvePairBlocks, WhatIsRightAndWhatIsNot) {
    const PairBlocks blocks(TUTTI_ALLTOALLV, 0, 2, kBytes, 0);
    const std::string of_1 = "recv 0 from 0 output[0+5]\ncopy output[5+7] = input[0+7]\n";
    const std::string send = "send 0 to 1 input[3+5]\n";
    EXPECT_EQ(faults_of(TUTTI_ALLTOALLV, blocks, {send + "copy output[0+3] = input[0+3]\n", of_1}),
              Lines{});
    expect_fault(faults_of(TUTTI_ALLTOALLV, blocks, {send, of_1}),
                 "rank 0: bytes 0 to 2 of its output are never written");
    expect_fault(
        faults_of(TUTTI_ALLTOALLV, blocks,
                  {"send 0 to 1 input[0+5]\ncopy output[0+3] = input[0+3]\n", of_1}),
        "rank 1: bytes 0 to 4 of its output hold byte 0 of all ranks' blocks and what follows, "
        "not byte 3");
    expect_fault(
        faults_of(TUTTI_ALLTOALLV, blocks, {send + "copy output[0+4] = input[0+4]\n", of_1}),
        "output");  // it has 3 bytes
}

// In the order of ranks but for a gap, which nobody may write to.
TEST(ProvePairBlocks, GapsStayAsTheyAre) {
    const std::vector<uint64_t> bytes = {2, 0, 2, 0};
    for (uint64_t seed = 1;; ++seed) {
        const PairBlocks blocks(TUTTI_GATHERV, 0, 2, bytes, seed);
        const auto all = blocks.outputs(0);
        if (all[0].offset != 0 || all[1].offset != 3) continue;
        EXPECT_EQ(faults_of(TUTTI_GATHERV, blocks,
                            {"recv 0 from 1 output[3+2]\ncopy output[0+2] = input[0+2]\n",
                             "send 0 to 0 input[0+2]\n"}),
                  Lines{});
        expect_fault(faults_of(TUTTI_GATHERV, blocks,
                               {"recv 0 from 1 output[2+2]\ncopy output[0+2] = input[0+2]\n",
                                "send 0 to 0 input[0+2]\n"}),
                     "rank 0: byte 2 of its output are of no block, and written");
        break;
    }
}

}  // namespace
}  // namespace tutti::check
