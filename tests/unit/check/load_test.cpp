// SPDX-License-Identifier: BSD-3-Clause
#include "check/load.h"

#include <gtest/gtest.h>

#include "unit/sched/schedules.h"

namespace tutti::check {
namespace {

using sched::Lines;
using sched::Programs;
using topo::Fabric;

// Every rank sends to the next one on a circle in this order; one step.
Programs circle(const std::vector<uint32_t>& order) {
    Lines bodies(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
        const uint32_t next = order[(i + 1) % order.size()];
        bodies[order[i]] += "send 0 to " + std::to_string(next) + " input[0+8]\n";
        bodies[next] += "recv 0 from " + std::to_string(order[i]) + " scratch[0+8]\n";
    }
    const auto ranks = static_cast<uint32_t>(order.size());
    return sched::written(sched::shape_of(TUTTI_ALLGATHER, ranks, 8), {1, 1, 1, 8}, bodies);
}

// Lemma 4 of Patarasuk, Yuan 2007: leaf after leaf, every link carries one message each way.
TEST(Load, AWalkThroughTheTreeIsFreeOfContention) {
    const Fabric fabric = Fabric::leaves(std::vector<uint32_t>{2, 3, 1});
    const LinkLoad load = link_load(fabric, sched::alone(6), circle({0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(load.messages, 1u);
    EXPECT_EQ(load.extra, 0u);
}

// From leaf to leaf with every message: both links between switches carry them all.
TEST(Load, ACircleThatChangesTheLeafEachTimeIsNot) {
    const Fabric fabric = Fabric::leaves(std::vector<uint32_t>{3, 3});
    const LinkLoad load = link_load(fabric, sched::alone(6), circle({0, 3, 1, 4, 2, 5}));
    EXPECT_EQ(load.messages, 3u);
    EXPECT_EQ(load.step, 0u);
    EXPECT_EQ(link_text(fabric, load.link), "up from switch 0");
    EXPECT_EQ(load.extra, 2 * 2 * 2u) << "two switches, two ways, two beyond the first";
    EXPECT_EQ(link_text(fabric, 5), "to host 2");
    EXPECT_EQ(link_text(fabric, 4), "from host 2");
    EXPECT_EQ(link_text(fabric, 15), "down to switch 1");
}

TEST(Load, WithinAHostNothingIsLoaded) {
    const auto placement = topo::Placement::blocks(4, 2);
    const LinkLoad load = link_load(Fabric::one_switch(2), placement, circle({0, 1, 2, 3}));
    EXPECT_EQ(load.messages, 1u);
    EXPECT_EQ(load.extra, 0u);
}

TEST(Load, AMulticastPassesEachLinkOnce) {
    const Programs programs = sched::written(
        sched::shape_of(TUTTI_BCAST, 4, 8), {1, 1, 1, 0, 1},
        {"multicast input[0+8] order 0\n", "recv_multicast from 0 output[0+8] order 0\n",
         "recv_multicast from 0 output[0+8] order 0\n",
         "recv_multicast from 0 output[0+8] order 0\n"});
    const Fabric fabric = Fabric::leaves(std::vector<uint32_t>{2, 2});
    const LinkLoad load = link_load(fabric, sched::alone(4), programs);
    EXPECT_EQ(load.messages, 1u);
    EXPECT_EQ(load.extra, 0u);
}

}  // namespace
}  // namespace tutti::check
