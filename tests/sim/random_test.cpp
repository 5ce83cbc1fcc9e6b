// SPDX-License-Identifier: BSD-3-Clause
// Thousands of seeded interleavings of mixed collectives, compared with a direct computation.
#include <gtest/gtest.h>

#include <iterator>
#include <memory>

#include "base/collectives.h"
#include "lab/simulate/node_simulator.h"
#include "sim/mixed_calls.h"
#include "sim/script.h"
#include "sim/seeds.h"

namespace tutti::test {
namespace {

using simulate::NodeSimulator;
using simulate::SimTeam;

// In these some rank need not wait for others.
constexpr tutti_collective kOneWay[] = {TUTTI_BCAST,  TUTTI_SCATTER, TUTTI_REDUCE,
                                        TUTTI_GATHER, TUTTI_GATHERV, TUTTI_SCATTERV};

struct Plan {
    SimTeam team;
    Limits limits;
    uint32_t calls = 12;
    // One root and small payloads only, so that ranks run ahead as far as the slots let them.
    bool runs_ahead = false;
    uint32_t root = 0;
    uint32_t roots = 1;  // so many, drawn for each call: who has heard of one has not heard of all
    uint64_t row_kind = 0;
};

// Small chunks, so that pipelines have many rounds; a scatter needs a line for every rank in one.
Plan draw_plan(Prng& prng, uint32_t ranks_max, bool is_lean) {
    Plan plan;
    SimTeam& team = plan.team;
    team.ranks = static_cast<uint32_t>(1 + prng.below(ranks_max));
    const size_t least = node::kLineBytes * team.ranks;
    team.chunk_bytes = std::max<size_t>(least, size_t{64} << prng.below(6));
    if (prng.below(3) == 0) team.layout = random_tree(prng, team.ranks);
    team.rank_order = prng.below(4) == 0;
    for (const tutti_collective one : {TUTTI_REDUCE, TUTTI_ALLREDUCE}) {
        // Which is seldom the best for so few ranks.
        if (prng.below(2) == 0) team.named[one] = node::find(one, "turns");
    }
    plan.limits.ranks = team.ranks;
    plan.limits.chunk_bytes = team.chunk_bytes;
    plan.limits.bytes_max = std::min<size_t>(40 * team.chunk_bytes, 20'000);
    plan.runs_ahead = prng.below(3) == 0;
    plan.root = static_cast<uint32_t>(prng.below(team.ranks));
    plan.roots = static_cast<uint32_t>(1 + prng.below(std::min(2u, team.ranks)));
    plan.row_kind = prng.below(std::size(kOneWay));
    if (plan.runs_ahead) plan.calls = 40;
    plan.limits.keeps_order = team.layout.flat || team.rank_order;
    if (is_lean) {
        team.lean = simulate::SimLean{.teams = static_cast<uint32_t>(1 + prng.below(6)),
                                      .places = node::kChunksOut + prng.below(4)};
    }
    return plan;
}

Spec draw_call(const Plan& plan, Prng& prng) {
    Spec spec = draw_spec(prng, plan.limits);
    if (plan.runs_ahead) {
        // Long rows of one kind; now and then another brings the ranks together before the next
        // row.
        if (prng.below(12) != 0) spec.collective = kOneWay[plan.row_kind];
        const auto root = static_cast<uint32_t>(plan.root + prng.below(plan.roots));
        spec.root = spec.collective == TUTTI_BARRIER ? 0 : root % plan.team.ranks;
        spec.fold = Fold::kXorU64;
        spec.bytes = 8 * (1 + prng.below(prng.below(4) == 0 ? 128 : 4));
    }
    // The engine never starts an empty call.
    if (spec.bytes == 0 && spec.collective != TUTTI_BARRIER) spec = Spec{};
    return spec;
}

void run_seeds(Seeds seeds, uint32_t ranks_max, bool is_lean = false) {
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng prng(seed);
        const Plan plan = draw_plan(prng, ranks_max, is_lean);
        const std::string wrong =
            run_drawn(plan.team, plan.calls, seed, [&] { return draw_call(plan, prng); });
        ASSERT_EQ(wrong, "") << plan.team.ranks << " ranks, chunks of " << plan.team.chunk_bytes
                             << (plan.team.layout.flat ? ", flat" : ", tree") << replay(seed);
    }
}

TEST(Simulation, RandomMixed) { run_seeds(Seeds::wanted(1500), 8); }

TEST(Simulation, RandomMixedManyRanks) { run_seeds(Seeds::wanted(20), 64); }

// Several teams that share pools of hardly more chunks than one needs.
TEST(Simulation, RandomMixedOfLeanTeams) { run_seeds(Seeds::wanted(1500), 8, true); }

TEST(Simulation, RandomMixedOfLeanTeamsOfManyRanks) { run_seeds(Seeds::wanted(20), 64, true); }

// Beside and at what decides how a payload travels, by whole elements of the fold.
std::vector<size_t> edge_sizes(size_t chunk_bytes) {
    const size_t step = fold_bytes(Fold::kAffine);
    std::vector<size_t> sizes = {node::kLinePayloadBytes - 1, node::kLinePayloadBytes + 1};
    for (const size_t border : {node::kLinePayloadBytes, node::kInlineBytesMax, chunk_bytes}) {
        for (const size_t size : {border - step, border, border + step}) sizes.push_back(size);
    }
    for (const size_t border : {node::kInlineBytesMax, chunk_bytes}) {
        for (const size_t size : {border - 1, border + 1}) sizes.push_back(size);
    }
    return sizes;
}

// Some that every root has, and of the others all in a small team, in a large one two in turn.
std::vector<size_t> sizes_of_root(uint32_t ranks, uint32_t root, size_t chunk_bytes) {
    std::vector<size_t> sizes = {8, 1032};
    const std::vector<size_t> edges = edge_sizes(chunk_bytes);
    const size_t count = ranks <= 9 ? edges.size() : 2;
    for (size_t i = 0; i < count; ++i) sizes.push_back(edges[(2 * root + i) % edges.size()]);
    return sizes;
}

// Every root of teams up to 64 ranks, with a payload of each way of sending it.
void run_roots(uint32_t ranks, Prng& prng, bool is_tree, bool is_lean = false) {
    SimTeam team{.ranks = ranks, .chunk_bytes = 64 * std::max(4u, ranks), .layout = {}};
    if (is_tree) team.layout = random_tree(prng, ranks);
    if (is_lean) team.lean = simulate::SimLean{};
    NodeSimulator simulator(team, ranks);
    for (uint32_t root = 0; root < ranks; ++root) {
        std::vector<std::unique_ptr<Exchange>> exchanges;
        for (int kind = TUTTI_BCAST; kind < TUTTI_COLLECTIVE_COUNT; ++kind) {
            const auto collective = static_cast<tutti_collective>(kind);
            const bool folds = is_reduction(collective);
            for (const size_t bytes : sizes_of_root(ranks, root, team.chunk_bytes)) {
                if (folds && bytes % fold_bytes(Fold::kAffine) != 0) continue;
                exchanges.push_back(std::make_unique<Exchange>(
                    Spec{collective, root, bytes, Fold::kAffine, prng.next()}, ranks));
            }
        }
        for (const auto& exchange : exchanges) {
            for (uint32_t rank = 0; rank < ranks; ++rank) {
                simulator.add_call(rank, exchange->node_call(rank));
            }
        }
        const auto done = simulator.run();
        ASSERT_TRUE(done) << done.error().message << ", " << ranks << " ranks, root " << root;
        for (const auto& exchange : exchanges) ASSERT_EQ(exchange->check(), "");
    }
}

TEST(Simulation, EveryRoot) {
    Prng prng(1);
    for (const uint32_t ranks : {2u, 3u, 4u, 5u, 8u, 9u, 16u, 31u, 64u}) {
        run_roots(ranks, prng, false);
        run_roots(ranks, prng, true);
    }
    for (const uint32_t ranks : {2u, 5u, 16u}) {
        run_roots(ranks, prng, false, true);
        run_roots(ranks, prng, true, true);
    }
}

// The same seed is the same run, to the step and the nanosecond.
TEST(Simulation, SameSeedSameRun) {
    uint64_t steps[2] = {};
    uint64_t ends[2] = {};
    for (int run = 0; run < 2; ++run) {
        NodeSimulator simulator({.ranks = 5, .chunk_bytes = 512, .layout = {}}, 77);
        const Exchange exchange({TUTTI_ALLREDUCE, 0, 8000, Fold::kAffine, 3}, 5);
        for (uint32_t rank = 0; rank < 5; ++rank)
            simulator.add_call(rank, exchange.node_call(rank));
        ASSERT_TRUE(simulator.run());
        steps[run] = simulator.steps();
        ends[run] = simulator.clock().now_ns();
    }
    EXPECT_GT(steps[0], 5u);
    EXPECT_EQ(steps[0], steps[1]);
    EXPECT_EQ(ends[0], ends[1]);
}

// A rank that never comes: the simulator must say so instead of running for ever.
TEST(Simulation, NamesADeadlock) {
    NodeSimulator simulator({.ranks = 3, .chunk_bytes = 256, .layout = {}}, 42);
    simulator.add_call(0, node::Call{});
    simulator.add_call(2, node::Call{});
    const auto done = simulator.run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message,
              "seed 42: deadlock of ranks 0, 2 in barrier (call 1), barrier (call 1)");
}

}  // namespace
}  // namespace tutti::test
