// SPDX-License-Identifier: BSD-3-Clause
// Each expectation by its formula: a is a latency, b the time of a byte on a link.
#include "plan/price/bound.h"

#include <gtest/gtest.h>

namespace tutti::price {
namespace {

using topo::Fabric;
using topo::Placement;

constexpr uint64_t kLatency = 1000;

// A byte takes 1 ns to or from a host and 10 ns between switches.
Fabric with_rates(Fabric fabric) {
    fabric.host_bits_per_s = 8'000'000'000;
    fabric.trunk_bits_per_s = 800'000'000;
    fabric.latency_ns = kLatency;
    return fabric;
}

sched::Shape shape_of(tutti_collective collective, uint32_t ranks, uint64_t bytes) {
    sched::Shape shape;
    shape.collective = collective;
    shape.ranks = ranks;
    shape.bytes = bytes;
    return shape;
}

TEST(Bound, OnOneSwitchTheBusiestHostDecides) {
    const Fabric fabric = with_rates(Fabric::one_switch(4));
    const Placement placement = Placement::blocks(8, 4);
    const auto bound = [&](tutti_collective collective, uint64_t bytes) {
        return bound_ns(shape_of(collective, 8, bytes), placement, fabric);
    };
    EXPECT_EQ(bound(TUTTI_BARRIER, 0), kLatency);
    EXPECT_EQ(bound(TUTTI_BCAST, 0), 0u) << "there is nothing to do";
    EXPECT_EQ(bound(TUTTI_BCAST, 500), kLatency + 500);
    EXPECT_EQ(bound(TUTTI_ALLREDUCE, 400), kLatency + 2 * 3 * 100);
    EXPECT_EQ(bound(TUTTI_GATHER, 100), kLatency + 6 * 100);
    EXPECT_EQ(bound(TUTTI_ALLGATHER, 100), kLatency + 6 * 100);
    EXPECT_EQ(bound(TUTTI_ALLTOALL, 100), kLatency + 2 * 6 * 100);
}

TEST(Bound, BetweenLeavesTheirLinksDo) {
    const Fabric fabric = with_rates(Fabric::leaves(std::vector<uint32_t>{1, 3}));
    const Placement placement = Placement::blocks(4, 4);
    sched::Shape shape = shape_of(TUTTI_GATHER, 4, 100);
    EXPECT_EQ(bound_ns(shape, placement, fabric), 2 * kLatency + 10 * 3 * 100);
    shape.root = 2;
    EXPECT_EQ(bound_ns(shape, placement, fabric), 2 * kLatency + 10 * 100);
    shape = shape_of(TUTTI_ALLGATHER, 4, 100);
    EXPECT_EQ(bound_ns(shape, placement, fabric), 2 * kLatency + 10 * 3 * 100);
    shape = shape_of(TUTTI_ALLTOALL, 4, 100);
    EXPECT_EQ(bound_ns(shape, placement, fabric), 2 * kLatency + 10 * 1 * 3 * 100);
    EXPECT_EQ(least_load(shape, placement, fabric).bytes, 1 * 3 * 100u);
    // Wide enough links between leaves leave it to the hosts.
    shape = shape_of(TUTTI_ALLREDUCE, 4, 4000);
    Fabric wide = fabric;
    wide.trunk_bits_per_s = 800'000'000'000;
    EXPECT_EQ(bound_ns(shape, placement, wide), kLatency + 2 * 3 * 1000);
}

// What a host has goes out, what the others have comes in; of partial results it is the reverse.
TEST(Bound, CountsBlocksByTheirLengths) {
    const Placement placement = Placement::blocks(4, 4);
    const sched::OwnLengths lengths(std::vector<uint64_t>{1000, 0, 100, 200});
    for (const auto collective : {TUTTI_ALLGATHERV, TUTTI_REDUCE_SCATTER}) {
        sched::Shape shape = shape_of(collective, 4, 1000);
        EXPECT_EQ(bound_ns(shape, placement, with_rates(Fabric::one_switch(4))), kLatency + 3000);
        shape.lengths = lengths.view();
        EXPECT_EQ(bound_ns(shape, placement, with_rates(Fabric::one_switch(4))), kLatency + 1300);
        // Hosts 0 and 1 are on the first leaf.
        const Fabric fabric = with_rates(Fabric::leaves(std::vector<uint32_t>{2, 2}));
        EXPECT_EQ(bound_ns(shape, placement, fabric), 2 * kLatency + 10 * 1000);
        EXPECT_EQ(least_load(shape, placement, fabric).bytes, 1000u);
    }
}

// Each time that the order of ranks goes over a link and comes back, another fold has to.
TEST(Bound, ScansCrossAsOftenAsTheOrderOfRanks) {
    const Fabric fabric = with_rates(Fabric::leaves(std::vector<uint32_t>{2, 2}));
    for (const auto collective : {TUTTI_SCAN, TUTTI_EXSCAN}) {
        const sched::Shape shape = shape_of(collective, 8, 100);
        // Ranks 0 to 3 are on the first leaf.
        EXPECT_EQ(bound_ns(shape, Placement::blocks(8, 4), fabric), 2 * kLatency + 10 * 100);
        // Hosts 0, 1, 2, 3, 0, 1, 2, 3: twice from leaf to leaf, and once back.
        const Placement dealt = Placement::round_robin(8, 4);
        EXPECT_EQ(bound_ns(shape, dealt, fabric), 2 * kLatency + 10 * 200);
        EXPECT_EQ(least_load(shape, dealt, fabric).bytes, 200u);
        // On one switch host 1 sends, and receives, twice.
        EXPECT_EQ(bound_ns(shape, dealt, with_rates(Fabric::one_switch(4))), kLatency + 200);
        EXPECT_EQ(bound_ns(shape, Placement::blocks(8, 1), fabric), 0u);
    }
}

// Host 0 hangs on the root, host 1 one level down, host 2 two.
TEST(Bound, HoldsOnAnyTreeOfSwitches) {
    Fabric fabric;
    fabric.parent_of_switch = {topo::kNoSwitch, 0, 1};
    fabric.switch_of_host = {0, 1, 2};
    const sched::Shape shape = shape_of(TUTTI_BCAST, 3, 100);
    EXPECT_EQ(bound_ns(shape, Placement::blocks(3, 3), with_rates(fabric)),
              kLatency * 3 / 2 + 10 * 100);
}

// Four links side by side carry as much as one of four times the rate; a slow host holds up all.
TEST(Bound, KnowsLinksOfTheirOwn) {
    Fabric fabric = with_rates(Fabric::leaves(std::vector<uint32_t>{2, 2}));
    fabric.set_switch_links({{4, 0, 0}, {1, 8'000'000'000, 0}, {}});
    const Placement placement = Placement::blocks(4, 4);
    const sched::Shape bcast = shape_of(TUTTI_BCAST, 4, 1000);
    EXPECT_EQ(bound_ns(bcast, placement, fabric), 2 * kLatency + 10 * 1000 / 4);
    EXPECT_EQ(least_load(bcast, placement, fabric).bytes, 250u);
    EXPECT_EQ(least_load(bcast, placement, fabric).ns, 10 * 250u);
    // 3 kB each way through all links of hosts in the mean, whose rates are 2, 4, 4 and 4 Gbit/s.
    Fabric slow = fabric;
    slow.set_switch_links({{1, 800'000'000'000, 0}, {1, 800'000'000'000, 0}, {}});
    slow.host_bits_per_s = 4'000'000'000;
    slow.set_host_links({{1, 2'000'000'000, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}});
    const sched::Shape allreduce = shape_of(TUTTI_ALLREDUCE, 4, 4000);
    EXPECT_EQ(bound_ns(allreduce, placement, slow), kLatency + 4000 * 4) << "the slow one's own";
    slow.set_host_links({{1, 3'500'000'000, 0}, {1, 3'500'000'000, 0}, {1, 0, 0}, {1, 0, 0}});
    EXPECT_EQ(bound_ns(allreduce, placement, slow), kLatency + 6000 * 8 * 4 / 15);
    EXPECT_EQ(least_load(allreduce, placement, slow).bytes, 6000u);
    slow.set_host_links({{1, 0, 200}, {1, 0, 300}, {1, 0, 0}, {1, 0, 0}});
    EXPECT_EQ(bound_ns(shape_of(TUTTI_BARRIER, 4, 0), placement, slow), 200 + 500 + 500 + 200);
}

// In integers to the last: doubles would have lost some at 10^18.
TEST(Bound, IsExact) {
    Fabric fabric = Fabric::one_switch(2);
    fabric.host_bits_per_s = 8;
    fabric.latency_ns = 2;
    const sched::Shape shape = shape_of(TUTTI_BCAST, 2, 1'000'000'001);
    EXPECT_EQ(bound_ns(shape, Placement::blocks(2, 2), fabric), 2 + 1'000'000'001'000'000'000u);
}

}  // namespace
}  // namespace tutti::price
