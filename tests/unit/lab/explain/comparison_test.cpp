// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lab/explain/schedule_cost.h"

namespace tutti::explain {
namespace {

sched::Shape broadcast(uint32_t ranks) {
    sched::Shape shape;
    shape.collective = TUTTI_BCAST;
    shape.ranks = ranks;
    shape.bytes = 1000;
    return shape;
}

TEST(Comparison, HoldsEveryAlgorithmOfTheCollectiveWithItsCost) {
    const sched::Shape shape = broadcast(8);
    select::Choice choice;
    choice.runs = select::Runs::kPlan;
    choice.algorithm = algo::find(TUTTI_BCAST, "binomial");
    select::Cluster cluster;
    cluster.network.fabric = topo::Fabric::one_switch(8);
    const Comparison found = compare(shape, topo::Placement::blocks(8, 8), choice, cluster);
    const auto all = algo::algorithms();
    EXPECT_EQ(found.candidates.size(),
              static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const auto& one) {
                  return one.collective == TUTTI_BCAST;
              })));
    EXPECT_TRUE(found.are_followed);
    // The shape has no multicast route.
    EXPECT_FALSE(found.has_multicasts);
    for (const Candidate& one : found.candidates) {
        EXPECT_EQ(one.is_chosen, one.algorithm == choice.algorithm);
        EXPECT_EQ(one.obstacle.empty(), !one.algorithm->has_multicast) << one.algorithm->name;
        if (one.is_chosen) {
            EXPECT_EQ(one.cost.rounds, 3u);
            EXPECT_EQ(one.ns, 3 * (1000 + 80));  // 1 us, and 1000 bytes at 100 Gbit/s
        }
    }
}

// Against the one that runs; else the cheapest of those that follow nobody.
TEST(Comparison, ThoseThatFollowArrivalAreComparedWithOneThatDoesNot) {
    sched::Shape shape;
    shape.ranks = 16;
    shape.has_multicast = shape.gives_back = true;
    const auto placement = topo::Placement::blocks(16, 16);
    select::Cluster cluster;
    cluster.network = price::Network::measured(16, {2000, 100'000}, {2000, 100'000});
    cluster.network.message_ns = 200;
    for (const char* name : {"dissemination", "adaptive_multicast", ""}) {
        select::Choice choice;
        choice.algorithm = algo::find(TUTTI_BARRIER, name);
        const Comparison found = compare(shape, placement, choice, cluster, 1'000'000);
        const auto all = followings(found, shape, placement, choice, cluster);
        ASSERT_EQ(all.size(), 2u);
        EXPECT_EQ(all[0].follower->name, "adaptive");
        EXPECT_EQ(all[1].follower->name, "adaptive_multicast");
        for (const Following& one : all) {
            const bool runs = choice.algorithm && !choice.algorithm->follows_arrival;
            EXPECT_EQ(one.fixed->name, runs ? "dissemination" : "gather_multicast");
        }
        EXPECT_LT(all[1].from_ns, 10'000u);
        for (const Candidate& one : found.candidates) {
            EXPECT_EQ(one.late_ns.has_value(), one.ns.has_value()) << one.algorithm->name;
        }
    }
}

TEST(Cost, OfTooManyOperationsIsThatOfASample) {
    sched::Shape shape = broadcast(1u << 15);
    shape.collective = TUTTI_ALLGATHER;
    shape.bytes = 1;
    const auto placement = topo::Placement::blocks(shape.ranks, shape.ranks);
    const algo::Algorithm& ring = *algo::find(TUTTI_ALLGATHER, "ring");
    ASSERT_GT(operations_about(ring, shape, placement, {}), kOperationsMax);
    const Cost cost = cost_of(ring, shape, placement, {});
    EXPECT_FALSE(cost.is_followed);
    EXPECT_EQ(cost.most.messages_sent, shape.ranks - 1);
}

}  // namespace
}  // namespace tutti::explain
