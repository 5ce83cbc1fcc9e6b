// SPDX-License-Identifier: BSD-3-Clause
// The table of node algorithms: which one runs a call, why another one cannot, and that each gives
// the right result wherever it may be named.
#include "run/node/node_algorithms.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/collectives.h"
#include "lab/simulate/node_simulator.h"
#include "sim/script.h"

namespace tutti::node {
namespace {

void user_operator(void*, const void*, void*, size_t) {}

struct Case {
    Rank ranks = 4;
    bool is_flat = true;
    bool keeps_order = false;
    bool is_users = false;
    size_t chunk_bytes = 16384;
    bool has_cores = false;
    Rank groups = 1;  // of a tree
};

// Eight under each.
Layout tree_of(Rank ranks, Rank groups = 1) {
    std::vector<Rank> parents(ranks, kNoRank), group_of(ranks, 0);
    for (Rank rank = 1; rank < ranks; ++rank) {
        parents[rank] = (rank - 1) / 8;
        group_of[rank] = rank * groups / ranks;
    }
    return make_tree(parents, group_of);
}

Team team_of(const Case& one) {
    Team team;
    team.size = one.ranks;
    if (!one.is_flat) team.layout = tree_of(one.ranks, one.groups);
    team.tuning.has_cores = one.has_cores;
    team.rank_order = one.keeps_order;
    team.slice.geometry = Geometry::make(one.ranks, one.chunk_bytes);
    return team;
}

Call call_of(tutti_collective collective, size_t bytes, const Case& one = {}) {
    Call call;
    call.collective = collective;
    call.bytes = bytes;
    call.reducer.element_bytes = 8;
    if (one.is_users) call.reducer.user_fn = user_operator;
    return call;
}

std::string chosen_name(tutti_collective collective, size_t bytes, const Case& one = {}) {
    return chosen(team_of(one), call_of(collective, bytes, one)).name;
}

std::string obstacle(tutti_collective collective, const char* name, size_t bytes,
                     const Case& one = {}) {
    const Algorithm* algorithm = find(collective, name);
    if (!algorithm) return "there is none";
    return std::string(algorithm->obstacle(team_of(one), call_of(collective, bytes, one)));
}

std::string names(tutti_collective collective) {
    std::string all;
    for (const Algorithm* one : algorithms(collective)) all += std::string(" ") + one->name;
    return all;
}

TEST(NodeAlgorithms, HaveNames) {
    EXPECT_EQ(names(TUTTI_BARRIER), " small tree");
    EXPECT_EQ(names(TUTTI_BCAST), " small tree pipeline single");
    EXPECT_EQ(names(TUTTI_REDUCE), " small tree direct split turns single");
    EXPECT_EQ(names(TUTTI_ALLREDUCE), " small tree direct split turns single");
    EXPECT_EQ(names(TUTTI_GATHER), " small pipeline single");
    EXPECT_EQ(names(TUTTI_SCATTER), " small pipeline single");
    EXPECT_EQ(names(TUTTI_ALLGATHER), " small pipeline single");
    EXPECT_EQ(names(TUTTI_REDUCE_SCATTER_BLOCK), " small split");
    EXPECT_EQ(names(TUTTI_ALLTOALL), " small pipeline single");
    EXPECT_EQ(names(TUTTI_SCAN), " small groups chain");
    EXPECT_EQ(names(TUTTI_EXSCAN), " small groups chain");
    for (const auto one : {TUTTI_GATHERV, TUTTI_SCATTERV, TUTTI_ALLTOALLV, TUTTI_ALLTOALLW}) {
        EXPECT_EQ(names(one), " blocks");
    }
    EXPECT_EQ(names(TUTTI_ALLGATHERV), " small pipeline");
    EXPECT_EQ(names(TUTTI_REDUCE_SCATTER), " small split");
    for (int i = 0; i < TUTTI_COLLECTIVE_COUNT; ++i) {
        const auto collective = static_cast<tutti_collective>(i);
        for (const Algorithm* one : algorithms(collective)) {
            EXPECT_EQ(find(collective, one->name), one);
        }
        EXPECT_EQ(find(collective, "ring"), nullptr);
    }
}

TEST(NodeAlgorithms, AreChosenBySizeAndTeam) {
    EXPECT_EQ(chosen_name(TUTTI_BARRIER, 0), "small");
    EXPECT_EQ(chosen_name(TUTTI_BARRIER, 0, {.is_flat = false}), "tree");
    EXPECT_EQ(chosen_name(TUTTI_BCAST, 1024), "small");
    EXPECT_EQ(chosen_name(TUTTI_BCAST, 1024, {.is_flat = false}), "tree");
    EXPECT_EQ(chosen_name(TUTTI_BCAST, 1025, {.is_flat = false}), "pipeline");
    EXPECT_EQ(chosen_name(TUTTI_ALLREDUCE, 8, {.is_flat = false}), "tree");
    EXPECT_EQ(chosen_name(TUTTI_ALLREDUCE, 8, {.is_flat = false, .keeps_order = true}), "small");
    EXPECT_EQ(chosen_name(TUTTI_ALLREDUCE, 8, {.is_flat = false, .is_users = true}), "small");
    EXPECT_EQ(chosen_name(TUTTI_ALLREDUCE, 8192), "direct");
    EXPECT_EQ(chosen_name(TUTTI_ALLREDUCE, 8200), "split");
    EXPECT_EQ(chosen_name(TUTTI_ALLREDUCE, 8192, {.chunk_bytes = 4096}), "split");
    EXPECT_EQ(chosen_name(TUTTI_ALLREDUCE, 65536, {.ranks = 2}), "split");
    EXPECT_EQ(chosen_name(TUTTI_REDUCE, 65536, {.ranks = 3}), "direct");
    EXPECT_EQ(chosen_name(TUTTI_REDUCE, 65536, {.ranks = 4}), "split");
    for (const tutti_collective one : {TUTTI_GATHER, TUTTI_SCATTER, TUTTI_ALLGATHER}) {
        EXPECT_EQ(chosen_name(one, 1024, {.is_flat = false}), "small");
        EXPECT_EQ(chosen_name(one, 1025, {.is_flat = false}), "pipeline");
    }
    EXPECT_EQ(chosen_name(TUTTI_REDUCE_SCATTER_BLOCK, 256, {.is_flat = false}), "small");
    EXPECT_EQ(chosen_name(TUTTI_REDUCE_SCATTER_BLOCK, 264), "split");
    EXPECT_EQ(chosen_name(TUTTI_REDUCE_SCATTER_BLOCK, 1032), "split");
    EXPECT_EQ(chosen_name(TUTTI_ALLTOALL, 341, {.is_flat = false}), "small");
    EXPECT_EQ(chosen_name(TUTTI_ALLTOALL, 342), "pipeline");
    for (const auto one : {TUTTI_SCAN, TUTTI_EXSCAN}) {
        EXPECT_EQ(chosen_name(one, 1024), "small");
        EXPECT_EQ(chosen_name(one, 1024, {.is_flat = false}), "groups");
        EXPECT_EQ(chosen_name(one, 1024, {.is_flat = false, .keeps_order = true}), "small");
        EXPECT_EQ(chosen_name(one, 1032, {.is_flat = false}), "chain");
    }
    EXPECT_EQ(chosen_name(TUTTI_ALLREDUCE, 8, {.ranks = 1}), "alone");
    EXPECT_EQ(chosen_name(TUTTI_ALLGATHERV, 1024, {.is_flat = false}), "small");
    EXPECT_EQ(chosen_name(TUTTI_ALLGATHERV, 1025), "pipeline");
    for (const size_t bytes : {0, 8, 1 << 20}) {
        EXPECT_EQ(chosen_name(TUTTI_ALLTOALLV, bytes), "blocks");
    }
    // One slot holds all blocks, whatever the longest is.
    const uint64_t bytes[] = {1000, 0, 24, 0}, offsets[] = {0, 1000, 1000, 1024};
    const uint64_t more[] = {1000, 0, 24, 8};
    for (const auto& [lengths, name] : {std::pair(bytes, "small"), {more, "split"}}) {
        Call call = call_of(TUTTI_REDUCE_SCATTER, 1000);
        const tutti_blocks blocks{lengths, offsets, nullptr, nullptr};
        call.blocks = &blocks;
        EXPECT_STREQ(chosen(team_of({}), call).name, name);
    }
}

// Another meeting costs less than that all read all, where nobody waits for a processor.
TEST(NodeAlgorithms, AllreducesLeaveTheSlotsSoonerWhereRanksHaveCores) {
    const auto runs = [](Rank ranks, bool is_flat, std::vector<size_t> bytes) {
        std::string names;
        for (const size_t one : bytes) {
            const Case of{.ranks = ranks, .is_flat = is_flat, .has_cores = is_flat};
            names += chosen_name(TUTTI_ALLREDUCE, one, of) + " ";
        }
        return names;
    };
    EXPECT_EQ(runs(2, true, {1024, 1025, 16384, 16385}), "small direct direct split ");
    EXPECT_EQ(runs(8, true, {320, 328, 682, 683, 1024}), "small direct direct split split ");
    EXPECT_EQ(runs(10, false, {160, 168, 512, 513, 1024}), "tree direct direct split split ");
    EXPECT_EQ(runs(16, false, {256, 264, 292, 293, 1024}), "tree direct direct split split ");
    EXPECT_EQ(runs(17, false, {1024}), "tree ");
    const Case apart{.ranks = 16, .is_flat = false, .groups = 2};
    EXPECT_EQ(chosen_name(TUTTI_ALLREDUCE, 1024, apart), "tree");
    const Case ordered{.ranks = 16, .is_flat = false, .keeps_order = true};
    EXPECT_EQ(chosen_name(TUTTI_ALLREDUCE, 160, ordered), "small");
    EXPECT_EQ(chosen_name(TUTTI_ALLREDUCE, 1024, ordered), "split");
    const Case users{.ranks = 16, .is_flat = false, .is_users = true};
    EXPECT_EQ(chosen_name(TUTTI_ALLREDUCE, 1024, users), "small");
}

TEST(NodeAlgorithms, AReduceInOneGroupIsQuickerFlat) {
    const auto name = [](Rank ranks, Rank groups, size_t bytes) {
        return chosen_name(TUTTI_REDUCE, bytes,
                           {.ranks = ranks, .is_flat = false, .groups = groups});
    };
    EXPECT_EQ(name(16, 1, 1024), "small");
    EXPECT_EQ(name(16, 2, 1024), "tree");
    EXPECT_EQ(name(17, 1, 8), "tree");
}

// By weight: the more ranks, the more it costs that each has to do with all.
TEST(NodeAlgorithms, LeadersTakeTurnsWhereThatWeighsLess) {
    const Case many{.ranks = 128, .is_flat = false, .chunk_bytes = 65536};
    for (const tutti_collective one : {TUTTI_REDUCE, TUTTI_ALLREDUCE}) {
        EXPECT_EQ(chosen_name(one, 1024, many), "tree");
        for (const size_t bytes : {1025, 65535, 65536, 65537, 1 << 20, 16 << 20}) {
            EXPECT_EQ(chosen_name(one, bytes, many), "turns") << bytes;
            Case other = many;
            other.is_flat = true;
            EXPECT_EQ(chosen_name(one, bytes, other), "split") << bytes;
            other = many;
            other.keeps_order = true;
            EXPECT_EQ(chosen_name(one, bytes, other), "split") << bytes;
            other = many;
            other.is_users = true;
            EXPECT_EQ(chosen_name(one, bytes, other), "split") << bytes;
        }
    }
    // What tuning makes of the same team changes no order of operands.
    Team team = team_of(many);
    const Call call = call_of(TUTTI_ALLREDUCE, 100'000, many);
    const Algorithm& turns = *find(TUTTI_ALLREDUCE, "turns");
    const Rank leaders = planned(team, call, turns).turns;
    EXPECT_EQ(leaders, team.layout.turns_max);
    for (const uint32_t piece : {2048, 65536}) {
        team.tuning.pieces = {.count = 2, .bytes_min = piece, .bytes_max = piece};
        EXPECT_EQ(&chosen(team, call), &turns);
        EXPECT_EQ(planned(team, call, turns).turns, leaders);
    }
    team.tuning.single_all_ways = 0;
    EXPECT_EQ(&chosen(team, call), &turns);
    team.layout = {};
    EXPECT_EQ(std::string(chosen(team, call).name), "single");
}

TEST(NodeAlgorithms, SayWhyTheyCannotRun) {
    const Case tree{.ranks = 16, .is_flat = false};
    const Case ordered{.ranks = 16, .is_flat = false, .keeps_order = true};
    const Case users{.ranks = 16, .is_flat = false, .is_users = true};
    const std::string none = "needs a tree, and the ranks meet all with all";
    EXPECT_EQ(obstacle(TUTTI_BARRIER, "tree", 0, {.ranks = 2}), none);
    EXPECT_EQ(obstacle(TUTTI_ALLREDUCE, "tree", 8, {.ranks = 2}), none);
    EXPECT_EQ(obstacle(TUTTI_BARRIER, "tree", 0, ordered), "");
    EXPECT_EQ(obstacle(TUTTI_BCAST, "tree", 8, ordered), "");
    EXPECT_EQ(obstacle(TUTTI_BCAST, "tree", 1025, tree), "holds up to 1 KiB");
    EXPECT_EQ(obstacle(TUTTI_REDUCE, "tree", 8, tree), "");
    EXPECT_EQ(obstacle(TUTTI_REDUCE, "tree", 8, ordered),
              "folds group by group, TUTTI_REPRODUCIBLE by rank");
    EXPECT_EQ(obstacle(TUTTI_REDUCE, "tree", 8, users),
              "folds group by group: predefined operators only");
    EXPECT_EQ(obstacle(TUTTI_ALLREDUCE, "small", 1024, users), "");
    EXPECT_EQ(obstacle(TUTTI_ALLREDUCE, "small", 1025), "holds up to 1 KiB");
    EXPECT_EQ(obstacle(TUTTI_ALLREDUCE, "direct", 16384), "");
    EXPECT_EQ(obstacle(TUTTI_ALLREDUCE, "direct", 16385), "holds up to a chunk (TUTTI_CHUNK)");
    EXPECT_EQ(obstacle(TUTTI_REDUCE, "direct", 1 << 20), "");
    EXPECT_EQ(obstacle(TUTTI_ALLREDUCE, "split", 8), "");
    EXPECT_EQ(obstacle(TUTTI_ALLREDUCE, "turns", 1 << 20, tree), "");
    EXPECT_EQ(obstacle(TUTTI_ALLREDUCE, "turns", 1 << 20), none);
    EXPECT_EQ(obstacle(TUTTI_REDUCE, "turns", 1 << 20, ordered),
              "folds group by group, TUTTI_REPRODUCIBLE by rank");
    EXPECT_EQ(obstacle(TUTTI_REDUCE, "turns", 1 << 20, users),
              "folds group by group: predefined operators only");
    EXPECT_EQ(obstacle(TUTTI_SCAN, "groups", 1024, users), "");
    EXPECT_EQ(obstacle(TUTTI_SCAN, "groups", 1025, tree), "holds up to 1 KiB");
    EXPECT_EQ(obstacle(TUTTI_EXSCAN, "groups", 8, ordered),
              "folds group by group, TUTTI_REPRODUCIBLE by rank");
    EXPECT_EQ(obstacle(TUTTI_GATHER, "pipeline", 1024), "is for more than 1 KiB");
    EXPECT_EQ(obstacle(TUTTI_SCATTER, "pipeline", 1025), "");
    EXPECT_EQ(obstacle(TUTTI_ALLGATHER, "pipeline", 8), "");
}

// What is chosen can run, whatever the call and the team.
TEST(NodeAlgorithms, NeverChooseWhatCannotRun) {
    for (int i = 0; i < TUTTI_COLLECTIVE_COUNT; ++i) {
        const auto collective = static_cast<tutti_collective>(i);
        for (const Rank ranks : {2u, 3u, 4u, 9u}) {
            for (int bits = 0; bits < 8; ++bits) {
                const Case one{ranks, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, 4096};
                for (const size_t bytes : {8, 1024, 1032, 4096, 8192, 1 << 20}) {
                    const Call call = call_of(collective, has_data(collective) ? bytes : 0, one);
                    const Algorithm& found = chosen(team_of(one), call);
                    EXPECT_EQ(found.obstacle(team_of(one), call), "") << i << " " << found.name;
                }
            }
        }
    }
}

test::Spec spec_of(tutti_collective collective, Rank ranks, size_t bytes, uint64_t seed) {
    test::Spec spec;
    spec.collective = collective;
    spec.bytes = has_data(collective) ? bytes : 0;
    spec.root = has_root(collective) ? static_cast<Rank>(seed % ranks) : 0;
    spec.fold = test::Fold::kXorU64;
    spec.seed = seed;
    return spec;
}

// Every algorithm by its name, at every size that it can run, one call after the other on a team:
// ranks interleaved by seed.
TEST(NodeAlgorithms, GiveTheRightResultWhereTheyAreNamed) {
    for (int i = 0; i < TUTTI_COLLECTIVE_COUNT; ++i) {
        const auto collective = static_cast<tutti_collective>(i);
        for (const Algorithm* named : algorithms(collective)) {
            for (const Rank ranks : {2u, 3u, 5u, 9u}) {
                for (const bool is_flat : {true, false}) {
                    simulate::SimTeam shape;
                    shape.ranks = ranks;
                    shape.chunk_bytes = 4096;
                    shape.named[collective] = named;
                    Prng prng(ranks);
                    while (!is_flat && shape.layout.flat) {
                        shape.layout = test::random_tree(prng, ranks);
                    }
                    simulate::NodeSimulator simulator(shape, ranks);
                    std::vector<std::unique_ptr<test::Exchange>> calls;
                    for (const size_t bytes : {8, 56, 64, 1024, 1032, 4096, 12288, 40000}) {
                        const auto spec = spec_of(collective, ranks, bytes, calls.size());
                        calls.push_back(std::make_unique<test::Exchange>(spec, ranks));
                        for (Rank rank = 0; rank < ranks; ++rank) {
                            simulator.add_call(rank, calls.back()->node_call(rank));
                        }
                    }
                    const auto done = simulator.run();
                    ASSERT_TRUE(done) << done.error().message;
                    for (const auto& one : calls) {
                        EXPECT_EQ(one->check(), "") << named->name << ", " << ranks << " ranks";
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace tutti::node
