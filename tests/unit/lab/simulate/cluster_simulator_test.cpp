// SPDX-License-Identifier: BSD-3-Clause
// Virtual times and counts are exact: each test derives its own.
#include "lab/simulate/cluster_simulator.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "lab/simulate/simulate.h"

namespace tutti::simulate {
namespace {

using topo::Placement;
using transport::sim::Cluster;

constexpr uint64_t kLatency = 1000;

// A byte takes a nanosecond on a link; work on the hosts takes none.
SimulationRequest request_of(tutti_collective collective, const char* name,
                             const Placement& placement, uint64_t bytes) {
    SimulationRequest request;
    request.algorithm = algo::find(collective, name);
    request.shape.collective = collective;
    request.shape.ranks = placement.ranks();
    request.shape.bytes = bytes;
    request.placement = &placement;
    request.cluster = Cluster::one_switch(placement.nodes());
    request.cluster.fabric.host_bits_per_s = 8'000'000'000;
    request.costs.copy_bytes_per_s = request.costs.reduce_bytes_per_s = uint64_t{1} << 60;
    return request;
}

TEST(Simulate, DisseminationTakesItsRounds) {
    const Placement placement = Placement::blocks(11, 11);
    const auto result = run(request_of(TUTTI_BARRIER, "dissemination", placement, 0));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result.value().time_ns, 4 * kLatency) << "ceil(log2 11) rounds";
    EXPECT_EQ(result.value().messages, 4u * 11);
    EXPECT_EQ(result.value().bytes, 0u);
    for (const uint64_t ns : result.value().rank_ns) EXPECT_EQ(ns, 4 * kLatency);
}

// p - 1 steps of one block each way; every link carries every block but one.
TEST(Simulate, RingSendsEachBlockOnce) {
    const Placement placement = Placement::blocks(9, 9);
    auto request = request_of(TUTTI_ALLGATHER, "ring", placement, 5000);
    const auto result = run(request);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result.value().time_ns, 8 * (kLatency + 5000));
    for (uint32_t host = 0; host < 9; ++host) {
        EXPECT_EQ(result.value().link_bytes[2 * host], 8u * 5000);
        EXPECT_EQ(result.value().link_bytes[2 * host + 1], 8u * 5000);
    }
}

// A ring's round takes as long as its longest block. In slots that block is a pipeline: m slots
// pass p - 1 links in m + p - 2 steps, and the other ranks' short ones wait behind it.
TEST(Simulate, OneLongBlockIsAPipeline) {
    constexpr uint64_t kSlot = 10'000;
    constexpr uint64_t kSlots = 40;
    const Placement placement = Placement::blocks(9, 9);
    std::vector<uint64_t> lengths(9, 0);
    lengths[4] = kSlots * kSlot;
    const sched::OwnLengths own(lengths);
    const auto time_ns = [&](const char* name) {
        auto request = request_of(TUTTI_ALLGATHERV, name, placement, kSlots * kSlot);
        request.shape.lengths = own.view();
        request.tuning.segment_bytes = name == std::string("ring") ? 0 : kSlot;
        const auto result = run(request);
        EXPECT_TRUE(result) << result.error().message;
        return result ? result.value().time_ns : 0;
    };
    EXPECT_GE(time_ns("ring"), 8 * (kLatency + kSlots * kSlot));
    EXPECT_LE(time_ns("pipelined_ring"), (kSlots + 8) * (kLatency + kSlot));
}

// Results are compared byte by byte.
TEST(Simulate, BlocksOfAnyLengths) {
    const Placement alone = Placement::blocks(13, 13);
    const Placement shared = Placement::round_robin(13, 4);
    std::vector<uint64_t> lengths;
    for (uint64_t i = 0; i < 13; ++i) lengths.push_back(i % 4 * 1700);
    const sched::OwnLengths own(lengths);
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (facts(algorithm.collective).lengths != Lengths::kKnownToAll) continue;
        for (const Placement* placement : {&alone, &shared}) {
            auto request = request_of(algorithm.collective, "", *placement, 3 * 1700);
            request.algorithm = &algorithm;
            request.shape.lengths = own.view();
            request.shape.has_multicast = true;
            const auto result = run(request);
            EXPECT_TRUE(result) << algorithm.name << ": " << result.error().message;
        }
    }
}

