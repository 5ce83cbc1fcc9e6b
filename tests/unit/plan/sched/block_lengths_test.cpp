// SPDX-License-Identifier: BSD-3-Clause
#include "plan/sched/block_lengths.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "plan/sched/shape.h"

namespace tutti::sched {
namespace {

constexpr std::array<uint64_t, 4> kLengths = {8, 0, 24, 16};

Shape allgatherv_of(const BlockLengths& lengths) {
    return {.collective = TUTTI_ALLGATHERV, .ranks = 4, .bytes = 24, .lengths = lengths};
}

TEST(BlockLengths, BlocksStandOneAfterTheOther) {
    const BlockLengths only_lengths{kLengths.data(), 4, nullptr};
    const OwnLengths own(only_lengths);
    for (const BlockLengths& lengths : {only_lengths, own.view()}) {
        const Shape shape = allgatherv_of(lengths);
        EXPECT_EQ(shape.block_offset(0), 0u);
        EXPECT_EQ(shape.block_offset(1), 8u);
        EXPECT_EQ(shape.block_offset(2), 8u);
        EXPECT_EQ(shape.block_offset(3), 32u);
        EXPECT_EQ(shape.block_offset(4), 48u) << "behind the last one";
        EXPECT_EQ(shape.block_bytes(1), 0u);
        EXPECT_EQ(shape.block_bytes(3), 16u);
        EXPECT_EQ(shape.all_blocks_bytes(), 48u);
        EXPECT_EQ(shape.input_bytes(2), 24u);
        EXPECT_EQ(shape.output_bytes(2), 48u);
        Shape scattered = shape;
        scattered.collective = TUTTI_REDUCE_SCATTER;
        EXPECT_EQ(scattered.input_bytes(2), 48u);
        EXPECT_EQ(scattered.output_bytes(2), 24u);
    }
}

// Participants in another order, whose blocks stay in that of ranks.
TEST(BlockLengths, BlocksBelongToRanks) {
    const topo::Placement alone(std::vector<uint64_t>{2, 0, 3, 1});
    ASSERT_EQ(alone.nodes(), 4u);
    const OwnLengths own(kLengths);
    Shape shape = allgatherv_of(own.view());
    shape.nodes = &alone;
    shape.has_blocks_by_rank = true;
    for (Rank i = 0; i < 4; ++i) {
        const Rank rank = alone.members(i).front();
        EXPECT_EQ(shape.block_bytes(i), kLengths[rank]) << i;
        EXPECT_EQ(shape.block_offset(i), own.view().before(rank)) << i;
    }
    EXPECT_EQ(shape.all_blocks_bytes(), 48u);
}

TEST(BlockLengths, AreComparedByContents) {
    const std::vector<uint64_t> same(kLengths.begin(), kLengths.end());
    const std::vector<uint64_t> other = {8, 0, 24, 8};
    const OwnLengths own(kLengths);
    EXPECT_EQ(allgatherv_of(own.view()), allgatherv_of({same.data(), 4, nullptr}));
    EXPECT_NE(allgatherv_of(own.view()), allgatherv_of({other.data(), 4, nullptr}));
    EXPECT_NE(allgatherv_of(own.view()), allgatherv_of({}));
    EXPECT_EQ(OwnLengths(BlockLengths{}).view(), BlockLengths{});
}

TEST(BlockLengths, CopiesShareThem) {
    OwnLengths copy;
    {
        const OwnLengths own(kLengths);
        copy = own;
        EXPECT_EQ(copy.view().bytes, own.view().bytes);
    }
    EXPECT_EQ(copy.view().before(4), 48u);
}

}  // namespace
}  // namespace tutti::sched
