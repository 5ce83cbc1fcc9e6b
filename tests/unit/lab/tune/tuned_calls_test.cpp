// SPDX-License-Identifier: BSD-3-Clause
#include "lab/tune/tuned_calls.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/select/parameter_presets.h"
#include "plan/select/rules.h"

namespace tutti::tune {
namespace {

std::vector<PlannedCall> plan(uint32_t ranks, uint32_t hosts) {
    const topo::Placement placement = topo::Placement::blocks(ranks, hosts);
    return plan_calls(
        placement, select::cluster_of(placement, select::find_preset("ethernet-10g")->parameters));
}

TEST(PlanCalls, EveryCollectiveOfEverySizeTheShortestFirst) {
    const auto calls = plan(16, 16);
    // Those whose lengths only pairs of ranks know have no rules by size.
    const auto without = std::ranges::count_if(
        kCollectives, [](const Collective& one) { return has_private_lengths(one); });
    const auto with = TUTTI_COLLECTIVE_COUNT - static_cast<size_t>(without);
    EXPECT_EQ(calls.size(), (with - 1) * kSizes.size() + 1);
    EXPECT_TRUE(std::ranges::is_sorted(calls, {}, &PlannedCall::ns));
}

TEST(PlanCalls, CandidatesDifferAndCanBeForced) {
    for (const PlannedCall& call : plan(16, 8)) {
        ASSERT_FALSE(call.candidates.empty());
        for (const Candidate& one : call.candidates) {
            EXPECT_EQ(std::ranges::count(call.candidates, one), 1);
            const auto forced = select::parse_forced(call.collective, one.text());
            ASSERT_TRUE(forced) << forced.error().message;
            EXPECT_EQ(forced.value().algorithm, one.algorithm);
            EXPECT_EQ(forced.value().tuning, one.tuning) << one.text();
        }
    }
}

// A call that has no price, or a wrong one, is not taken for a short one.
TEST(PlanCalls, NoneIsShorterThanItsBytesTake) {
    for (const PlannedCall& call : plan(16, 16)) {
        const uint64_t blocks = has_blocks(call.collective) ? 16 : 1;
        EXPECT_GE(call.ns, call.bytes * blocks * 8 / 10) << collective_name(call.collective);
    }
    for (const PlannedCall& call : plan(4, 1)) EXPECT_GE(call.ns, call.bytes / 8);
}

// At most three by price, what the built-in rules choose, and what multicasts.
TEST(PlanCalls, FewBesideTheHostsOwn) {
    for (const PlannedCall& call : plan(16, 16)) {
        const auto multicasts = std::ranges::count_if(call.candidates, [&](const Candidate& one) {
            return algo::find(call.collective, one.algorithm)->has_multicast;
        });
        EXPECT_LE(call.candidates.size() - static_cast<size_t>(multicasts), 4u);
        EXPECT_EQ(multicasts > 0,
                  call.collective == TUTTI_BARRIER || call.collective == TUTTI_BCAST ||
                      call.collective == TUTTI_ALLREDUCE || call.collective == TUTTI_ALLGATHER ||
                      call.collective == TUTTI_ALLGATHERV)
            << collective_name(call.collective) << ' ' << call.bytes;
    }
}

TEST(PlanCalls, OnOneHostTheNodeLevel) {
    for (const PlannedCall& call : plan(4, 1)) {
        ASSERT_EQ(call.candidates.size(), 1u);
        EXPECT_EQ(call.candidates.front().text(), "node");
    }
}

}  // namespace
}  // namespace tutti::tune
