// SPDX-License-Identifier: BSD-3-Clause
// For two and three ranks, every interleaving of their steps ends, and ends right.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "sim/explorer.h"

namespace tutti::test {
namespace {

using simulate::SimTeam;

constexpr size_t kStatesMax = 400'000;
// Payload beside the flag (one line, several lines), and through rings of chunks.
constexpr size_t kOneLine = 8;
constexpr size_t kLines = 200;
constexpr size_t kChunks = 1200;
// A simulated rank's ring has so many chunks.
constexpr size_t kRingChunks = 8;

size_t explored = 0;

void explore(const SimTeam& team, std::vector<Spec> script, std::vector<uint32_t> teams = {}) {
    for (Spec& spec : script) {
        // A block for each rank: few rounds, as of the others.
        const Collective& what = facts(spec.collective);
        const bool has_all = what.input.holds == Holds::kAll && !has_root(what);
        if (has_all && team.ranks > 2) {
            spec.bytes = std::min(spec.bytes, team.chunk_bytes / 2 / 8 * 8);
        }
        // Each rank writes and reads, and copies a block of its own beside that: still more than a
        // ring holds.
        if (is_between_all(what)) {
            spec.bytes = std::min(spec.bytes, (node::kChunkCountMin + 1) * team.chunk_bytes);
        }
    }
    Explorer explorer(team, script, std::move(teams));
    const std::string wrong = explorer.explore(kStatesMax);
    explored += explorer.states();
    std::string names;
    for (const Spec& spec : script) names += describe(spec) + "; ";
    ASSERT_EQ(wrong, "") << team.ranks << " ranks, chunks of " << team.chunk_bytes
                         << (team.layout.flat ? ", flat: " : ", tree: ") << names;
    ASSERT_GE(explorer.ends(), 1u) << names;
}

std::vector<tutti_collective> all_kinds() {
    std::vector<tutti_collective> all;
    for (int kind = 0; kind < TUTTI_COLLECTIVE_COUNT; ++kind) {
        all.push_back(static_cast<tutti_collective>(kind));
    }
    return all;
}

// Without those that move as others do, as alltoallv and reduce_scatter_block.
std::vector<tutti_collective> kinds() {
    std::vector<tutti_collective> all = all_kinds();
    std::erase(all, TUTTI_ALLTOALLW);
    std::erase(all, TUTTI_REDUCE_SCATTER);
    return all;
}

std::vector<uint32_t> roots(tutti_collective kind, uint32_t ranks) {
    std::vector<uint32_t> all;
    for (uint32_t root = 0; root < (has_root(kind) ? ranks : 1); ++root) all.push_back(root);
    return all;
}

// Parents by rank.
SimTeam tree(const std::vector<uint32_t>& parents, size_t chunk_bytes) {
    return {.ranks = static_cast<uint32_t>(parents.size()),
            .chunk_bytes = chunk_bytes,
            .layout = node::make_tree(parents, std::vector<uint32_t>(parents.size(), 0))};
}

// The same, whose leaders take turns in reductions.
SimTeam in_turns(SimTeam team) {
    for (const tutti_collective one : {TUTTI_REDUCE, TUTTI_ALLREDUCE}) {
        team.named[one] = node::find(one, "turns");
    }
    return team;
}

SimTeam flat(uint32_t ranks, size_t chunk_bytes) {
    return {.ranks = ranks, .chunk_bytes = chunk_bytes, .layout = {}};
}

// All teams that the tests below try for so many ranks.
std::vector<SimTeam> teams(uint32_t ranks, size_t chunk_bytes) {
    constexpr uint32_t kTop = node::kNoRank;
    if (ranks == 2) {
        return {flat(2, chunk_bytes), tree({kTop, 0}, chunk_bytes), tree({1, kTop}, chunk_bytes)};
    }
    return {flat(3, chunk_bytes), tree({kTop, 0, 0}, chunk_bytes), tree({1, kTop, 0}, chunk_bytes)};
}

void explore_single(uint32_t ranks, size_t chunk_bytes, Fold fold) {
    for (const SimTeam& team : teams(ranks, chunk_bytes)) {
        for (const tutti_collective kind : ranks == 2 ? all_kinds() : kinds()) {
            for (const uint32_t root : roots(kind, ranks)) {
                for (const size_t bytes : {kOneLine, kLines, kChunks}) {
                    explore(team, {{kind, root, bytes, fold, bytes + root}});
                }
            }
        }
    }
}

TEST(EveryInterleaving, OneCallOfTwo) {
    explore_single(2, 128, Fold::kAffine);
    explore_single(2, 128, Fold::kXorU64);
    explore_single(2, 512, Fold::kSumU32);
}

// Long enough that writers wait for readers twice around the ring.
TEST(EveryInterleaving, LongCallsOfTwo) {
    for (const SimTeam& team : teams(2, 128)) {
        for (const tutti_collective kind : kinds()) {
            for (const uint32_t root : roots(kind, 2)) {
                explore(team, {{kind, root, 5 * kRingChunks / 2 * 128, Fold::kXorU64, 1}});
            }
        }
    }
}

TEST(EveryInterleaving, OneCallOfThree) {
    explore_single(3, 192, Fold::kAffine);
    explore_single(3, 512, Fold::kXorU64);
}

// Whose operators need not commute.
TEST(EveryInterleaving, ScansInGroups) {
    for (const tutti_collective kind : {TUTTI_SCAN, TUTTI_EXSCAN}) {
        for (const uint32_t ranks : {2u, 3u}) {
            SimTeam team = flat(ranks, 192);
            team.named[kind] = node::find(kind, "groups");
            for (const size_t bytes : {kOneLine, kLines}) {
                explore(team, {{kind, 0, bytes, Fold::kAffine, bytes},
                               {kind, 0, bytes, Fold::kXorU64, bytes + 1}});
            }
        }
    }
}

// The same calls of lean teams.
SimTeam lean(SimTeam team, uint32_t teams) {
    team.lean = simulate::SimLean{.teams = teams};
    return team;
}

TEST(EveryInterleaving, OneCallOfALeanTeam) {
    for (const uint32_t ranks : {2u, 3u}) {
        for (const SimTeam& team : teams(ranks, 64 * ranks)) {
            for (const tutti_collective kind : kinds()) {
                for (const uint32_t root : roots(kind, ranks)) {
                    for (const size_t bytes : {kOneLine, kLines, size_t{600}}) {
                        explore(lean(team, 1), {{kind, root, bytes, Fold::kXorU64, bytes + root}});
                    }
                }
            }
        }
    }
}

// Calls of two lean teams in turn, on pools of no more chunks than one call fills.
TEST(EveryInterleaving, PairsOfTwoLeanTeams) {
    const size_t fills = kRingChunks * 128;
    for (const SimTeam& team : {flat(2, 128), tree({1, node::kNoRank}, 128)}) {
        for (const tutti_collective first : kinds()) {
            for (const tutti_collective second : kinds()) {
                const uint32_t root = has_root(second) ? 1 : 0;
                explore(lean(team, 2),
                        {{first, 0, fills, Fold::kXorU64, 1},
                         {second, root, fills / 2, Fold::kXorU64, 2},
                         {first, 0, kOneLine, Fold::kXorU64, 3}},
                        {0, 1, 0});
            }
        }
    }
}

// With one, two and three leaders, and readers of one round who are none of the next.
TEST(EveryInterleaving, LeadersTakeTurns) {
    constexpr uint32_t kTop = node::kNoRank;
    for (const auto& parents : std::vector<std::vector<uint32_t>>{
             {kTop, 0}, {1, kTop}, {kTop, 0, 0}, {1, kTop, 0}, {2, 2, kTop}}) {
        const auto ranks = static_cast<uint32_t>(parents.size());
        for (const tutti_collective kind : {TUTTI_REDUCE, TUTTI_ALLREDUCE}) {
            for (const uint32_t root : roots(kind, ranks)) {
                const SimTeam team = in_turns(tree(parents, 192));
                for (const size_t bytes : {kOneLine, kChunks - 8, kChunks}) {
                    explore(team, {{kind, root, bytes, Fold::kXorU64, bytes}});
                }
                // After each other, with another root.
                explore(team, {{kind, root, kLines, Fold::kXorU64, 1},
                               {TUTTI_REDUCE, ranks - 1, kLines, Fold::kXorU64, 2},
                               {TUTTI_ALLREDUCE, 0, kLines, Fold::kXorU64, 3}});
            }
            // Twice around the ring.
            if (ranks == 2) {
                explore(in_turns(tree(parents, 128)),
                        {{kind, 1, 5 * kRingChunks / 2 * 128, Fold::kXorU64, 1}});
            }
        }
    }
}

// One call after another: what the first left in slots, chunks and counters meets the second.
void explore_pairs(const SimTeam& team, size_t first_bytes, size_t second_bytes) {
    for (const tutti_collective first : kinds()) {
        for (const tutti_collective second : kinds()) {
            if (first == second) continue;
            const uint32_t root = has_root(second) ? team.ranks - 1 : 0;
            explore(team, {{first, 0, first_bytes, Fold::kAffine, 1},
                           {second, root, second_bytes, Fold::kXorU64, 2}});
        }
    }
}

TEST(EveryInterleaving, PairsOfTwo) {
    for (const SimTeam& team : teams(2, 256)) {
        for (const size_t first : {kOneLine, kChunks}) {
            for (const size_t second : {kLines, kChunks}) explore_pairs(team, first, second);
        }
        // The first call leaves the ring of chunks full.
        explore_pairs(team, kRingChunks * team.chunk_bytes, kChunks);
    }
}

TEST(EveryInterleaving, PairsOfThree) {
    for (const SimTeam& team : teams(3, 512)) {
        explore_pairs(team, kOneLine, kLines);
        explore_pairs(team, kOneLine, kChunks);
        explore_pairs(team, kChunks, kOneLine);
    }
}

// More calls in a row than there are slots, so that every guard of reuse is reached; roots change,
// so that the roles of reader and writer do too.
void explore_wrap(const SimTeam& team, size_t bytes, size_t calls) {
    for (const tutti_collective kind : kinds()) {
        for (const bool rotates : {false, true}) {
            std::vector<Spec> script;
            for (size_t i = 0; i < calls; ++i) {
                const auto root = static_cast<uint32_t>(rotates ? i % team.ranks : 0);
                script.push_back({kind, has_root(kind) ? root : 0, bytes, Fold::kXorU64, i});
            }
            explore(team, script);
        }
    }
}

TEST(EveryInterleaving, SlotsAreUsedAgainByTwo) {
    for (const SimTeam& team : teams(2, 128)) explore_wrap(team, kOneLine, node::kSlotCount + 3);
}

TEST(EveryInterleaving, SpareLinesAreUsedAgainByTwo) {
    for (const SimTeam& team : teams(2, 128)) {
        explore_wrap(team, kOneLine, simulate::kSimSpareCount + 3);
    }
}

TEST(EveryInterleaving, SlotsAreUsedAgainByThree) {
    for (const SimTeam& team : teams(3, 192)) explore_wrap(team, kOneLine, node::kSlotCount + 2);
}

// Broadcasts along a chain of ranks 1, 0 and 2 in two halves, of which 0 leads the one of 2: from
// there they go to 0 first, which is read by 1.
TEST(EveryInterleaving, BroadcastsByWayOfTheirLanding) {
    SimTeam team = tree({1, node::kNoRank, 0}, 192);
    team.layout.bridge = 0;
    for (const uint32_t root : roots(TUTTI_BCAST, team.ranks)) {
        // Twice around the ring, too.
        for (const size_t bytes : {kOneLine, kLines, kChunks, 2 * kRingChunks * team.chunk_bytes}) {
            explore(team, {{TUTTI_BCAST, root, bytes, Fold::kXorU64, 1}});
        }
        for (const tutti_collective other : kinds()) {
            const Spec next{other, 0, kOneLine, Fold::kXorU64, 2};
            explore(team, {{TUTTI_BCAST, root, kLines, Fold::kXorU64, 1}, next});
            explore(team, {{TUTTI_BCAST, root, kChunks, Fold::kXorU64, 1}, next});
            explore(team, {next, {TUTTI_BCAST, root, kLines, Fold::kXorU64, 1}});
        }
    }
    std::vector<Spec> script;
    for (uint32_t i = 0; i < node::kSlotCount + 2; ++i) {
        script.push_back({TUTTI_BCAST, (i + 2) % team.ranks, kOneLine, Fold::kXorU64, i});
    }
    explore(team, script);
}

// Calls that fold go along a chain, those that do not along a star, one after the other.
TEST(EveryInterleaving, TwoTreesInTurn) {
    SimTeam team = tree({node::kNoRank, 0, 1}, 192);
    team.layout.quick = std::make_shared<const node::Tree>(node::tree_from({node::kNoRank, 0, 0}));
    constexpr tutti_collective kAlongTrees[] = {TUTTI_BARRIER, TUTTI_BCAST, TUTTI_REDUCE,
                                                TUTTI_ALLREDUCE};
    const auto spec = [](tutti_collective kind, uint32_t root, size_t bytes) {
        return Spec{kind, has_root(kind) ? root : 0, bytes, Fold::kXorU64, 1};
    };
    for (const uint32_t bridge : {node::kNoRank, 1u}) {
        team.layout.bridge = bridge;
        for (const tutti_collective first : kAlongTrees) {
            for (const tutti_collective second : kAlongTrees) {
                const bool has_bcast = first == TUTTI_BCAST || second == TUTTI_BCAST;
                if (bridge != node::kNoRank && !has_bcast) continue;
                for (const uint32_t root : {0u, 2u}) {
                    explore(team, {spec(first, root, kOneLine), spec(second, root, kOneLine)});
                }
                explore(team, {spec(first, 2, kLines), spec(second, 2, kOneLine)});
            }
        }
    }
    std::vector<Spec> script;
    for (uint32_t i = 0; i < node::kSlotCount + 2; ++i) {
        script.push_back(spec(i % 2 == 0 ? TUTTI_BCAST : TUTTI_REDUCE, i % 3, kOneLine));
    }
    explore(team, script);
}

// After a call in which all have heard of each other, one side runs ahead as far as it may: what
// the others still read of that call must not be overwritten.
TEST(EveryInterleaving, RunningAheadAfterMeeting) {
    for (const uint32_t ranks : {2u, 3u}) {
        // Of three, so many that slots are used again: of spare lines there are too many for it.
        const uint64_t calls = (ranks == 2 ? simulate::kSimSpareCount : node::kSlotCount) + 2;
        for (const SimTeam& team : teams(ranks, 256)) {
            for (const tutti_collective meeting :
                 {TUTTI_BARRIER, TUTTI_ALLREDUCE, TUTTI_ALLGATHER}) {
                for (const tutti_collective ahead : {TUTTI_BCAST, TUTTI_REDUCE}) {
                    std::vector<Spec> script(calls, {ahead, 0, kOneLine, Fold::kXorU64, 1});
                    script[0] = {meeting, 0, kLines, Fold::kXorU64, 2};
                    explore(team, script);
                }
            }
        }
    }
}

TEST(EveryInterleaving, ChunksAreUsedAgainByTwo) {
    for (const SimTeam& team : teams(2, 256)) explore_wrap(team, kChunks, 4);
}

// Other collectives between those with the same slot: the guards must hold for all of them alike.
TEST(EveryInterleaving, SlotsAreUsedAgainByOthers) {
    for (const SimTeam& team : teams(2, 256)) {
        std::vector<Spec> script;
        for (uint32_t i = 0; i < node::kSlotCount + 3; ++i) {
            const auto kind = static_cast<tutti_collective>((i * 4 + 1) % TUTTI_COLLECTIVE_COUNT);
            script.push_back({kind, has_root(kind) ? i % 2 : 0, i % 5 == 4 ? kChunks : kOneLine,
                              Fold::kXorU64, i});
        }
        explore(team, script);
    }
}

TEST(EveryInterleaving, WasMany) {
    // The state space must not collapse unnoticed, as it would if a step did everything.
    explored = 0;
    explore(flat(2, 128), {{TUTTI_GATHER, 0, kChunks, Fold::kSumU32, 1}});
    EXPECT_GT(explored, 50u);
    RecordProperty("states", static_cast<int>(explored));
}

}  // namespace
}  // namespace tutti::test
