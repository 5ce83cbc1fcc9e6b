// SPDX-License-Identifier: BSD-3-Clause
#include "topo/fabric.h"

#include <gtest/gtest.h>

namespace tutti::topo {
namespace {

std::vector<uint32_t> links(const Fabric& fabric, uint32_t from, uint32_t to) {
    const LinkRoute way = link_route(fabric, from, to);
    std::vector<uint32_t> result;
    for (uint32_t hop = 0; hop < way.hops(); ++hop) result.push_back(way[hop]);
    return result;
}

TEST(Fabric, OneSwitch) {
    const Fabric fabric = Fabric::one_switch(4);
    EXPECT_TRUE(fabric.is_valid());
    EXPECT_EQ(fabric.links(), 10u);
    // Up from host 1, down to host 3.
    EXPECT_EQ(links(fabric, 1, 3), (std::vector<uint32_t>{2, 7}));
}

TEST(Fabric, TwoLeaves) {
    const Fabric fabric = Fabric::leaves(std::vector<uint32_t>{2, 3});
    EXPECT_TRUE(fabric.is_valid());
    EXPECT_EQ(fabric.hosts(), 5u);
    EXPECT_EQ(fabric.switches(), 3u);
    EXPECT_EQ(fabric.hosts_of_switch(), (std::vector<uint32_t>{2, 3, 0}));
    EXPECT_EQ(links(fabric, 0, 1), (std::vector<uint32_t>{0, 3}));
    // Up from host 1, up from leaf 0, down to leaf 1, down to host 4.
    EXPECT_EQ(links(fabric, 1, 4), (std::vector<uint32_t>{2, 10, 13, 9}));
}

// Hosts at different heights: 0 on the root, 1 one level down, 2 two.
TEST(Fabric, UnevenTree) {
    Fabric fabric;
    fabric.parent_of_switch = {kNoSwitch, 0, 1};
    fabric.switch_of_host = {0, 1, 2};
    EXPECT_TRUE(fabric.is_valid());
    EXPECT_EQ(links(fabric, 0, 2), (std::vector<uint32_t>{0, 9, 11, 5}));
    EXPECT_EQ(links(fabric, 2, 1), (std::vector<uint32_t>{4, 10, 3}));
}

TEST(Fabric, RefusesWhatIsNoTree) {
    Fabric fabric = Fabric::one_switch(2);
    fabric.parent_of_switch = {1, 0};
    EXPECT_FALSE(fabric.is_valid()) << "a circle";
    fabric.parent_of_switch = {kNoSwitch, kNoSwitch};
    EXPECT_FALSE(fabric.is_valid()) << "two roots";
    fabric.parent_of_switch = {kNoSwitch, 7};
    EXPECT_FALSE(fabric.is_valid()) << "no such parent";
    fabric.parent_of_switch = {kNoSwitch};
    fabric.switch_of_host = {0, 1};
    EXPECT_FALSE(fabric.is_valid()) << "no such switch";
    fabric.switch_of_host = {0, 0};
    EXPECT_TRUE(fabric.is_valid());
    fabric.host_bits_per_s = 0;
    EXPECT_FALSE(fabric.is_valid()) << "no rate";
    fabric = Fabric::one_switch(1);
    fabric.parent_of_switch = {kNoSwitch, 0, 1, 2, 3, 4, 5, 6};
    EXPECT_FALSE(fabric.is_valid()) << "eight levels";
}

}  // namespace
}  // namespace tutti::topo
