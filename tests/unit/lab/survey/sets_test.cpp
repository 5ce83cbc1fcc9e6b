// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/sets.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tutti::survey {
namespace {

std::vector<uint32_t> range(uint32_t first, uint32_t count) {
    std::vector<uint32_t> hosts(count);
    std::iota(hosts.begin(), hosts.end(), first);
    return hosts;
}

// 0..7, of which 0..3 and 4..7 are sets.
HostSets halves() {
    HostSets sets(3);
    sets[0] = {.hosts = range(0, 8), .children = {1, 2}};
    sets[1] = {.parent = 0, .hosts = range(0, 4), .children = {}};
    sets[2] = {.parent = 0, .hosts = range(4, 4), .children = {}};
    return sets;
}

TEST(Sets, CrossingsAreCrowdedOrAsWideAsTheHosts) {
    HostSets sets = halves();
    const std::vector<Transfer> across{{0, 4}, {1, 5}, {2, 6}, {3, 7}};
    measure_crossings(sets, std::vector<Observation>{{across, {0.25, 0.25, 0.25, 0.25}}}, 1);
    EXPECT_TRUE(sets[1].is_crowded);
    EXPECT_EQ(sets[1].crossing, 1);
    measure_crossings(sets, std::vector<Observation>{{across, {1, 1, 1, kNoSpeed}}}, 1);
    EXPECT_FALSE(sets[1].is_crowded);
    EXPECT_EQ(sets[1].crossing, 4);
}

TEST(Sets, WhatHoldsUpNobodyGoes) {
    HostSets sets(5);
    sets[0] = {.hosts = range(0, 12), .children = {1, 2}};
    sets[1] = {.parent = 0, .hosts = range(0, 8), .children = {3, 4}, .crossing = 3.8};
    sets[2] = {.parent = 0, .hosts = range(8, 4), .children = {}, .crossing = 2};
    sets[3] = {.parent = 1, .hosts = range(0, 4), .children = {}, .crossing = 2};
    sets[4] = {.parent = 1, .hosts = range(4, 4), .children = {}, .crossing = 2};
    HostSets flat = sets;
    simplify(flat);
    EXPECT_EQ(flat.size(), 4u);
    EXPECT_EQ(flat[0].children.size(), 3u);
    // Narrow as it may be: of two below the root the link to the other is the same one.
    sets[1].crossing = 1;
    simplify(sets);
    EXPECT_EQ(sets.size(), 4u);
}

TEST(Sets, PodsStay) {
    HostSets sets(7);
    sets[0] = {.hosts = range(0, 16), .children = {1, 2}};
    for (const uint32_t pod : {1u, 2u}) {
        const uint32_t first = 8 * (pod - 1);
        const uint32_t leaf = 2 * pod + 1;
        sets[pod] = {
            .parent = 0, .hosts = range(first, 8), .children = {leaf, leaf + 1}, .crossing = 1};
        sets[leaf] = {.parent = pod, .hosts = range(first, 4), .children = {}, .crossing = 2};
        sets[leaf + 1] = {
            .parent = pod, .hosts = range(first + 4, 4), .children = {}, .crossing = 2};
    }
    simplify(sets);
    EXPECT_EQ(sets.size(), 7u);
}

TEST(Sets, RoundTripsRefineAndPlaceButDoNotOverrule) {
    HostSets sets = halves();
    sets[2].hosts = range(4, 3);  // 7 is in neither
    refine(sets, std::vector<Partition>{{0, 0, 1, 1, 2, 2, 2, 2}});
    ASSERT_EQ(sets.size(), 5u);
    EXPECT_EQ(sets[1].children.size(), 2u);
    EXPECT_EQ(sets[2].hosts, range(4, 4));
    HostSets others = halves();
    refine(others, std::vector<Partition>{{0, 0, 1, 1, 1, 1, 0, 0}});
    EXPECT_EQ(others.size(), 3u);
}

// Hosts in no innermost set have a switch of their own.
TEST(Sets, AFabric) {
    HostSets sets = halves();
    sets[1].crossing = sets[2].crossing = 2;
    sets[2].hosts = range(4, 3);
    std::vector<RoundTrip> trips;
    for (uint32_t one = 0; one < 8; ++one) {
        for (uint32_t other = one + 1; other < 8; ++other) {
            trips.push_back({{one, other}, one / 4 == other / 4 ? 4000u : 6000u});
        }
    }
    const topo::Fabric fabric = fabric_of(sets, {1.25, std::vector<double>(8)}, trips);
    EXPECT_EQ(fabric.hosts(), 8u);
    EXPECT_EQ(fabric.switches(), 4u);
    EXPECT_EQ(fabric.switch_of_host[7], 3u);
    EXPECT_EQ(fabric.link_bits_per_s(0), 10'000'000'000u);
    EXPECT_EQ(fabric.link_bits_per_s(fabric.first_link(1)), 16'000'000'000u);
    EXPECT_EQ(fabric.latency_ns, 2000u);
    EXPECT_EQ(fabric.link_latency_ns(fabric.first_link(1)), 500u);
    EXPECT_EQ(route_latency_ns(fabric, link_route(fabric, 0, 4)), 3000u);
}

}  // namespace
}  // namespace tutti::survey
