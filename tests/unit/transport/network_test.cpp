// SPDX-License-Identifier: BSD-3-Clause
#include "transport/sim/network.h"

#include <gtest/gtest.h>

namespace tutti::transport::sim {
namespace {

std::vector<uint32_t> links(const Network& network, uint32_t from, uint32_t to) {
    const Route way = route(network, from, to);
    std::vector<uint32_t> result;
    for (uint32_t hop = 0; hop < way.hops(); ++hop) result.push_back(way[hop]);
    return result;
}

TEST(Network, OneSwitch) {
    const Network network = Network::one_switch(4);
    EXPECT_TRUE(network.is_valid());
    EXPECT_EQ(network.links(), 10u);
    // Up from host 1, down to host 3.
    EXPECT_EQ(links(network, 1, 3), (std::vector<uint32_t>{2, 7}));
}

TEST(Network, TwoLeaves) {
    const Network network = Network::leaves(std::vector<uint32_t>{2, 3});
    EXPECT_TRUE(network.is_valid());
    EXPECT_EQ(network.hosts(), 5u);
    EXPECT_EQ(network.switches(), 3u);
    EXPECT_EQ(links(network, 0, 1), (std::vector<uint32_t>{0, 3}));
    // Up from host 1, up from leaf 0, down to leaf 1, down to host 4.
    EXPECT_EQ(links(network, 1, 4), (std::vector<uint32_t>{2, 10, 13, 9}));
}

// Hosts at different heights: 0 on the root, 1 one level down, 2 two.
TEST(Network, UnevenTree) {
    Network network;
    network.parent_of_switch = {kNoSwitch, 0, 1};
    network.switch_of_host = {0, 1, 2};
    EXPECT_TRUE(network.is_valid());
    EXPECT_EQ(links(network, 0, 2), (std::vector<uint32_t>{0, 9, 11, 5}));
    EXPECT_EQ(links(network, 2, 1), (std::vector<uint32_t>{4, 10, 3}));
}

// Rounded up, and right for more than 2^64 / 10^9 bytes.
TEST(Network, TimeOfManyBytes) {
    EXPECT_EQ(bytes_ns(0, 3), 0u);
    EXPECT_EQ(bytes_ns(1, 3), 333'333'334u);
    EXPECT_EQ(bytes_ns(3, 3), 1'000'000'000u);
    EXPECT_EQ(bytes_ns(8'000'000'001, 8'000'000'000), 1'000'000'001u);
    EXPECT_EQ(bytes_ns(uint64_t{64} << 30, uint64_t{1} << 30), 64'000'000'000u);
    EXPECT_EQ(bytes_ns(uint64_t{64} << 30, uint64_t{1} << 40), 62'500'000u);
    EXPECT_EQ(bits_ns(uint64_t{64} << 30, 100'000'000'000), 5'497'558'139u);
    EXPECT_EQ(bits_ns(125, 1'000'000'000), 1000u);
}

TEST(Network, RefusesWhatIsNoTree) {
    Network network = Network::one_switch(2);
    network.parent_of_switch = {1, 0};
    EXPECT_FALSE(network.is_valid()) << "a circle";
    network.parent_of_switch = {kNoSwitch, kNoSwitch};
    EXPECT_FALSE(network.is_valid()) << "two roots";
    network.parent_of_switch = {kNoSwitch, 7};
    EXPECT_FALSE(network.is_valid()) << "no such parent";
    network.parent_of_switch = {kNoSwitch};
    network.switch_of_host = {0, 1};
    EXPECT_FALSE(network.is_valid()) << "no such switch";
    network.switch_of_host = {0, 0};
    EXPECT_TRUE(network.is_valid());
    network.host_bits_per_s = 0;
    EXPECT_FALSE(network.is_valid()) << "no rate";
    network = Network::one_switch(1);
    network.parent_of_switch = {kNoSwitch, 0, 1, 2, 3, 4, 5, 6};
    EXPECT_FALSE(network.is_valid()) << "eight levels";
}

TEST(Network, TimesAreRoundedUp) {
    EXPECT_EQ(bits_ns(0, 1000), 0u);
    EXPECT_EQ(bits_ns(1, 100'000'000'000), 1u);
    EXPECT_EQ(bits_ns(1 << 20, 25'000'000), 335'544'320u);
    EXPECT_EQ(bits_ns(size_t{1} << 30, 8), (uint64_t{1} << 30) * 1'000'000'000);
}

}  // namespace
}  // namespace tutti::transport::sim
