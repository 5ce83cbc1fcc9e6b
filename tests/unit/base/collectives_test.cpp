// SPDX-License-Identifier: BSD-3-Clause
// The table of collectives against what MPI 4.1, chapter 6, says of each, in words of its own.
#include "base/collectives.h"

#include <gtest/gtest.h>

#include <string_view>

namespace tutti {
namespace {

constexpr uint32_t kRanks = 4, kRoot = 2, kOther = 1;

const Collective& named(std::string_view name) {
    for (const Collective& one : kCollectives) {
        if (one.name == name) return one;
    }
    ADD_FAILURE() << name;
    return kCollectives[0];
}

// Blocks at the root and elsewhere.
struct Sizes {
    uint32_t at_root;
    uint32_t elsewhere;
    bool operator==(const Sizes&) const = default;
};

Sizes sizes_of(const CollectiveBuffer& buffer) {
    return {blocks_of(buffer, kRoot, kRoot, kRanks), blocks_of(buffer, kOther, kRoot, kRanks)};
}

TEST(Collectives, BuffersAreThoseOfTheStandard) {
    struct Row {
        std::string_view name;
        Sizes input, output;
    };
    const Row rows[] = {{"barrier", {0, 0}, {0, 0}},
                        {"bcast", {1, 0}, {1, 1}},
                        {"reduce", {1, 1}, {1, 0}},
                        {"allreduce", {1, 1}, {1, 1}},
                        {"gather", {1, 1}, {4, 0}},
                        {"gatherv", {1, 1}, {4, 0}},
                        {"scatter", {4, 0}, {1, 1}},
                        {"scatterv", {4, 0}, {1, 1}},
                        {"allgather", {1, 1}, {4, 4}},
                        {"allgatherv", {1, 1}, {4, 4}},
                        {"alltoall", {4, 4}, {4, 4}},
                        {"alltoallv", {4, 4}, {4, 4}},
                        {"alltoallw", {4, 4}, {4, 4}},
                        {"scan", {1, 1}, {1, 1}},
                        {"exscan", {1, 1}, {1, 1}},
                        {"reduce_scatter", {4, 4}, {1, 1}},
                        {"reduce_scatter_block", {4, 4}, {1, 1}}};
    EXPECT_EQ(std::size(rows), kCollectives.size());
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(sizes_of(named(row.name).input), row.input);
        EXPECT_EQ(sizes_of(named(row.name).output), row.output);
    }
    EXPECT_EQ(blocks_of(named("exscan").output, 0, 0, kRanks), 0u);
}

TEST(Collectives, KindsFollowFromTheBuffers) {
    struct Row {
        tutti_collective collective;
        bool has_data, has_root, is_reduction, is_vector, has_blocks;
    };
    const Row rows[] = {{TUTTI_BARRIER, false, false, false, false, false},
                        {TUTTI_BCAST, true, true, false, true, false},
                        {TUTTI_REDUCE, true, true, true, true, false},
                        {TUTTI_ALLREDUCE, true, false, true, true, false},
                        {TUTTI_GATHER, true, true, false, false, true},
                        {TUTTI_SCATTER, true, true, false, false, true},
                        {TUTTI_ALLGATHER, true, false, false, false, true},
                        {TUTTI_REDUCE_SCATTER_BLOCK, true, false, true, false, true},
                        {TUTTI_ALLTOALL, true, false, false, false, true},
                        {TUTTI_SCAN, true, false, true, true, false},
                        {TUTTI_EXSCAN, true, false, true, true, false},
                        {TUTTI_GATHERV, true, true, false, false, true},
                        {TUTTI_SCATTERV, true, true, false, false, true},
                        {TUTTI_ALLGATHERV, true, false, false, false, true},
                        {TUTTI_ALLTOALLV, true, false, false, false, true},
                        {TUTTI_ALLTOALLW, true, false, false, false, true},
                        {TUTTI_REDUCE_SCATTER, true, false, true, false, true}};
    EXPECT_EQ(std::size(rows), size_t{TUTTI_COLLECTIVE_COUNT});
    for (const Row& row : rows) {
        SCOPED_TRACE(collective_name(row.collective));
        EXPECT_EQ(has_data(row.collective), row.has_data);
        EXPECT_EQ(has_root(row.collective), row.has_root);
        EXPECT_EQ(is_reduction(row.collective), row.is_reduction);
        EXPECT_EQ(is_vector(row.collective), row.is_vector);
        EXPECT_EQ(has_blocks(row.collective), row.has_blocks);
    }
    for (const Collective& one : kCollectives) {
        EXPECT_EQ(is_prefix(one), one.name == "scan" || one.name == "exscan") << one.name;
        const bool deals = one.name.starts_with("scatter") || one.name.starts_with("alltoall");
        EXPECT_EQ(is_dealt(one), deals) << one.name;
        const bool waits =
            one.name == "barrier" || one.name == "allreduce" || one.name.starts_with("allgather") ||
            one.name.starts_with("reduce_scatter") || one.name.starts_with("alltoall");
        EXPECT_EQ(awaits_all(one), waits) << one.name;
    }
}

TEST(Collectives, LengthsAreKnownTo) {
    for (const Collective& one : kCollectives) {
        SCOPED_TRACE(one.name);
        const bool is_private = one.name == "gatherv" || one.name == "scatterv" ||
                                one.name == "alltoallv" || one.name == "alltoallw";
        EXPECT_EQ(has_private_lengths(one), is_private);
        EXPECT_EQ(has_lengths(one),
                  is_private || one.name == "allgatherv" || one.name == "reduce_scatter");
    }
}

TEST(Collectives, InPlaceIsWhereTheStandardHasIt) {
    struct Row {
        tutti_collective collective;
        bool at_root, elsewhere;
    };
    const Row rows[] = {
        {TUTTI_BARRIER, false, false},       {TUTTI_BCAST, false, false},
        {TUTTI_REDUCE, true, false},         {TUTTI_ALLREDUCE, true, true},
        {TUTTI_GATHER, true, false},         {TUTTI_SCATTER, true, false},
        {TUTTI_ALLGATHER, true, true},       {TUTTI_REDUCE_SCATTER_BLOCK, true, true},
        {TUTTI_ALLTOALL, false, false},      {TUTTI_SCAN, true, true},
        {TUTTI_EXSCAN, true, true},          {TUTTI_GATHERV, true, false},
        {TUTTI_SCATTERV, true, false},       {TUTTI_ALLGATHERV, true, true},
        {TUTTI_ALLTOALLV, false, false},     {TUTTI_ALLTOALLW, false, false},
        {TUTTI_REDUCE_SCATTER, false, false}};
    EXPECT_EQ(std::size(rows), size_t{TUTTI_COLLECTIVE_COUNT});
    for (const Row& row : rows) {
        SCOPED_TRACE(collective_name(row.collective));
        EXPECT_EQ(may_be_in_place(row.collective, kRoot, kRoot), row.at_root);
        EXPECT_EQ(may_be_in_place(row.collective, kOther, kRoot), row.elsewhere);
        // One buffer: the source of a bcast is what the others receive into.
        EXPECT_EQ(input_blocks(row.collective, kRoot, kRoot, kRanks) == 0,
                  row.collective == TUTTI_BARRIER || row.collective == TUTTI_BCAST);
    }
    EXPECT_FALSE(may_be_in_place(TUTTI_EXSCAN, 0, 0)) << "it has no result";
    // At scatter's root recvbuf says so, else sendbuf.
    for (const Collective& one : kCollectives) {
        const bool is_scatter = one.name == "scatter" || one.name == "scatterv";
        EXPECT_EQ(one.marked_by == MarkedBy::kRecv, is_scatter) << one.name;
    }
}

TEST(Collectives, ResultsAreMadeOf) {
    const auto of = [](tutti_collective collective, uint32_t block) {
        return origin(collective, kOther, kRoot, kRanks, block);
    };
    EXPECT_EQ(of(TUTTI_BCAST, 0), (Origin{kRoot, kRoot, 0}));
    EXPECT_EQ(of(TUTTI_SCATTER, 0), (Origin{kRoot, kRoot, kOther}));
    EXPECT_EQ(of(TUTTI_ALLREDUCE, 0), (Origin{0, kRanks - 1, 0}));
    EXPECT_EQ(origin(TUTTI_REDUCE, kRoot, kRoot, kRanks, 0), (Origin{0, kRanks - 1, 0}));
    EXPECT_EQ(of(TUTTI_ALLGATHER, 3), (Origin{3, 3, 0}));
    EXPECT_EQ(of(TUTTI_REDUCE_SCATTER_BLOCK, 0), (Origin{0, kRanks - 1, kOther}));
    EXPECT_EQ(of(TUTTI_ALLTOALL, 3), (Origin{3, 3, kOther}));
    EXPECT_EQ(of(TUTTI_SCAN, 0), (Origin{0, kOther, 0}));
    EXPECT_EQ(of(TUTTI_EXSCAN, 0), (Origin{0, kOther - 1, 0}));
    EXPECT_EQ(origin(TUTTI_GATHER, kRoot, kRoot, kRanks, 1), (Origin{1, 1, 0}));
}

TEST(Collectives, NamesAreFoundAgain) {
    for (size_t i = 0; i < kCollectiveNames.size(); ++i) {
        EXPECT_EQ(find_collective(kCollectiveNames[i]), static_cast<tutti_collective>(i));
    }
    EXPECT_EQ(find_collective("neighbor_alltoallv"), std::nullopt);
    EXPECT_EQ(find_collective("allgathe"), std::nullopt);
    EXPECT_EQ(find_collective(""), std::nullopt);
}

TEST(Collectives, WhoSendsWhereOthersMayHaveMoreRoom) {
    EXPECT_TRUE(is_sender(TUTTI_GATHER, kOther, kRoot));
    EXPECT_FALSE(is_sender(TUTTI_GATHER, kRoot, kRoot));
    EXPECT_TRUE(is_sender(TUTTI_SCATTER, kRoot, kRoot));
    EXPECT_FALSE(is_sender(TUTTI_SCATTER, kOther, kRoot));
    for (size_t i = 0; i < kCollectiveNames.size(); ++i) {
        const auto collective = static_cast<tutti_collective>(i);
        EXPECT_EQ(facts(collective).allows_short_blocks,
                  collective == TUTTI_GATHER || collective == TUTTI_SCATTER);
    }
}

}  // namespace
}  // namespace tutti
