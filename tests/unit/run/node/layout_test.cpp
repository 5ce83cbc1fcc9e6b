// SPDX-License-Identifier: BSD-3-Clause
// Trees whose leaders take turns: everybody has a place in each, and none crosses a level more
// often than the tree itself.
#include "run/node/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/topo/node_topology.h"

namespace tutti::node {
namespace {

// Two sockets of four dies of two caches of eight.
constexpr Rank kRanks = 128;
constexpr Rank kLevelRanks[] = {64, 16, 8};

topo::Groups nested_groups() {
    topo::Groups groups;
    for (const Rank size : kLevelRanks) {
        groups.level.emplace_back();
        for (Rank rank = 0; rank < kRanks; ++rank) groups.level.back().push_back(rank / size);
    }
    return groups;
}

Layout layout_of(const topo::Groups& groups) {
    const auto ranks = static_cast<Rank>(groups.level.back().size());
    return make_tree(topo::build_tree(groups, ranks, 8).parent, groups.level.back());
}

TEST(Turns, GiveEverybodyAPlaceInItsGroup) {
    const topo::Groups groups = nested_groups();
    const Layout layout = layout_of(groups);
    for (const Rank turns : {1u, 2u, 3u, 7u, 8u, 9u}) {
        for (Rank turn = 0; turn < turns; ++turn) {
            std::set<Rank> actors;
            for (Rank role = 0; role < kRanks; ++role) {
                const Rank actor = actor_of(layout, role, turn, turns);
                actors.insert(actor);
                EXPECT_EQ(role_of(layout, actor, turn, turns), role);
                EXPECT_EQ(groups.level.back()[actor], groups.level.back()[role]);
                EXPECT_TRUE(turn > 0 || actor == role);
            }
            EXPECT_EQ(actors.size(), kRanks);
        }
    }
}

TEST(Turns, CrossEachLevelAsSeldomAsTheTree) {
    const topo::Groups groups = nested_groups();
    const Layout layout = layout_of(groups);
    ASSERT_EQ(layout.turns_max, 8u);
    std::set<Rank> tops;
    for (Rank turn = 0; turn < layout.turns_max; ++turn) {
        tops.insert(actor_of(layout, layout.root, turn, layout.turns_max));
        for (size_t level = 0; level < groups.level.size(); ++level) {
            Rank crossing = 0;
            for (Rank role = 1; role < kRanks; ++role) {
                const Rank child = actor_of(layout, role, turn, layout.turns_max);
                const Rank parent = actor_of(layout, layout.parent[role], turn, layout.turns_max);
                if (groups.level[level][child] != groups.level[level][parent]) ++crossing;
            }
            EXPECT_EQ(crossing, kRanks / kLevelRanks[level] - 1) << turn;
        }
    }
    EXPECT_EQ(tops.size(), 8u);
}

// Of the vectors that come and go, each rank of a cache has an eighth: the busiest is the one that
// has outer groups under it, too.
TEST(Turns, ShareTheLoad) {
    const Layout layout = layout_of(nested_groups());
    EXPECT_EQ(layout.children_max, 8u);
    EXPECT_EQ(layout.depth, 4u);
    EXPECT_EQ(layout.load_alone, 9u);
    EXPECT_EQ(layout.load_turns, 16u);
}

// Ranks that share nothing lead alone.
TEST(Turns, NeedCompany) {
    std::vector<Rank> parents(9, 0);
    parents[0] = kNoRank;
    std::vector<Rank> groups(9);
    for (Rank rank = 0; rank < 9; ++rank) groups[rank] = rank;
    const Layout layout = make_tree(parents, groups);
    EXPECT_EQ(layout.turns_max, 1u);
    EXPECT_EQ(layout.load_alone, 9u);
    EXPECT_EQ(layout.load_turns, 9u);
    const Layout close = make_tree(parents, std::vector<Rank>(9, 0));
    EXPECT_EQ(close.turns_max, 9u);
    EXPECT_EQ(close.load_turns, 9u);
}

// Rank 4 leads the other socket, whose ranks land there; none does where there are three.
TEST(Bridge, LeadsTheOtherOfTwoHalves) {
    Layout layout = make_tree(std::vector<Rank>{kNoRank, 0, 0, 2, 0, 4, 4, 6},
                              std::vector<Rank>{0, 0, 1, 1, 2, 2, 3, 3});
    EXPECT_EQ(layout.bridge, kNoRank);
    EXPECT_EQ(landing(layout, 5), 0u);
    set_distances(layout, std::vector<uint32_t>{0, 0, 1, 0, 2, 0, 1, 0});
    EXPECT_EQ(layout.bridge, 4u);
    for (const Rank rank : {4u, 5u, 6u, 7u}) EXPECT_EQ(landing(layout, rank), 4u);
    for (const Rank rank : {0u, 1u, 2u, 3u}) EXPECT_EQ(landing(layout, rank), 0u);
    set_distances(layout, std::vector<uint32_t>{0, 0, 2, 0, 2, 0, 1, 0});
    EXPECT_EQ(layout.bridge, kNoRank);
    set_distances(layout, std::vector<uint32_t>(8, 0));
    EXPECT_EQ(layout.bridge, kNoRank);
}

}  // namespace
}  // namespace tutti::node
