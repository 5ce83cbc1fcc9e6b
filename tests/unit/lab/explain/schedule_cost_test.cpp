// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/schedule_cost.h"

#include <gtest/gtest.h>

#include "unit/plan/sched/schedules.h"

namespace tutti::explain {
namespace {

// 0 -> 1 -> 2.
sched::Programs chain() {
    return sched::written(sched::shape_of(TUTTI_BCAST, 3, 8), {1, 1, 2, 0},
                          {"send 0 to 1 output[0+8]\n",
                           "recv 0 from 0 output[0+8]\nround 1\nsend 0 to 2 output[0+8]\n",
                           "recv 0 from 1 output[0+8]\n"});
}

TEST(Cost, IsOfTheRankThatHasMost) {
    const Cost cost = cost_of(sched::alone(3), chain());
    EXPECT_TRUE(cost.is_followed);
    EXPECT_EQ(cost.rounds, 2u);
    EXPECT_EQ(cost.most.messages_sent, 1u);
    EXPECT_EQ(cost.most.bytes_received, 8u);
}

TEST(Cost, OfSomeRanksKnowsNoRounds) {
    const sched::Programs programs = chain();
    const Cost cost = cost_of_some(std::span(programs).first(1));
    EXPECT_FALSE(cost.is_followed);
    EXPECT_EQ(cost.rounds, 0u);
    EXPECT_EQ(cost.most.messages_sent, 1u);
    EXPECT_EQ(cost.most.bytes_received, 0u);
}

// Whole rounds of messages count, so that nobody follows the 33 million of this one. Where the root
// alone has many, others have few.
TEST(Cost, FullRoundsCountAsSeveral) {
    const topo::Placement placement = topo::Placement::blocks(4096, 4096);
    const auto operations = [&](tutti_collective collective, const char* name) {
        const sched::Shape shape{.collective = collective, .ranks = 4096, .bytes = 8};
        return operations_about(*algo::find(collective, name), shape, placement, {});
    };
    EXPECT_GT(operations(TUTTI_ALLTOALL, "linear"), kOperationsMax);
    EXPECT_GT(operations(TUTTI_ALLTOALLV, "linear"), kOperationsMax);
    EXPECT_GT(operations(TUTTI_ALLTOALL, "bruck"), kOperationsMax);
    EXPECT_LT(operations(TUTTI_GATHER, "direct"), kOperationsMax);
    EXPECT_LT(operations(TUTTI_BCAST, "binomial"), kOperationsMax);
}

}  // namespace
}  // namespace tutti::explain
