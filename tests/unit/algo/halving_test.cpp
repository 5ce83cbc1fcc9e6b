// SPDX-License-Identifier: BSD-3-Clause
#include "algo/halving.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace tutti::algo {
namespace {

using sched::Rank;

// I1, I3: every rank's interval is itself and its children's, adjoining, largest first.
void expect_intervals(Rank p, Rank root) {
    std::vector<Rank> parents(p, 0);
    for (Rank rank = 0; rank < p; ++rank) {
        const HalvingTree tree(p, root, rank);
        EXPECT_EQ(tree.is_root(), rank == root);
        EXPECT_EQ(tree.own().leader, rank);
        Rank begin = rank;
        Rank end = rank + 1;
        for (uint32_t j = tree.children(); j-- > 0;) {
            const Interval& child = tree.child(j);
            ASSERT_TRUE(child.end == begin || child.begin == end) << rank << " child " << j;
            begin = std::min(begin, child.begin);
            end = std::max(end, child.end);
            const HalvingTree below(p, root, child.leader);
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
            expect_intervals(p, root);
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

}  // namespace
}  // namespace tutti::algo
