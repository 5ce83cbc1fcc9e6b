// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/halving.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "unit/base/topo/switch_trees.h"

namespace tutti::algo {
namespace {

using sched::Rank;

// I1, I3: every rank's interval is itself and its children's, adjoining, largest first.
void expect_intervals(Rank p, Rank root, const topo::SwitchOrder* switches = nullptr,
                      uint32_t levels = 1) {
    std::vector<Rank> parents(p, 0);
    for (Rank rank = 0; rank < p; ++rank) {
        const HalvingTree tree(p, root, rank, switches, levels);
        EXPECT_EQ(tree.is_root(), rank == root);
        EXPECT_EQ(tree.own().leader, rank);
        Rank begin = rank;
        Rank end = rank + 1;
        for (uint32_t j = tree.children(); j-- > 0;) {
            const Interval& child = tree.child(j);
            ASSERT_TRUE(child.end == begin || child.begin == end) << rank << " child " << j;
            begin = std::min(begin, child.begin);
            end = std::max(end, child.end);
            const HalvingTree below(p, root, child.leader, switches, levels);
            EXPECT_EQ(below.parent(), rank);
            EXPECT_EQ(below.own().begin, child.begin);
            EXPECT_EQ(below.own().end, child.end);
            ++parents[child.leader];
        }
        EXPECT_EQ(begin, tree.own().begin);
        EXPECT_EQ(end, tree.own().end);
    }
    for (Rank rank = 0; rank < p; ++rank) EXPECT_EQ(parents[rank], rank == root ? 0U : 1U);
}

TEST(Halving, IntervalsOfAllRanksAndRoots) {
    for (Rank p = 1; p <= 33; ++p) {
        for (Rank root = 0; root < p; ++root) {
            SCOPED_TRACE(testing::Message() << "p " << p << " root " << root);
            for (const uint32_t levels : {1U, 2U, 3U}) expect_intervals(p, root, nullptr, levels);
            if (testing::Test::HasFailure()) return;
        }
    }
}

TEST(Halving, DepthAndChildrenAreLogarithmic) {
    for (const Rank p : {1U, 2U, 3U, 5U, 8U, 63U, 64U, 65U, 1000U}) {
        const auto limit = static_cast<uint32_t>(std::bit_width(p - 1));
        for (const Rank root : {Rank{0}, p / 3, p - 1}) {
            for (Rank rank = 0; rank < p; ++rank) {
                uint32_t depth = 0;
                Rank at = rank;
                while (at != root) {
                    at = HalvingTree(p, root, at).parent();
                    ++depth;
                }
                EXPECT_LE(depth, limit);
                EXPECT_LE(HalvingTree(p, root, rank).children(), limit);
            }
        }
    }
}

// Of 2^k ranks from rank 0, l bits of the number are one level.
TEST(Halving, SeveralLevelsInOne) {
    for (const uint32_t levels : {2U, 3U}) {
        const Rank group = (1U << levels) - 1;
        for (Rank rank = 1; rank < 64; ++rank) {
            Rank low = 0;
            while ((rank >> low & group) == 0) low += levels;
            EXPECT_EQ(HalvingTree(64, 0, rank, nullptr, levels).parent(), rank & ~(group << low));
        }
        EXPECT_EQ(HalvingTree(64, 0, 0, nullptr, levels).children(), group * (6 / levels));
    }
    // The farthest first, on both sides of the root.
    const HalvingTree root(8, 2, 2, nullptr, 3);
    std::vector<Rank> leaders;
    for (uint32_t j = 0; j < root.children(); ++j) leaders.push_back(root.child(j).leader);
    EXPECT_EQ(leaders, (std::vector<Rank>{7, 6, 5, 4, 0, 1, 3}));
    EXPECT_LE(HalvingTree(4'000'000'000U, 0, 0, nullptr, 3).children(), 48U);
}

TEST(Halving, IsTheBinomialTreeForPowersOfTwo) {
    for (Rank rank = 1; rank < 64; ++rank) {
        EXPECT_EQ(HalvingTree(64, 0, rank).parent(), rank & (rank - 1));
    }
}

TEST(Halving, TheExampleOfTheHeader) {
    const HalvingTree root(6, 4, 4);
    ASSERT_EQ(root.children(), 3U);
    EXPECT_EQ(root.child(0).leader, 0U);
    EXPECT_EQ(root.child(1).leader, 5U);
    EXPECT_EQ(root.child(2).leader, 3U);
    const HalvingTree first(6, 4, 0);
    ASSERT_EQ(first.children(), 2U);
    EXPECT_EQ(first.child(0).leader, 2U);
    EXPECT_EQ(first.child(1).leader, 1U);
}

TEST(Halving, FewStepsForMillions) {
    const HalvingTree tree(4'000'000'000U, 3'999'999'999U, 17);
    EXPECT_LE(tree.children(), 32U);
    EXPECT_GE(tree.own().end - tree.own().begin, 1U);
}

// I4: of the ranks below a switch its leader alone has its parent elsewhere.
void expect_leaders(const topo::SwitchTree& tree, const topo::SwitchOrder& order, Rank root,
                    uint32_t levels) {
    const auto p = static_cast<Rank>(order.nodes().size());
    std::vector<Rank> parents;
    for (Rank rank = 0; rank < p; ++rank) {
        parents.push_back(HalvingTree(p, root, rank, &order, levels).parent());
    }
    for (uint32_t at = 0; at < tree.nodes.size(); ++at) {
        const auto below = [&](Rank i) {
            return topo::test::is_below(tree, tree.place_of_host[order.nodes()[i]].node, at);
        };
        uint32_t leaders = 0;
        Rank first = p;
        for (Rank rank = 0; rank < p; ++rank) {
            if (!below(rank)) continue;
            first = std::min(first, rank);
            if (rank != root && below(parents[rank])) continue;
            ++leaders;
            EXPECT_EQ(rank, below(root) ? root : first);
        }
        EXPECT_EQ(leaders, first < p ? 1U : 0U);
    }
}

// I1, I3 and I4, for any tree of switches and any root. Every tenth tree is a large one.
TEST(Halving, AlongTheSwitches) {
    Prng prng(2);
    for (int turn = 0; turn < 200; ++turn) {
        const bool is_large = turn % 10 == 9;
        const auto p = static_cast<Rank>(1 + prng.below(is_large ? 2000 : 40));
        const topo::SwitchTree tree = topo::test::random_switches(
            prng, static_cast<uint32_t>(1 + prng.below(is_large ? 200 : 12)), p);
        const topo::SwitchOrder order(tree);
        const auto root = static_cast<Rank>(prng.below(p));
        SCOPED_TRACE(testing::Message() << "turn " << turn);
        const uint32_t levels = 1 + turn % 3;
        expect_intervals(p, root, &order, levels);
        expect_leaders(tree, order, root, levels);
        if (testing::Test::HasFailure()) return;
    }
}

// Daisy chains of many switches, and one that has most ranks: I1 to I3, with every root.
TEST(Halving, LopsidedTreesStayShallow) {
    for (const auto& [switches, each] :
         {std::pair(25U, 8U), std::pair(23U, 16U), std::pair(200U, 1U)}) {
        topo::SwitchTree tree;
        for (uint32_t at = 0; at < switches; ++at) {
            tree.nodes.push_back({at == 0 ? topo::kNoNode : at - 1, {}, {}, topo::kNoNode});
            for (uint32_t i = 0; i < each; ++i) tree.place_of_host.push_back({at, {}});
        }
        const topo::SwitchOrder order(tree);
        const Rank p = switches * each;
        for (Rank root = 0; root < p; root += 7) {
            SCOPED_TRACE(testing::Message() << switches << " switches, root " << root);
            for (const uint32_t levels : {1U, 2U, 3U}) expect_intervals(p, root, &order, levels);
            for (Rank rank = 0; rank < p; ++rank) {
                uint32_t depth = 0;
                for (Rank at = rank; at != root; ++depth)
                    at = HalvingTree(p, root, at, &order).parent();
                EXPECT_LE(depth, 48U);
                EXPECT_LE(HalvingTree(p, root, rank, &order).children(), 48U);
            }
            if (testing::Test::HasFailure()) return;
        }
    }
}

// 16 ranks on four switches of four: two messages between switches on every way, two within.
TEST(Halving, MessagesBetweenSwitchesAreLogarithmic) {
    std::vector<uint32_t> leaves;
    for (uint32_t i = 0; i < 16; ++i) leaves.push_back(i / 4);
    const topo::SwitchOrder order(topo::test::two_levels(leaves));
    for (Rank root = 0; root < 16; ++root) {
        for (Rank rank = 0; rank < 16; ++rank) {
            uint32_t between = 0;
            uint32_t all = 0;
            for (Rank at = rank; at != root; ++all) {
                const Rank parent = HalvingTree(16, root, at, &order).parent();
                if (parent / 4 != at / 4) ++between;
                at = parent;
            }
            EXPECT_LE(between, 2U);
            EXPECT_LE(all, 4U);
        }
    }
}

}  // namespace
}  // namespace tutti::algo
