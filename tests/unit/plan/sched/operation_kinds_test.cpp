// SPDX-License-Identifier: BSD-3-Clause
#include "plan/sched/operation_kinds.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace tutti::sched {
namespace {

TEST(OperationKinds, WordsDiffer) {
    std::set<std::string_view> words;
    for (const OperationRow& row : kOperations) EXPECT_TRUE(words.insert(row.word).second);
}

TEST(OperationKinds, TakesOneWordAfterTheOther) {
    std::string_view text = "from $peer $to";
    EXPECT_EQ(take_word(text), "from");
    EXPECT_EQ(take_word(text), "$peer");
    EXPECT_EQ(take_word(text), "$to");
    EXPECT_TRUE(text.empty());
    EXPECT_EQ(field_of("peer"), Field::kPeer);
    EXPECT_FALSE(field_of("pear"));
}

// A sender reads a block, and a receiver writes one.
TEST(OperationKinds, WhatMovesComesFromABlockAndGoesToOne) {
    for (const OperationRow& row : kOperations) {
        const bool is_message = row.among == Among::kPair || row.among == Among::kTeam;
        if (!is_message) continue;
        EXPECT_NE(row.sends, row.receives) << row.word;
        EXPECT_EQ(row.left == Use::kRead, row.sends) << row.word;
        EXPECT_EQ(row.to == Use::kWritten, row.receives) << row.word;
    }
}

// The proof takes the operands of a node's fold from `left` of each, and a spread block from `to`.
TEST(OperationKinds, NodeOperationsHaveTheBlocksOfTheirCollective) {
    for (const OperationRow& row : kOperations) {
        if (row.among != Among::kNode || has_no_blocks(row.kind)) continue;
        Operation op;
        op.kind = row.kind;
        op.to.bytes = 3;
        op.left.bytes = 5;
        EXPECT_EQ(node_bytes(op), is_from_root(row) ? 3u : 5u) << row.word;
        const bool is_scatter = is_from_root(row) && moves_parts(row);
        EXPECT_EQ(root_block(op).bytes, is_scatter ? 5u : 3u) << row.word;
        EXPECT_EQ(row.folds, is_reduction(*row.collective)) << row.word;
        EXPECT_EQ(runs_along(row), is_prefix(*row.collective)) << row.word;
        if (!runs_along(row)) continue;
        EXPECT_EQ(prefix_bytes(op, 0), row.collective == TUTTI_SCAN ? 5u : 0u);
        EXPECT_EQ(prefix_bytes(op, 1), 5u);
    }
}

// Each has a twin that does the same with parts that differ in length.
TEST(OperationKinds, WhatMovesPartsHasAKindOfUnequalOnes) {
    for (const OperationRow& row : kOperations) {
        const OperationRow& twin = row_of(with_unequal_parts(row.kind));
        EXPECT_EQ(has_unequal_parts(twin), moves_parts(row)) << row.word;
        EXPECT_EQ(is_from_root(twin), is_from_root(row)) << row.word;
        EXPECT_EQ(twin.text, row.text) << row.word;
    }
}

// The page has a line for each.
TEST(OperationKinds, ThePageOfSchedulesNamesAll) {
    std::stringstream page;
    page << std::ifstream(TUTTI_TEST_SCHEDULE_PAGE).rdbuf();
    for (const OperationRow& row : kOperations) {
        const std::string line = "| `" + std::string(row.word) + " ";
        EXPECT_NE(page.str().find(line), std::string::npos) << row.word;
    }
}

}  // namespace
}  // namespace tutti::sched
