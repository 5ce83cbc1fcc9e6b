// SPDX-License-Identifier: BSD-3-Clause
// Trees of calls that fold nothing: flatter where flags do not tell levels apart, and no class of
// edges crossed more often.
#include "run/node/quick_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/topo/node_topology.h"

namespace tutti::node {
namespace {

constexpr Rank kRanks = 128;

// Two sockets of four dies of two caches of eight.
Layout fat_tree() {
    topo::Groups groups;
    for (const Rank size : {64u, 16u, 8u}) {
        groups.level.emplace_back();
        for (Rank rank = 0; rank < kRanks; ++rank) groups.level.back().push_back(rank / size);
    }
    Layout layout = make_tree(topo::build_tree(groups, kRanks, 8).parent, groups.level.back());
    std::vector<uint32_t> distances;
    for (Rank rank = 0; rank < kRanks; ++rank) {
        const Rank parent = layout.parent[rank];
        distances.push_back(parent == kNoRank ? 0 : topo::distance(groups, rank, parent));
    }
    set_distances(layout, distances);
    return layout;
}

Figures flags(const std::vector<uint32_t>& ns) {
    Figures figures;
    for (size_t i = 0; i < ns.size(); ++i) figures.pairs[i].flag_ns = ns[i];
    return figures;
}

size_t crossed(const std::vector<Rank>& parent, Rank group) {
    size_t edges = 0;
    for (Rank rank = 0; rank < kRanks; ++rank) {
        edges += parent[rank] != kNoRank && rank / group != parent[rank] / group ? 1 : 0;
    }
    return edges;
}

uint32_t depth(const std::vector<Rank>& parent) {
    uint32_t most = 0;
    for (Rank rank = 0; rank < kRanks; ++rank) {
        uint32_t steps = 0;
        for (Rank at = rank; parent[at] != kNoRank && steps < kRanks; at = parent[at]) ++steps;
        most = std::max(most, steps);
    }
    return most;
}

TEST(QuickTree, IsTheTreeItselfWhereLevelsAreApart) {
    Layout layout = fat_tree();
    for (const auto& ns : std::vector<std::vector<uint32_t>>{
             {}, {50, 226, 268, 530}, {50, 0, 0, 400}, {50, 220, 0, 400}}) {
        follow_flags(layout, flags(ns));
        EXPECT_EQ(layout.quick, nullptr);
    }
    Layout flat;
    follow_flags(flat, flags({50, 220, 230, 400}));
    EXPECT_EQ(flat.quick, nullptr);
}

TEST(QuickTree, IsFlatterWhereTwoLevelsAreOne) {
    Layout layout = fat_tree();
    follow_flags(layout, flags({50, 220, 230, 400}));
    ASSERT_NE(layout.quick, nullptr);
    const std::vector<Rank>& parent = layout.quick->parent;
    EXPECT_LT(depth(parent), layout.depth);
    EXPECT_EQ(parent[0], kNoRank);
    EXPECT_EQ(crossed(parent, 64), 1u);
    EXPECT_EQ(crossed(parent, 8), 15u);
    for (Rank rank = 1; rank < kRanks; ++rank) {
        EXPECT_NE(parent[rank], kNoRank);
        const auto& siblings = layout.quick->children[parent[rank]];
        EXPECT_LE(siblings.size(), 12u);
        EXPECT_EQ(std::count(siblings.begin(), siblings.end(), rank), 1);
    }
    // As it was, when they are apart again.
    follow_flags(layout, flags({50, 226, 268, 530}));
    EXPECT_EQ(layout.quick, nullptr);
}

// Whatever flags say: a flag from one socket to the other may be quick, the link is one.
TEST(QuickTree, NeverMergesTheOutermostLevel) {
    Layout layout = fat_tree();
    follow_flags(layout, flags({100, 100, 100, 100}));
    ASSERT_NE(layout.quick, nullptr);
    EXPECT_EQ(crossed(layout.quick->parent, 64), 1u);
    follow_flags(layout, flags({50, 220, 400, 410}));
    EXPECT_EQ(layout.quick, nullptr);
}

}  // namespace
}  // namespace tutti::node
