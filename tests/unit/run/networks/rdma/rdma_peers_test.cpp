// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/rdma/rdma_peers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

namespace tutti::networks::rdma {
namespace {

using topo::Placement;

// Both ends of a pair know it, nobody is on the own node, and there are few.
void expect_pairs(const Placement& placement, size_t peers_max) {
    std::vector<std::vector<uint32_t>> all;
    for (uint32_t rank = 0; rank < placement.ranks(); ++rank) {
        all.push_back(peers_of(placement, rank));
        const auto& peers = all.back();
        EXPECT_TRUE(std::ranges::is_sorted(peers));
        EXPECT_EQ(std::ranges::adjacent_find(peers), peers.end());
        EXPECT_LE(peers.size(), peers_max) << placement.ranks();
    }
    for (uint32_t rank = 0; rank < placement.ranks(); ++rank) {
        for (const uint32_t peer : all[rank]) {
            EXPECT_NE(placement.node_of(peer), placement.node_of(rank));
            EXPECT_TRUE(std::ranges::binary_search(all[peer], rank)) << rank << " " << peer;
        }
    }
}

TEST(VerbsPeers, InSmallTeamsAllOfOtherNodes) {
    EXPECT_EQ(peers_of(Placement::blocks(4, 2), 1), (std::vector<uint32_t>{2, 3}));
    EXPECT_EQ(peers_of(Placement::round_robin(5, 2), 1), (std::vector<uint32_t>{0, 2, 4}));
    EXPECT_EQ(peers_of(Placement::blocks(25, 25), 24).size(), 24u);
    for (uint32_t ranks = 2; ranks <= 24; ++ranks) {
        for (uint32_t nodes = 2; nodes <= ranks; ++nodes) {
            expect_pairs(Placement::blocks(ranks, nodes), kPeersOfAllMax);
            expect_pairs(Placement::round_robin(ranks, nodes), kPeersOfAllMax);
        }
    }
}

TEST(VerbsPeers, InLargeOnesNeighboursPowersOfTwoAndTheTree) {
    for (const uint32_t nodes : {26u, 31u, 32u, 33u, 100u, 1000u}) {
        const size_t levels = static_cast<size_t>(std::bit_width(nodes - 1));
        expect_pairs(Placement::blocks(nodes, nodes), 5 * levels);
        expect_pairs(Placement::round_robin(3 * nodes + 5, nodes), 5 * levels);
        const auto peers = peers_of(Placement::blocks(nodes, nodes), 0);
        for (uint32_t distance = 1; distance < nodes; distance *= 2) {
            EXPECT_TRUE(std::ranges::binary_search(peers, distance));
            EXPECT_TRUE(std::ranges::binary_search(peers, nodes - distance));
        }
    }
}

TEST(VerbsPeers, AllReachTheFirstOfAFewThatAreAlone) {
    EXPECT_TRUE(all_reach_first(Placement::blocks(2, 2)));
    EXPECT_TRUE(all_reach_first(Placement::blocks(25, 25)));
    EXPECT_FALSE(all_reach_first(Placement::blocks(26, 26)));
    EXPECT_FALSE(all_reach_first(Placement::blocks(4, 2)));
    EXPECT_FALSE(all_reach_first(Placement::blocks(3, 2)));
}

// Those that not all nodes have send little between nodes.
TEST(VerbsPeers, PlacesThatNotAllNodesHaveAreLeftOut) {
    const Placement placement = Placement::blocks(65, 32);  // the first has three ranks
    EXPECT_FALSE(peers_of(placement, 1).empty());
    EXPECT_TRUE(peers_of(placement, 2).empty());
    expect_pairs(placement, 15);
}

// 4,096 hosts, and 65,536 as far as memory goes.
TEST(VerbsPeers, MemoryIsBounded) {
    EXPECT_EQ(peers_of(Placement::blocks(4096, 4096), 0).size(), 37u);
    const size_t slots_bytes = size_t{60} * 4096;
    const Placement many = Placement::blocks(65'536, 65'536);
    for (const uint32_t rank : {0u, 1u, 40'000u}) {
        EXPECT_LT(peers_of(many, rank).size() * slots_bytes, size_t{16} << 20);
    }
}

}  // namespace
}  // namespace tutti::networks::rdma