// Results are compared byte by byte, of an operator that does not commute, and of rank 0 nothing.
TEST(Simulate, ScansTakeTheirSteps) {
    const Placement placement = Placement::blocks(16, 16);
    for (const tutti_collective collective : {TUTTI_SCAN, TUTTI_EXSCAN}) {
        const auto time_ns = [&](const char* name) {
            auto request = request_of(collective, name, placement, 512);
            request.shape.is_commutative = false;
            const auto result = run(request);
            EXPECT_TRUE(result) << name << ": " << result.error().message;
            return result ? result.value().time_ns : 0;
        };
        // Each fold rounds up to a nanosecond; exscan's chain ends without one.
        EXPECT_EQ(time_ns("doubling"), 4 * (kLatency + 512 + 1));
        const uint64_t folds = collective == TUTTI_SCAN ? 15 : 14;
        EXPECT_EQ(time_ns("chain"), 15 * (kLatency + 512) + folds);
        EXPECT_GE(time_ns("tree"), 7 * (kLatency + 512));
    }
    EXPECT_TRUE(run(request_of(TUTTI_EXSCAN, "doubling_123", placement, 512)));
}

// Ranks of a node share memory: only the leaders' messages are on the wire.
TEST(Simulate, NodesTalkOnce) {
    const Placement placement = Placement::blocks(32, 4);
    const auto result = run(request_of(TUTTI_ALLREDUCE, "pairwise", placement, 800));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result.value().messages, 4u * 2);
    EXPECT_EQ(result.value().bytes, 4u * 2 * 800);
    EXPECT_EQ(result.value().memory_messages, 0u);
    EXPECT_GE(result.value().time_ns, 2 * (kLatency + 800) + price::NodeParameters{}.flag_ns);
}

TEST(Simulate, TimeAloneNeedsNoData) {
    const Placement placement = Placement::round_robin(12, 3);
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        auto request = request_of(algorithm.collective, "", placement, 4000);
        request.algorithm = &algorithm;
        request.shape.has_multicast = true;
        request.costs = {};
        const auto with = run(request);
        request.has_data = false;
        const auto without = run(request);
        ASSERT_TRUE(with) << with.error().message;
        ASSERT_TRUE(without) << without.error().message;
        EXPECT_EQ(with.value().rank_ns, without.value().rank_ns) << algorithm.name;
        EXPECT_EQ(with.value().bytes, without.value().bytes) << algorithm.name;
    }
}

// Everybody else waits; the rounds come after the last arrival.
TEST(Simulate, LateRanks) {
    const Placement placement = Placement::blocks(16, 16);
    auto request = request_of(TUTTI_BARRIER, "dissemination", placement, 0);
    request.late_ns.assign(16, 0);
    request.late_ns[5] = 70 * kLatency;
    request.late_ns[6] = 3 * kLatency;
    auto result = run(request);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result.value().time_ns, 74 * kLatency);
    EXPECT_EQ(result.value().delay_ns(), 4 * kLatency);
    // A star: the late one has everything when it comes, and tells the middle, which tells all.
    request.algorithm = algo::find(TUTTI_BARRIER, "adaptive");
    request.tuning.fan_in = 15;
    result = run(request);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result.value().messages, 30u);
    const uint64_t message_ns = sched::meet_message_bytes(0);
    EXPECT_EQ(result.value().rank_ns[5], 70 * kLatency + message_ns);
    EXPECT_EQ(result.value().delay_ns(), 2 * kLatency + 15 * message_ns);
    request.late_ns.pop_back();
    EXPECT_EQ(run(request).error().message, "a delay for each rank, or none");
}

