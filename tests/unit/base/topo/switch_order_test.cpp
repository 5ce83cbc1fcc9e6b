// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/switch_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/topo/placement.h"
#include "unit/base/topo/switch_trees.h"

namespace tutti::topo {
namespace {

using test::is_below;
using test::random_switches;
using test::two_levels;

std::vector<uint32_t> nodes_of(const SwitchOrder& order) {
    return {order.nodes().begin(), order.nodes().end()};
}

TEST(SwitchOrder, PutsTogetherWhatIsOnOneSwitch) {
    const SwitchOrder order(two_levels({0, 1, 0, 1, 2, 0}));
    EXPECT_EQ(nodes_of(order), (std::vector<uint32_t>{0, 2, 5, 1, 3, 4}));
    EXPECT_EQ(order.leaves(), 3u);
    EXPECT_EQ(order.nodes_max(), 3u);
    EXPECT_EQ(order.nodes_min(), 1u);
    EXPECT_FALSE(order.is_identity());
}

// The file's order of switches, or hosts on upper switches, is no reason to leave the order of
// nodes.
TEST(SwitchOrder, LeavesAnOrderThatIsAWalk) {
    EXPECT_TRUE(SwitchOrder(two_levels({2, 2, 0, 0, 1})).is_identity());
    SwitchTree tree = two_levels({0, 0, 1, 1, 1});
    tree.place_of_host[2].node = 0;  // between its children
    EXPECT_TRUE(SwitchOrder(tree).is_identity());
}

TEST(SwitchOrder, CutsBetweenSwitchesFirst) {
    const SwitchOrder order(two_levels({0, 0, 1, 1, 1, 1, 2, 2}));
    EXPECT_EQ(order.middle(0, 8), 6u);  // two of three switches
    EXPECT_EQ(order.middle(0, 6), 2u);
    EXPECT_EQ(order.middle(2, 6), 4u);
    EXPECT_EQ(order.middle(2, 4), 3u);
}

TEST(SwitchOrder, PutsTogetherWhatIsInOneChassis) {
    SwitchTree tree = two_levels({0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
    tree.nodes[1].chassis = tree.nodes[4].chassis = 7;  // leaves 0 and 3
    tree.nodes[2].chassis = 8;                          // alone in it
    const SwitchOrder order(tree);
    EXPECT_EQ(nodes_of(order), (std::vector<uint32_t>{0, 5, 3, 8, 1, 6, 2, 7, 4, 9}));
    EXPECT_EQ(order.leaves(), 5u);
    // Of the chassis and three leaves two; the chassis is cut further down.
    EXPECT_EQ(order.middle(0, 10), 6u);
    EXPECT_EQ(order.middle(0, 6), 4u);
    EXPECT_EQ(order.middle(0, 4), 2u);
    // A switch all of whose switches are in one chassis has no chassis of use.
    for (uint32_t at = 1; at < 6; ++at) tree.nodes[at].chassis = 7;
    EXPECT_EQ(nodes_of(SwitchOrder(tree)), (std::vector<uint32_t>{0, 5, 1, 6, 2, 7, 3, 8, 4, 9}));
}

// Of any tree, any hosts of it.
TEST(SwitchOrder, IsAWalkThroughAnyTree) {
    Prng prng(14);
    for (int turn = 0; turn < 300; ++turn) {
        const auto switches = static_cast<uint32_t>(1 + prng.below(turn % 10 == 0 ? 200 : 20));
        const auto hosts = static_cast<uint32_t>(1 + prng.below(turn % 10 == 0 ? 2000 : 60));
        const SwitchTree tree = random_switches(prng, switches, hosts);
        const SwitchOrder order(tree);
        std::vector<uint32_t> sorted = nodes_of(order);
        std::sort(sorted.begin(), sorted.end());
        std::vector<uint32_t> all(hosts);
        std::iota(all.begin(), all.end(), 0u);
        ASSERT_EQ(sorted, all) << "turn " << turn;

        // Lemma 4: a ring in this order loads each link with one message each way, at most.
        std::vector<uint64_t> passed(2 * switches);
        for (uint32_t i = 0; hosts > 1 && i < hosts; ++i) {
            test::add_message(tree, order.nodes()[i], order.nodes()[(i + 1) % hosts], passed);
        }
        EXPECT_LE(*std::max_element(passed.begin(), passed.end()), 1u) << "turn " << turn;
        // The walk's own order is such an order.
        SwitchTree walked = tree;
        for (uint32_t i = 0; i < hosts; ++i) {
            walked.place_of_host[i] = tree.place_of_host[order.nodes()[i]];
        }
        EXPECT_TRUE(SwitchOrder(walked).is_identity()) << "turn " << turn;
    }
}

// Every cut leaves, of each switch, all on one side, or all but what is cut further down.
TEST(SwitchOrder, EveryCutIsBetweenChildrenOfOneSwitch) {
    Prng prng(41);
    for (int turn = 0; turn < 100; ++turn) {
        const SwitchTree tree = random_switches(prng, static_cast<uint32_t>(1 + prng.below(15)),
                                                static_cast<uint32_t>(2 + prng.below(60)));
        const SwitchOrder order(tree);
        const auto count = static_cast<uint32_t>(order.nodes().size());
        std::vector<std::pair<uint32_t, uint32_t>> open{{0, count}};
        while (!open.empty()) {
            const auto [begin, end] = open.back();
            open.pop_back();
            if (end - begin < 2) continue;
            const uint32_t middle = order.middle(begin, end);
            ASSERT_GT(middle, begin);
            ASSERT_LT(middle, end);
            for (uint32_t at = 0; at < tree.nodes.size(); ++at) {
                const auto below = [&](uint32_t i) {
                    return is_below(tree, tree.place_of_host[order.nodes()[i]].node, at);
                };
                // A switch on both sides has all of the interval below it.
                if (!below(middle - 1) || !below(middle)) continue;
                for (uint32_t i = begin; i < end; ++i) EXPECT_TRUE(below(i)) << "turn " << turn;
            }
            open.emplace_back(begin, middle);
            open.emplace_back(middle, end);
        }
    }
}

TEST(SwitchOrder, CutsNearTheMiddle) {
    // Leaves of 1, 31, 2 and 2.
    std::vector<uint32_t> leaf_of_host{0};
    for (const uint32_t leaf : {1, 2, 3})
        leaf_of_host.insert(leaf_of_host.end(), leaf == 1 ? 31 : 2, leaf);
    const SwitchOrder order(two_levels(leaf_of_host));
    EXPECT_EQ(order.middle(0, 36), 32u);
    EXPECT_EQ(order.middle(0, 32), 1u);
    EXPECT_EQ(order.middle(1, 32), 17u);
    EXPECT_EQ(order.middle(32, 36), 34u);
}

// Ranks, host after host: as if each host were a switch with its ranks on it.
TEST(SwitchOrder, OneLevelFurtherDown) {
    Prng prng(8);
    for (int turn = 0; turn < 200; ++turn) {
        const auto hosts = static_cast<uint32_t>(2 + prng.below(12));
        SwitchTree tree = random_switches(prng, static_cast<uint32_t>(2 + prng.below(8)), hosts);
        // Chassis go by how many switches hang on one, and hosts are none.
        for (SwitchTree::Node& node : tree.nodes) node.chassis = kNoNode;
        std::vector<uint64_t> host_of_rank(hosts);
        std::iota(host_of_rank.begin(), host_of_rank.end(), uint64_t{0});
        while (prng.below(12) != 0) host_of_rank.push_back(prng.below(hosts));
        Placement placement(host_of_rank);
        placement.set_switches(tree);
        if (placement.switches() == nullptr) continue;
        SwitchTree deeper = tree;
        deeper.place_of_host.clear();
        for (const auto& place : tree.place_of_host) {
            deeper.nodes.push_back({place.node, {1, 0, 0}, {}, kNoNode});
        }
        for (const uint64_t host : host_of_rank) {
            const auto node = static_cast<uint32_t>(tree.nodes.size() + host);
            deeper.place_of_host.push_back({node, {}});
        }
        const SwitchOrder expected(deeper);
        const auto& [order, ranks] = placement.switches()->ranks();
        EXPECT_TRUE(std::ranges::equal(order.nodes(), expected.nodes())) << turn;
        EXPECT_EQ(order.is_identity(), expected.is_identity());
        EXPECT_EQ(order.leaves(), hosts);
        EXPECT_EQ(order.nodes_max(), expected.nodes_max());
        EXPECT_EQ(order.nodes_min(), expected.nodes_min());
        EXPECT_EQ(ranks.nodes(), ranks.ranks());
        std::vector<std::pair<uint32_t, uint32_t>> open{{0, ranks.ranks()}};
        while (!open.empty()) {
            const auto [begin, end] = open.back();
            open.pop_back();
            EXPECT_EQ(ranks.members(begin)[0], order.nodes()[begin]);
            if (end - begin < 2) continue;
            const uint32_t middle = order.middle(begin, end);
            ASSERT_EQ(middle, expected.middle(begin, end)) << turn;
            open.emplace_back(begin, middle);
            open.emplace_back(middle, end);
        }
    }
}

TEST(SwitchOrder, OfAPlacement) {
    const std::vector<uint64_t> node_of_rank{0, 0, 1, 1, 2, 2, 3, 3};
    Placement placement(node_of_rank);
    placement.set_switches(two_levels({0, 0, 0, 0}));
    EXPECT_EQ(placement.switches(), nullptr);  // one alone
    placement.set_switches(two_levels({0, 1, 0, 1}));
    ASSERT_NE(placement.switches(), nullptr);
    const Placement& walked = placement.switches()->placement();
    EXPECT_FALSE(walked.is_contiguous());
    EXPECT_EQ(walked.node_of(4), 1u);
    EXPECT_EQ(walked.node_of(2), 2u);
    EXPECT_EQ(walked.members(1)[1], 5u);
    EXPECT_EQ(walked.members_before(2), 4u);
    EXPECT_EQ(walked.index_on_node(5), 1u);
    EXPECT_TRUE(placement.is_contiguous());
    placement.set_switches(two_levels({1, 1, 0, 0}));
    EXPECT_TRUE(placement.switches()->placement().is_contiguous());
}

}  // namespace
}  // namespace tutti::topo
