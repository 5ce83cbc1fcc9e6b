// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/fabric.h"

#include <gtest/gtest.h>

#include "base/topo/multicast_tree.h"

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
    while (fabric.switches() < kSwitchLevelsMax) {
        fabric.parent_of_switch.push_back(fabric.switches() - 1);
    }
    EXPECT_TRUE(fabric.is_valid());
    fabric.parent_of_switch.push_back(fabric.switches() - 1);
    EXPECT_FALSE(fabric.is_valid()) << "a level too many";
}

// Two leaves of two hosts, with three links from the first one and one from the other.
Fabric with_parallel_links() {
    Fabric fabric = Fabric::leaves(std::vector<uint32_t>{2, 2});
    fabric.set_switch_links({{3, 40, 0}, {1, 0, 700}, {}});
    fabric.set_host_links({{1, 0, 0}, {1, 5, 0}, {1, 0, 9}, {1, 0, 0}});
    return fabric;
}

TEST(Fabric, ParallelLinksHaveNumbersOfTheirOwn) {
    const Fabric fabric = with_parallel_links();
    EXPECT_TRUE(fabric.is_valid());
    EXPECT_EQ(fabric.links(), 2u * (4 + 3 + 1 + 1));
    EXPECT_EQ(fabric.first_link(0), 8u);
    EXPECT_EQ(fabric.first_link(1), 14u);
    for (const uint32_t link : {8u, 9u, 10u, 13u}) EXPECT_EQ(fabric.switch_below(link), 0u);
    EXPECT_EQ(fabric.switch_below(15), 1u);
    EXPECT_EQ(fabric.number_of_parallel(11), 1u);
    EXPECT_EQ(fabric.number_of_parallel(15), 0u);
    Fabric changed = fabric;
    changed.switch_of_host.push_back(0);
    EXPECT_FALSE(changed.is_valid()) << "the links are those of fewer hosts";
    changed = fabric;
    changed.set_switch_links({{0, 0, 0}, {1, 0, 0}, {}});
    EXPECT_FALSE(changed.is_valid()) << "no link to what is above";
}

// The receiver modulo three: hosts 2 and 3 are reached over links 2 and 0, and hosts 0 and 1 over
// links 0 and 1.
TEST(Fabric, TheReceiverChoosesAmongParallelLinks) {
    const Fabric fabric = with_parallel_links();
    EXPECT_EQ(links(fabric, 0, 2), (std::vector<uint32_t>{0, 12, 15, 5}));
    EXPECT_EQ(links(fabric, 0, 3), (std::vector<uint32_t>{0, 8, 15, 7}));
    EXPECT_EQ(links(fabric, 1, 3), (std::vector<uint32_t>{2, 8, 15, 7}));
    EXPECT_EQ(links(fabric, 3, 0), (std::vector<uint32_t>{6, 14, 9, 1}));
    EXPECT_EQ(links(fabric, 3, 1), (std::vector<uint32_t>{6, 14, 11, 3}));
}

TEST(Fabric, LinksHaveRatesAndLatenciesOfTheirOwn) {
    Fabric fabric = with_parallel_links();
    fabric.host_bits_per_s = 8;
    fabric.trunk_bits_per_s = 16;
    fabric.latency_ns = 101;
    EXPECT_EQ(fabric.link_bits_per_s(0), 8u);
    EXPECT_EQ(fabric.link_bits_per_s(3), 5u);
    EXPECT_EQ(fabric.link_bits_per_s(12), 40u);
    EXPECT_EQ(fabric.link_bits_per_s(14), 16u);
    EXPECT_EQ(fabric.link_latency_ns(0), 50u);
    EXPECT_EQ(fabric.link_latency_ns(1), 51u) << "where the odd nanosecond is";
    EXPECT_EQ(fabric.link_latency_ns(5), 9u);
    EXPECT_EQ(route_latency_ns(fabric, link_route(fabric, 0, 2)), 50u + 50 + 700 + 9);
    EXPECT_EQ(route_latency_ns(fabric, link_route(fabric, 0, 1)), 101u);
}

// The multicasts of a team take one of the links side by side, whoever sends.
TEST(Fabric, AMulticastTakesOneOfParallelLinks) {
    const Fabric fabric = with_parallel_links();
    const MulticastTree tree(fabric, std::vector<uint32_t>{3, 1});
    const auto next = [&](uint32_t link) {
        std::vector<uint32_t> result;
        tree.for_each_next(link, [&](uint32_t one) { result.push_back(one); });
        return result;
    };
    // Host 1 is the lowest: link 1 of three.
    EXPECT_EQ(next(MulticastTree::first_link(1)), (std::vector<uint32_t>{10}));
    EXPECT_EQ(next(10), (std::vector<uint32_t>{15}));
    EXPECT_EQ(next(15), (std::vector<uint32_t>{7}));
    EXPECT_EQ(next(MulticastTree::first_link(3)), (std::vector<uint32_t>{14}));
    EXPECT_EQ(next(14), (std::vector<uint32_t>{11}));
    EXPECT_EQ(next(11), (std::vector<uint32_t>{3}));
    EXPECT_TRUE(tree.ends_at_host(3));
}

}  // namespace
}  // namespace tutti::topo