// Each edge between nodes carries one message each way, however ranks are placed, and whoever is
// late, the first of its node or another one. Within nodes there is none.
TEST(Simulate, WhoMeetsSendsBetweenNodesAlone) {
    for (const bool by_turns : {false, true}) {
        const Placement placement =
            by_turns ? Placement::round_robin(16, 4) : Placement::blocks(16, 4);
        for (const tutti_collective collective : {TUTTI_BARRIER, TUTTI_ALLREDUCE}) {
            auto request =
                request_of(collective, "adaptive", placement, collective == TUTTI_BARRIER ? 0 : 8);
            for (uint32_t late = 0; late < 16; ++late) {
                request.late_ns.assign(16, 0);
                request.late_ns[late] = 70 * kLatency;
                request.algorithm = algo::find(collective, "adaptive");
                request.shape.has_multicast = false;
                auto result = run(request);
                ASSERT_TRUE(result) << result.error().message;
                EXPECT_EQ(result.value().messages, 2u * 3);
                EXPECT_EQ(result.value().memory_messages, 0u);
                request.algorithm = algo::find(collective, "adaptive_multicast");
                request.shape.has_multicast = true;
                result = run(request);
                ASSERT_TRUE(result) << result.error().message;
                EXPECT_EQ(result.value().messages, 3u);
                EXPECT_EQ(result.value().memory_messages, 0u);
                EXPECT_LT(result.value().delay_ns(), 2 * kLatency) << late;
            }
        }
    }
}

TEST(Simulate, SaysWhatCannotRun) {
    const Placement placement = Placement::blocks(4, 4);
    auto request = request_of(TUTTI_ALLREDUCE, "ring", placement, 64);
    request.shape.is_commutative = false;
    EXPECT_EQ(run(request).error().message,
              "ring cannot run here: needs an operator that commutes");
    request.shape.is_commutative = true;
    request.cluster = Cluster::one_switch(3);
    EXPECT_EQ(run(request).error().message, "4 nodes do not fit on 3 hosts");
}

// Logarithmic algorithms at 4,096 ranks: log2 p messages a rank.
TEST(Simulate, ThousandsOfRanks) {
    const Placement placement = Placement::blocks(4096, 4096);
    for (const bool sums : {false, true}) {
        auto request = sums ? request_of(TUTTI_ALLREDUCE, "pairwise", placement, 8)
                            : request_of(TUTTI_BARRIER, "dissemination", placement, 0);
        const auto result = run(request);
        ASSERT_TRUE(result) << result.error().message;
        EXPECT_EQ(result.value().messages, 4096u * 12);
        EXPECT_GE(result.value().time_ns, 12 * kLatency);
    }
}

// One send or one receive, or one end of a multicast.
class OneMessage final : public sched::Program {
  public:
    explicit OneMessage(const sched::Operation& operation) : operation_(operation) {}
    [[nodiscard]] std::string_view name() const override { return "one"; }
    [[nodiscard]] sched::Extent extent() const override {
        return {1, 1, 1, 0, sched::is_multicast(operation_.kind) ? 1u : 0u};
    }
    void read(uint64_t, uint64_t, sched::Round& out) const override {
        out.clear();
        out.add(operation_);
    }

  private:
    sched::Operation operation_;
};

ClusterParams two_hosts() {
    ClusterParams params;
    params.cluster = Cluster::one_switch(2);
    params.host_of_process = {0, 1};
    params.weather.seed = 5;
    return params;
}

TEST(ClusterSimulator, NamesADeadlock) {
    ClusterSimulator simulator(two_hosts());
    const uint32_t team = simulator.add_team(std::array<uint32_t, 2>{0, 1});
    const auto program = [] { return std::make_unique<OneMessage>(sched::recv(1, 0, {})); };
    ASSERT_TRUE(simulator.add_call(team, 0, program(), {}, true));
    const auto done = simulator.run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "seed 5: deadlock of team 0 rank 0 in call 0 waits for rank 1");
}

