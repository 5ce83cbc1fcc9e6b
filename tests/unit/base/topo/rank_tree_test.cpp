// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/prng.h"
#include "unit/base/topo/support.h"

namespace tutti::topo {
namespace {

using test::bound;
using test::machine;
using test::unbound;

// Steps from the rank to the root; UINT32_MAX if it never gets there.
uint32_t depth_of(const Tree& tree, uint32_t rank) {
    uint32_t depth = 0;
    while (rank != tree.root) {
        rank = tree.parent[rank];
        if (rank >= tree.parent.size() || ++depth > tree.parent.size()) return UINT32_MAX;
    }
    return depth;
}

uint32_t height_of(const Tree& tree) {
    uint32_t height = 0;
    for (uint32_t rank = 0; rank < tree.parent.size(); ++rank) {
        height = std::max(height, depth_of(tree, rank));
    }
    return height;
}

std::vector<uint32_t> child_counts(const Tree& tree) {
    std::vector<uint32_t> counts(tree.parent.size(), 0);
    for (const uint32_t parent : tree.parent) {
        if (parent != UINT32_MAX) ++counts[parent];
    }
    return counts;
}

// Exactly groups - 1 edges cross a level, and the rank whose edge leaves a group is its lowest.
void expect_few_crossings(const Tree& tree, const std::vector<uint32_t>& level) {
    std::map<uint32_t, uint32_t> lowest;
    for (uint32_t rank = 0; rank < level.size(); ++rank) lowest.try_emplace(level[rank], rank);
    uint32_t crossings = 0;
    for (uint32_t rank = 0; rank < level.size(); ++rank) {
        if (rank == tree.root || level[tree.parent[rank]] == level[rank]) continue;
        ++crossings;
        ASSERT_EQ(lowest[level[rank]], rank);
    }
    ASSERT_EQ(crossings, lowest.size() - 1);
}

void expect_valid(const Tree& tree, const Groups& groups, uint32_t ranks, uint32_t fan_in_max) {
    ASSERT_EQ(tree.root, 0u);
    ASSERT_EQ(tree.parent.size(), ranks);
    ASSERT_EQ(tree.parent[0], UINT32_MAX);
    for (uint32_t rank = 0; rank < ranks; ++rank) ASSERT_NE(depth_of(tree, rank), UINT32_MAX);
    const std::vector<uint32_t> counts = child_counts(tree);
    ASSERT_LE(*std::max_element(counts.begin(), counts.end()), fan_in_max);
    for (const auto& level : groups.level) expect_few_crossings(tree, level);
}

Tree checked_tree(const Groups& groups, uint32_t ranks, uint32_t fan_in_max) {
    Tree tree = build_tree(groups, ranks, fan_in_max);
    expect_valid(tree, groups, ranks, fan_in_max);
    return tree;
}

TEST(BuildTree, OneRank) {
    const Tree tree = checked_tree({}, 1, 4);
    EXPECT_EQ(tree.parent, std::vector<uint32_t>{UINT32_MAX});
}

TEST(BuildTree, TwoRanksWithoutAnythingShared) {
    EXPECT_EQ(checked_tree({}, 2, 4).parent, (std::vector<uint32_t>{UINT32_MAX, 0}));
    const NodeTopology topology = machine({2}, 1);
    const Groups groups = group_ranks(topology, bound(2, topology));
    EXPECT_EQ(checked_tree(groups, 2, 4).parent, (std::vector<uint32_t>{UINT32_MAX, 0}));
}

TEST(BuildTree, FlatGroupIsAFullTree) {
    EXPECT_EQ(height_of(checked_tree({}, 9, 8)), 1u);
    EXPECT_EQ(height_of(checked_tree({}, 10, 8)), 2u);
    EXPECT_EQ(height_of(checked_tree({}, 1 + 4 + 16, 4)), 2u);
    EXPECT_EQ(height_of(checked_tree({}, 1 + 4 + 16 + 1, 4)), 3u);
    EXPECT_EQ(height_of(checked_tree({}, 6, 1)), 5u);
}

TEST(BuildTree, InnerNodesShareTheLoad) {
    // 16 ranks, fan-in 4: the eleven that the root has no place for are spread over its children.
    std::vector<uint32_t> counts = child_counts(checked_tree({}, 16, 4));
    std::sort(counts.rbegin(), counts.rend());
    counts.resize(6);
    EXPECT_EQ(counts, (std::vector<uint32_t>{4, 3, 3, 3, 2, 0}));
}

TEST(BuildTree, TwoSocketsFourCaches) {
    const NodeTopology topology = machine({2, 4}, 8);
    const Groups groups = group_ranks(topology, bound(64, topology));
    const Tree tree = checked_tree(groups, 64, 8);
    // The root keeps places for the other socket and the other caches of its own.
    EXPECT_EQ(tree.parent[32], 0u);
    for (const uint32_t leader : {8u, 16u, 24u}) EXPECT_EQ(tree.parent[leader], 0u);
    for (const uint32_t leader : {40u, 48u, 56u}) EXPECT_EQ(tree.parent[leader], 32u);
    EXPECT_EQ(height_of(tree), 3u);
}

TEST(BuildTree, FourLevelsOf128Cores) {
    const NodeTopology topology = machine({2, 4, 2}, 8);
    const Groups groups = group_ranks(topology, bound(128, topology));
    EXPECT_LE(height_of(checked_tree(groups, 128, 8)), 4u);
    EXPECT_LE(height_of(checked_tree(groups, 128, 4)), 6u);
    EXPECT_LE(height_of(checked_tree(groups, 128, 2)), 9u);
}

TEST(BuildTree, RanksRoundRobinOverSockets) {
    const NodeTopology topology = machine({2, 2}, 4);
    const Groups groups = group_ranks(topology, bound(16, topology, 8));
    const Tree tree = checked_tree(groups, 16, 8);
    EXPECT_EQ(tree.parent[1], 0u);
    for (uint32_t rank = 2; rank < 16; ++rank) EXPECT_EQ(tree.parent[rank] % 2, rank % 2);
}

TEST(BuildTree, UnevenRanks) {
    // Nine ranks on one socket, one on the other, none on the third.
    const NodeTopology topology = machine({3}, 16);
    std::vector<CpuSet> cpus = bound(9, topology);
    cpus.push_back(test::set_of({20}));
    EXPECT_EQ(height_of(checked_tree(group_ranks(topology, cpus), 10, 4)), 2u);
}

TEST(BuildTree, MoreRanksThanProcessors) {
    const NodeTopology topology = machine({2, 2}, 2);
    for (const auto& cpus : {bound(100, topology), unbound(100, topology)}) {
        EXPECT_LE(height_of(checked_tree(group_ranks(topology, cpus), 100, 8)), 4u);
    }
}

TEST(BuildTree, WideLevelsStayWithinTheFanIn) {
    const NodeTopology topology = machine({16}, 8);
    const Groups groups = group_ranks(topology, bound(128, topology));
    EXPECT_LE(height_of(checked_tree(groups, 128, 8)), 3u);
}

Groups random_groups(Prng& random, uint32_t ranks) {
    Groups groups;
    const uint64_t levels = random.below(5);
    std::vector<uint32_t> outer(ranks, 0);
    for (uint64_t i = 0; i < levels; ++i) {
        const uint64_t parts = 1 + random.below(6);
        std::map<std::pair<uint32_t, uint64_t>, uint32_t> number;
        std::vector<uint32_t> level(ranks);
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            const auto next = static_cast<uint32_t>(number.size());
            level[rank] =
                number.try_emplace({outer[rank], random.below(parts)}, next).first->second;
        }
        groups.level.push_back(level);
        outer = level;
    }
    return groups;
}

TEST(BuildTree, PropertiesOnRandomGroups) {
    for (uint64_t seed = 0; seed < 3000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng random(seed);
        const auto ranks = static_cast<uint32_t>(1 + random.below(150));
        const auto fan_in_max = static_cast<uint32_t>(1 + random.below(12));
        const Groups groups = random_groups(random, ranks);
        const Tree tree = checked_tree(groups, ranks, fan_in_max);
        EXPECT_EQ(build_tree(groups, ranks, fan_in_max).parent, tree.parent);
        if (HasFailure()) return;
    }
}

TEST(BuildTree, FlatTreesAreAsLowAsTheyCanBe) {
    for (uint32_t fan_in_max = 2; fan_in_max <= 9; ++fan_in_max) {
        for (uint32_t ranks = 1; ranks <= 200; ++ranks) {
            uint64_t room = 1;
            uint64_t width = 1;
            uint32_t height = 0;
            while (room < ranks) {
                width *= fan_in_max;
                room += width;
                ++height;
            }
            ASSERT_EQ(height_of(checked_tree({}, ranks, fan_in_max)), height)
                << ranks << " ranks, fan-in " << fan_in_max;
        }
    }
}

TEST(BuildTreeDeathTest, NeedsARankAndAChild) {
    EXPECT_DEATH(build_tree({}, 0, 4), "a tree has a rank");
    EXPECT_DEATH(build_tree({}, 4, 0), "a rank may have a child");
    EXPECT_DEATH(build_tree({.level = {{0, 0}}}, 3, 4), "every level groups every rank");
}

}  // namespace
}  // namespace tutti::topo
