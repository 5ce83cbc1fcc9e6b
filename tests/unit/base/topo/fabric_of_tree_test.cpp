// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/fabric_of_tree.h"

#include <gtest/gtest.h>

#include <array>

namespace tutti::topo {
namespace {

// Hosts 0 and 2 on one leaf, 1 on another; two links from the first leaf, one from the other.
SwitchTree two_leaves() {
    SwitchTree tree;
    tree.nodes = {{kNoNode, {}, {2}}, {0, {2, 40, 0}, {0}}, {0, {1, 0, 600}, {1}}};
    tree.place_of_host = {{1, {1, 10, 0}}, {2, {2, 0, 500}}, {1, {1, 0, 0}}};
    return tree;
}

TEST(FabricOfTree, TakesWhatIsKnownAndElseTheDefaults) {
    const auto made = fabric_of(two_leaves(), {.bits_per_s = 7, .latency_ns = 100});
    ASSERT_TRUE(made) << made.error().message;
    const Fabric& fabric = made.value();
    EXPECT_TRUE(fabric.is_valid());
    EXPECT_EQ(fabric.parent_of_switch, (std::vector<uint32_t>{kNoSwitch, 0, 0}));
    EXPECT_EQ(fabric.switch_of_host, (std::vector<uint32_t>{1, 2, 1}));
    EXPECT_EQ(fabric.links_up(1), 2u);
    EXPECT_EQ(fabric.links_up(2), 1u);
    const auto rate = [&](uint32_t link) { return fabric.link_bits_per_s(link); };
    EXPECT_EQ(rate(0), 10u);
    EXPECT_EQ(rate(2), 7u) << "two links of a host are one";
    EXPECT_EQ(rate(fabric.first_link(1)), 40u);
    EXPECT_EQ(rate(fabric.first_link(1) + 2), 40u);
    EXPECT_EQ(rate(fabric.first_link(2)), 7u);
    EXPECT_EQ(fabric.link_latency_ns(0), 50u);
    EXPECT_EQ(fabric.link_latency_ns(2), 500u);
    EXPECT_EQ(fabric.link_latency_ns(fabric.first_link(2)), 600u);
}

TEST(FabricOfTree, KnowsWhatIsLeftOut) {
    SwitchTree tree = two_leaves();
    EXPECT_TRUE(lacks_rate(tree));
    EXPECT_TRUE(lacks_latency(tree));
    for (auto& node : tree.nodes) node.up = {1, 5, 0};
    for (auto& place : tree.place_of_host) place.up = {1, 5, 0};
    EXPECT_FALSE(lacks_rate(tree));
    EXPECT_TRUE(lacks_latency(tree));
}

// A host that the file does not have is on a leaf of its own.
TEST(FabricOfTree, HostsThatNobodyDescribedHaveALinkOfTheirOwn) {
    const SwitchTree part = restrict_tree(two_leaves(), std::array<uint32_t, 2>{0, kNoNode});
    const auto made = fabric_of(part, {});
    ASSERT_TRUE(made) << made.error().message;
    const Fabric& fabric = made.value();
    EXPECT_TRUE(fabric.is_valid());
    ASSERT_EQ(fabric.switches(), 3u);
    EXPECT_EQ(fabric.switch_of_host, (std::vector<uint32_t>{1, 2}));
    EXPECT_EQ(fabric.links_up(2), 1u);
    EXPECT_EQ(link_route(fabric, 0, 1).hops(), 4u);
}

TEST(FabricOfTree, RefusesWhatIsTooDeepOrTooWide) {
    SwitchTree tree;
    tree.nodes.push_back({});
    tree.place_of_host = {{0, {1, 0, 0}}};
    while (tree.nodes.size() < kSwitchLevelsMax) {
        tree.nodes.push_back({static_cast<uint32_t>(tree.nodes.size()) - 1, {1, 0, 0}, {}});
    }
    EXPECT_TRUE(fabric_of(tree, {}));
    tree.nodes.push_back({kSwitchLevelsMax - 1, {1, 0, 0}, {}});
    EXPECT_EQ(fabric_of(tree, {}).error().message,
              "more than 16 levels of switches, one above the other");
    tree.nodes.pop_back();
    tree.nodes.back().up.links = 1u << 23;
    EXPECT_EQ(fabric_of(tree, {}).error().message,
              "more than 8388608 links, parallel ones counted each");
}

}  // namespace
}  // namespace tutti::topo