TEST(ClusterSimulator, NamesAFailure) {
    ClusterSimulator simulator(two_hosts());
    const uint32_t team = simulator.add_team(std::array<uint32_t, 2>{0, 1});
    std::array<std::byte, 8> out{};
    const auto block = [](uint64_t bytes) { return sched::output(0, bytes); };
    ASSERT_TRUE(simulator.add_call(team, 0,
                                   std::make_unique<OneMessage>(sched::send(1, 0, block(8))),
                                   {nullptr, out.data(), {}}, true));
    ASSERT_TRUE(simulator.add_call(team, 1,
                                   std::make_unique<OneMessage>(sched::recv(0, 0, block(4))),
                                   {nullptr, out.data(), {}}, true));
    const auto done = simulator.run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message,
              "seed 5: rank 1: a message of 8 bytes from rank 0 met a receive of 4 bytes");
}

// Folding takes its time before the result is sent on: 2 rounds of latency, bytes and a fold.
TEST(ClusterSimulator, WorkDelaysWhatFollowsIt) {
    const Placement placement = Placement::blocks(4, 4);
    auto request = request_of(TUTTI_ALLREDUCE, "pairwise", placement, 3000);
    request.costs.reduce_bytes_per_s = 500'000'000;
    const auto result = run(request);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_GE(result.value().time_ns, 2 * (kLatency + 3000 + 6000));
    EXPECT_LE(result.value().time_ns, 2 * (kLatency + 3000 + 6000) + 4) << "and copies of 1 ns";
}

// Three ranks on two hosts; two calls, each of one multicast, after one without any: a byte takes a
// nanosecond on links and in memory.
TEST(ClusterSimulator, MulticastsPassOnce) {
    ClusterParams params = two_hosts();
    params.host_of_process = {0, 1, 1};
    params.cluster.fabric.host_bits_per_s = 8'000'000'000;
    params.cluster.memory_bytes_per_s = 1'000'000'000;
    ClusterSimulator simulator(params);
    const uint32_t team = simulator.add_team(std::array<uint32_t, 3>{0, 1, 2});
    std::array<std::array<std::byte, 2000>, 3> memory{};
    memory[0].fill(std::byte{7});
    const auto add = [&](uint32_t rank, const sched::Operation& operation) {
        ASSERT_TRUE(simulator.add_call(team, rank, std::make_unique<OneMessage>(operation),
                                       {nullptr, memory[rank].data(), {}}, true));
    };
    const auto block = sched::output(0, 2000);
    for (const uint32_t rank : {0u, 1u, 2u}) {
        add(rank, sched::copy(block, block));
        for (const uint32_t sender : {0u, 2u}) {
            add(rank, rank == sender ? sched::multicast(0, block)
                                     : sched::recv_multicast(sender, 0, block));
        }
    }
    const auto done = simulator.run();
    ASSERT_TRUE(done) << done.error().message;
    for (const auto& one : memory) EXPECT_EQ(one[1999], std::byte{7});
    // Over two links, and through the host's memory to both ranks there.
    const uint64_t first_ns = kLatency + 2000 + 2000 + 300;
    EXPECT_EQ(simulator.done_ns(team, 0), 2 * first_ns);
    EXPECT_EQ(simulator.done_ns(team, 1), first_ns + 2000 + 300) << "beside the second sender";
    EXPECT_EQ(simulator.done_ns(team, 2), first_ns + 2000) << "when the last byte has left";
    EXPECT_EQ(simulator.world().multicast_traffic().messages, 2u);
    EXPECT_EQ(simulator.world().multicast_traffic().bytes, 4000u);
    EXPECT_EQ(simulator.world().network_traffic().messages, 0u);
    for (uint32_t link = 0; link < 4; ++link) {
        EXPECT_EQ(simulator.world().link_traffic(link).bytes, 2000u);
    }
    EXPECT_EQ(simulator.world().under_way(), 0u);
}

TEST(ClusterSimulator, NamesWhoseMulticastIsMissing) {
    ClusterSimulator simulator(two_hosts());
    const uint32_t team = simulator.add_team(std::array<uint32_t, 2>{0, 1});
    ASSERT_TRUE(simulator.add_call(
        team, 0, std::make_unique<OneMessage>(sched::recv_multicast(1, 0, {})), {}, true));
    const auto done = simulator.run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "seed 5: deadlock of team 0 rank 0 in call 0 waits for rank 1");
}

