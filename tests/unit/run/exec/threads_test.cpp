// SPDX-License-Identifier: BSD-3-Clause
// Threads as ranks: the node's shared words and the executor's own memory under the thread
// sanitizer.
#include <thread>
#include <utility>

#include "lab/simulate/node_simulator.h"
#include "plan/algo/plan.h"
#include "unit/run/exec/support.h"

namespace tutti::test {
namespace {

constexpr uint32_t kRanks = 5;
constexpr uint32_t kCalls = 30;

// One rank's calls, one after the other, with no waiting between them: fast ranks run ahead.
void allreduce_often(Network& network, Bus& bus, node::Team team, const topo::Placement& placement,
                     uint32_t rank, const algo::Algorithm& algorithm) {
    constexpr size_t kCount = 700;
    Network::Endpoint endpoint(network, rank);
    Bus::End route(bus, rank);
    exec::Executor executor(&team, endpoint, &route);
    sched::Shape shape;
    shape.collective = TUTTI_ALLREDUCE;
    shape.ranks = kRanks;
    shape.bytes = kCount * 4;
    shape.element_bytes = 4;
    shape.has_multicast = true;
    const algo::Tuning tuning{400, 3, 0, 2, false};
    const auto program = algo::make_plan(algorithm, shape, placement, rank, tuning);
    ASSERT_TRUE(static_cast<bool>(executor.reserve(program->extent(), 1u << 20)));
    std::vector<uint32_t> in(kCount);
    std::vector<uint32_t> out(kCount);
    for (uint32_t call = 1; call <= kCalls; ++call) {
        for (uint32_t i = 0; i < kCount; ++i) in[i] = call * rank + i;
        executor.start(*program, call, {bytes_of(in), bytes_of(out), sum_u32()});
        while (executor.step() != Step::kDone) std::this_thread::yield();
        for (uint32_t i = 0; i < kCount; ++i) {
            ASSERT_EQ(out[i], call * (kRanks * (kRanks - 1) / 2) + kRanks * i);
        }
    }
}

// A thread each on two nodes, in turn.
template <class Body>
void run_ranks(const topo::Placement& placement, Body body) {
    Network network;
    Bus bus(kRanks);
    const simulate::SimSlice slices[2] = {{3, 1024}, {2, 1024}};
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        const uint32_t node = placement.node_of(rank);
        simulate::SimTeam team;
        team.ranks = static_cast<uint32_t>(placement.members(node).size());
        team.chunk_bytes = 1024;
        threads.emplace_back([&, rank, node, team] {
            body(network, bus,
                 simulate::sim_rank(team, slices[node], placement.index_on_node(rank)), rank);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

TEST(ExecutorThreads, RunOverNodesAndNetwork) {
    const topo::Placement placement = topo::Placement::round_robin(kRanks, 2);
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (algorithm.collective != TUTTI_ALLREDUCE) continue;
        run_ranks(placement, [&](Network& network, Bus& bus, node::Team team, uint32_t rank) {
            allreduce_often(network, bus, std::move(team), placement, rank, algorithm);
        });
    }
}

// Those of a node leave each other letters. Late ranks of any place, and calls that overlap.
void meet_often(Network& network, Bus& bus, node::Team team, const topo::Placement& placement,
                uint32_t rank, const algo::Algorithm& algorithm) {
    const uint32_t ranks = placement.ranks();
    Network::Endpoint endpoint(network, rank);
    Bus::End route(bus, rank);
    exec::Executor executor(&team, endpoint, &route);
    sched::Shape shape;
    shape.collective = TUTTI_ALLREDUCE;
    shape.ranks = ranks;
    shape.element_bytes = 4;
    shape.has_multicast = true;
    for (uint32_t call = 1; call <= kCalls; ++call) {
        shape.bytes = call % 3 == 0 ? 120u : 4u;  // of several lines, or one
        const auto program = algo::make_plan(algorithm, shape, placement, rank, {});
        ASSERT_TRUE(static_cast<bool>(executor.reserve(program->extent(), 1u << 20)));
        std::vector<uint32_t> in(shape.bytes / 4, call * rank);
        std::vector<uint32_t> out(in.size());
        for (uint32_t late = (call * 7 + rank * 5) % 11; late > 8; --late) {
            for (int turn = 0; turn < 20; ++turn) std::this_thread::yield();
        }
        executor.start(*program, call, {bytes_of(in), bytes_of(out), sum_u32()});
        while (executor.step() != Step::kDone) std::this_thread::yield();
        for (const uint32_t value : out) ASSERT_EQ(value, call * (ranks * (ranks - 1) / 2));
    }
}

TEST(ExecutorThreads, MeetOverNodesAndNetwork) {
    const topo::Placement placement = topo::Placement::round_robin(kRanks, 2);
    for (const char* name : {"adaptive", "adaptive_multicast"}) {
        run_ranks(placement, [&](Network& network, Bus& bus, node::Team team, uint32_t rank) {
            meet_often(network, bus, std::move(team), placement, rank,
                       *algo::find(TUTTI_ALLREDUCE, name));
        });
    }
}

}  // namespace
}  // namespace tutti::test
