// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/shares.h"

#include <gtest/gtest.h>

#include <array>

namespace tutti::survey {
namespace {

topo::Fabric two_leaves() {
    topo::Fabric fabric = topo::Fabric::leaves(std::array{4u, 4u});
    fabric.host_bits_per_s = 8'000'000'000;  // a byte per nanosecond
    fabric.trunk_bits_per_s = 16'000'000'000;
    return fabric;
}

TEST(Shares, AloneAHostsLink) {
    EXPECT_EQ(fair_shares(two_leaves(), {}), std::vector<double>());
    const std::array one{Transfer{0, 5}};
    EXPECT_EQ(fair_shares(two_leaves(), one), std::vector<double>{1});
}

// Of four that go up two stay below; what passes no crowded link has all.
TEST(Shares, ACrowdedUplinkIsShared) {
    const std::array four{Transfer{0, 4}, Transfer{1, 5}, Transfer{2, 6}, Transfer{3, 7}};
    EXPECT_EQ(fair_shares(two_leaves(), four), std::vector<double>(4, 0.5));
    const std::array mixed{Transfer{0, 1}, Transfer{1, 5}, Transfer{2, 6}, Transfer{3, 7}};
    const std::vector<double> shares = fair_shares(two_leaves(), mixed);
    EXPECT_EQ(shares[0], 1);
    for (const size_t i : {1, 2, 3}) EXPECT_NEAR(shares[i], 2.0 / 3, 1e-9);
}

// What a host's own link holds back is left to the others.
TEST(Shares, WhatOneCannotUseTheOthersGet) {
    topo::Fabric fabric = two_leaves();
    std::vector<topo::Trunk> links(8, {1, 0, 0});
    links[0].bits_per_s = 800'000'000;
    fabric.set_host_links(links);
    const std::array four{Transfer{0, 4}, Transfer{1, 5}, Transfer{2, 6}, Transfer{3, 7}};
    const std::vector<double> shares = fair_shares(fabric, four);
    EXPECT_NEAR(shares[0], 0.1, 1e-9);
    for (const size_t i : {1, 2, 3}) EXPECT_NEAR(shares[i], 1.9 / 3, 1e-9);
}

}  // namespace
}  // namespace tutti::survey