// Hosts 0 and 2 on one leaf, 1 and 3 on the other; 2 and 3 are another job's.
SimulationRequest request_beside(const Placement& placement, uint64_t bytes,
                                 uint64_t background_bytes) {
    auto request = request_of(TUTTI_BCAST, "chain", placement, bytes);
    request.tuning.segment_bytes = uint64_t{1} << 30;
    request.cluster = Cluster::leaves(std::array<uint32_t, 2>{2, 2});
    request.cluster.fabric.switch_of_host = {0, 1, 0, 1};
    request.cluster.fabric.host_bits_per_s = 8'000'000'000;
    request.cluster.fabric.trunk_bits_per_s = 8'000'000'000;
    request.background = {{2, 3}, background_bytes};
    return request;
}

// Alone a vector takes two latencies and its time on a link. A foreign message that is on the link
// between the switches holds it up by what is left of that, and no other one can come before it:
// the next leaves its host when that one is there.
TEST(Simulate, ABackgroundHoldsMessagesUp) {
    const Placement placement = Placement::blocks(2, 2);
    constexpr uint64_t kBytes = 5000;
    constexpr uint64_t kForeign = 40'000;
    auto request = request_beside(placement, kBytes, kForeign);
    uint64_t held_up = 0;
    for (request.seed = 1; request.seed <= 20; ++request.seed) {
        const auto result = run(request);
        ASSERT_TRUE(result) << result.error().message;
        const uint64_t ns = result.value().time_ns;
        EXPECT_GE(ns, 2 * kLatency + kBytes);
        EXPECT_LE(ns, 2 * kLatency + kBytes + kForeign);
        if (ns > 2 * kLatency + kBytes) ++held_up;
        EXPECT_EQ(result.value().messages, 1u) << "the call's own";
        EXPECT_EQ(result.value().bytes, kBytes);
        EXPECT_EQ(run(request).value().time_ns, ns) << "the same seed is the same run";
        // What foreign ranks send is on their links and between the switches.
        EXPECT_GE(result.value().link_bytes[2 * 2], 2 * kForeign);
        EXPECT_EQ(result.value().link_bytes[0], kBytes);
    }
    EXPECT_GT(held_up, 10u) << "the link is busy nearly all the time";
    request.background = {};
    EXPECT_EQ(run(request).value().time_ns, 2 * kLatency + kBytes);
}

// Foreign ranks of one switch send each other nothing.
TEST(Simulate, ABackgroundStaysBetweenSwitches) {
    const Placement placement = Placement::blocks(2, 2);
    auto request = request_beside(placement, 1000, 500);
    request.cluster = Cluster::leaves(std::array<uint32_t, 2>{4, 2});
    request.cluster.fabric.switch_of_host = {0, 1, 0, 0, 0, 1};
    request.background.hosts = {2, 3, 4, 5};
    const auto result = run(request);
    ASSERT_TRUE(result) << result.error().message;
    const auto& bytes = result.value().link_bytes;
    // All that these three send goes up from leaf 0, whose links follow those of six hosts.
    EXPECT_EQ(bytes[4] + bytes[6] + bytes[8] + bytes[0], bytes[12]);
    EXPECT_GT(bytes[4], 0u);
    EXPECT_GT(bytes[10], 0u);
}

TEST(Simulate, ABackgroundIsBehindTheCallAndOnTwoSwitches) {
    const Placement placement = Placement::blocks(2, 2);
    auto request = request_beside(placement, 8, 8);
    request.background.hosts = {1, 3};
    EXPECT_EQ(run(request).error().message,
              "host 1 of the background is none of those behind the call's");
    request.background.hosts = {2};
    EXPECT_EQ(run(request).error().message, "the background's hosts are on one switch");
    request.background = {{2, 3}, kBackgroundBytesMax + 1};
    EXPECT_EQ(run(request).error().message, "the background's messages are too long");
}

TEST(SimClock, NeverRunsBackwards) {
    SimClock clock;
    clock.advance_to(500);
    clock.advance_to(400);
    EXPECT_EQ(clock.now_ns(), 500u);
}

}  // namespace
}  // namespace tutti::simulate
