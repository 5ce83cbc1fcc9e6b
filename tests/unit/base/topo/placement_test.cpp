// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace tutti::topo {
namespace {

TEST(Placement, NumbersNodesByTheirLowestRank) {
    const auto keys = std::to_array<uint64_t>({70, 7, 70, 9, 7});
    const Placement placement(keys);
    EXPECT_EQ(placement.ranks(), 5u);
    EXPECT_EQ(placement.nodes(), 3u);
    EXPECT_EQ(placement.node_of(3), 2u);
    EXPECT_EQ(placement.index_on_node(4), 1u);
    EXPECT_EQ(placement.members(1)[1], 4u);
    EXPECT_EQ(placement.members_before(2), 4u);
    EXPECT_EQ(placement.members_max(), 2u);
    EXPECT_EQ(placement.members_min(), 1u);
    EXPECT_FALSE(placement.is_contiguous());
}

TEST(Placement, BlocksGiveTheFirstNodesOneMore) {
    const Placement placement = Placement::blocks(7, 3);
    EXPECT_TRUE(placement.is_contiguous());
    EXPECT_EQ(placement.members(0).size(), 3u);
    EXPECT_EQ(placement.members(1).size(), 2u);
    EXPECT_EQ(placement.members(2).front(), 5u);
}

TEST(Placement, OneRankANodeIsContiguousHoweverItIsDealt) {
    EXPECT_TRUE(Placement::round_robin(4, 4).is_contiguous());
    EXPECT_FALSE(Placement::round_robin(4, 2).is_contiguous());
    EXPECT_EQ(Placement::round_robin(5, 2).members(0).size(), 3u);
}

// As many ranks a host as in blocks, the same for the same seed, and not in blocks.
TEST(Placement, AtRandomDealsOutTheSameRanks) {
    const auto hosts = hosts_at_random(23, 5, 7);
    EXPECT_EQ(hosts, hosts_at_random(23, 5, 7));
    EXPECT_NE(hosts, hosts_at_random(23, 5, 8));
    EXPECT_NE(hosts, hosts_in_blocks(23, 5));
    EXPECT_TRUE(std::ranges::is_permutation(hosts, hosts_in_blocks(23, 5)));
    EXPECT_EQ(hosts_by_turns(5, 2), (std::vector<uint64_t>{0, 1, 0, 1, 0}));
    EXPECT_EQ(hosts_in_blocks(5, 2), (std::vector<uint64_t>{0, 0, 0, 1, 1}));
}

}  // namespace
}  // namespace tutti::topo
