// SPDX-License-Identifier: BSD-3-Clause
#include "lab/simulate/alike_rounds.h"

#include <gtest/gtest.h>

#include "lab/simulate/simulate.h"
#include "plan/algo/plan.h"
#include "unit/base/topo/switch_trees.h"

namespace tutti::simulate {
namespace {

using topo::Placement;

struct Call {
    tutti_collective collective;
    const char* algorithm;
    uint64_t bytes;
};

SimulationRequest request_of(const Call& call, const Placement& placement) {
    SimulationRequest request;
    request.algorithm = algo::find(call.collective, call.algorithm);
    request.shape = {
        .collective = call.collective, .ranks = placement.ranks(), .bytes = call.bytes};
    request.shape.element_bytes = 8;
    request.placement = &placement;
    request.has_data = false;
    return request;
}

TEST(AlikeRounds, AreTheTwoHalvesOfARing) {
    const Placement placement = Placement::blocks(300, 300);
    const auto request = request_of({TUTTI_ALLREDUCE, "ring", 300 * 64 + 8}, placement);
    const auto programs = algo::make_plans(*request.algorithm, request.shape, placement, {});
    const auto found = alike_stretches(programs, 100);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_GT(found[0].rounds, 290u);
    EXPECT_GT(found[1].rounds, 290u);
    EXPECT_TRUE(alike_stretches(programs, 400).empty());
    // Neither halving nor lanes are.
    const auto halving = request_of({TUTTI_ALLREDUCE, "rabenseifner", 1 << 20}, placement);
    EXPECT_TRUE(
        alike_stretches(algo::make_plans(*halving.algorithm, halving.shape, placement, {}), 4)
            .empty());
    algo::Tuning lanes;
    lanes.segment_bytes = 300 * 8;
    EXPECT_TRUE(
        alike_stretches(algo::make_plans(*request.algorithm, request.shape, placement, lanes), 100)
            .empty());
}

TEST(AlikeRounds, LeavesTheOthersInTheirOrder) {
    const Placement placement = Placement::blocks(50, 50);
    const auto request = request_of({TUTTI_ALLREDUCE, "ring", 50 * 64}, placement);
    const auto programs = algo::make_plans(*request.algorithm, request.shape, placement, {});
    const auto stretches = alike_stretches(programs, 20);
    ASSERT_EQ(stretches.size(), 2u);
    const std::vector<uint64_t> kept{3, 5};
    const auto brief = shortened(*programs[7], stretches, kept);
    const uint64_t left_out = stretches[0].rounds - 3 + stretches[1].rounds - 5;
    ASSERT_EQ(brief->extent().rounds, programs[7]->extent().rounds - left_out);
    sched::Round is;
    sched::Round expected;
    uint64_t round = 0;
    for (uint64_t whole = 0; whole < programs[7]->extent().rounds; ++whole) {
        const auto is_left_out = [&](size_t i) {
            return whole >= stretches[i].first + kept[i] &&
                   whole < stretches[i].first + stretches[i].rounds;
        };
        if (is_left_out(0) || is_left_out(1)) continue;
        brief->read(0, round++, is);
        programs[7]->read(0, whole, expected);
        ASSERT_TRUE(std::equal(is.begin(), is.end(), expected.begin(), expected.end())) << whole;
    }
}

// By law as by events: counts to the message, times within what is promised.
TEST(Law, IsWhatEventsGive) {
    std::vector<uint32_t> leaves;
    for (uint32_t i = 0; i < 240; ++i) leaves.push_back(i * 7 % 6);
    Placement placement = Placement::blocks(240, 240);
    placement.set_switches(topo::test::two_levels(leaves));
    const Call calls[] = {{TUTTI_ALLREDUCE, "ring", 240 * 4096},
                          {TUTTI_ALLREDUCE, "ring", 240 * 8},
                          {TUTTI_ALLGATHER, "ring", 65536},
                          {TUTTI_ALLGATHER, "ring", 8}};
    for (const Call& call : calls) {
        SimulationRequest request = request_of(call, placement);
        request.cluster.fabric = topo::Fabric::leaves(std::vector<uint32_t>(6, 40));
        request.cluster.fabric.switch_of_host = leaves;
        const auto events = run(request);
        request.rounds_max = 0;
        const auto law = run(request);
        ASSERT_TRUE(events && law);
        EXPECT_FALSE(events.value().is_by_law);
        if (!law.value().is_by_law) {
            ADD_FAILURE() << call.algorithm << ' ' << call.bytes;
            continue;
        }
        EXPECT_EQ(law.value().messages, events.value().messages);
        EXPECT_EQ(law.value().bytes, events.value().bytes);
        EXPECT_EQ(law.value().link_bytes, events.value().link_bytes);
        const auto exact = static_cast<double>(events.value().time_ns);
        EXPECT_NEAR(static_cast<double>(law.value().time_ns), exact, exact / 64);
        EXPECT_EQ(law.value().delay_ns(), law.value().time_ns);
        EXPECT_EQ(events.value().delay_ns(), events.value().time_ns);
    }
}

// A delay that goes around a ring host by host looks steady for as many rounds as hosts have it.
TEST(Law, IsNoneWhereLatenciesDiffer) {
    const Placement placement = Placement::blocks(240, 240);
    SimulationRequest request = request_of({TUTTI_ALLREDUCE, "ring", 240 * 8}, placement);
    request.cluster.fabric = topo::Fabric::one_switch(240);
    std::vector<topo::Trunk> links(240, topo::Trunk{1, 0, 500});
    for (uint32_t host = 0; host < 120; ++host) links[host].latency_ns = 25'000;
    request.cluster.fabric.set_host_links(links);
    request.rounds_max = 0;
    const auto found = run(request);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found.value().is_by_law);
    request.only_by_law = true;
    EXPECT_FALSE(run(request));
}

}  // namespace
}  // namespace tutti::simulate
