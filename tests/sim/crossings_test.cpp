// SPDX-License-Identifier: BSD-3-Clause
// What crosses each level of a node of 2 sockets x 4 dies x 2 caches x 8 cores, in lines, as the
// real code touches them.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "lab/simulate/node_simulator.h"
#include "run/bootstrap/node_shape.h"
#include "run/node/detail.h"
#include "run/node/quick_tree.h"
#include "sim/line_trace.h"
#include "sim/script.h"

namespace tutti::test {
namespace {

constexpr uint32_t kRanks = 128;
constexpr size_t kChunkBytes = 4096;
constexpr uint32_t kSocketRanks = 64;
constexpr uint32_t kDieRanks = 16;
constexpr uint32_t kCacheRanks = 8;

simulate::SimTeam fat_team() {
    Settings settings;
    settings.node.topology = "pack:2 numa:4 l3:2 core:8";
    const std::vector<topo::CpuSet> cpus(kRanks);
    return {.ranks = kRanks,
            .chunk_bytes = kChunkBytes,
            .layout = bootstrap::tree_layout(
                bootstrap::encode_tree(bootstrap::rank_groups(settings, cpus), kRanks)),
            .tuning = {.pieces = {.bytes_max = kChunkBytes}}};
}

// Lines of payload that a rank touches in the area of another one, each once: over each way between
// the sockets, between dies, between caches, and all.
struct Crossings {
    size_t to_first = 0;
    size_t to_second = 0;
    size_t die = 0;
    size_t cache = 0;
    size_t all = 0;
    bool operator==(const Crossings&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Crossings& one) {
    return out << "{" << one.to_first << ", " << one.to_second << ", " << one.die << ", "
               << one.cache << ", " << one.all << "}";
}

// In slots and chunks.
Crossings count(const LineTrace& trace, const node::Slice& slice) {
    Crossings counted;
    for (const auto& [reader, line] : trace.touched()) {
        const size_t offset = line * node::kLineBytes - node::kPageBytes;
        const auto owner = static_cast<uint32_t>(offset / slice.geometry.rank_bytes);
        if (offset % slice.geometry.rank_bytes < slice.geometry.slots_offset) continue;
        ++counted.all;
        if (reader / kCacheRanks != owner / kCacheRanks) ++counted.cache;
        if (reader / kDieRanks != owner / kDieRanks) ++counted.die;
        if (reader / kSocketRanks == owner / kSocketRanks) continue;
        ++(reader < kSocketRanks ? counted.to_first : counted.to_second);
    }
    return counted;
}

// flags_ns: by distance, as measured.
Crossings crossings(tutti_collective collective, size_t bytes, uint32_t root = 0,
                    const char* name = nullptr, const std::vector<uint32_t>& flags_ns = {}) {
    simulate::SimTeam team = fat_team();
    node::Figures figures;
    for (size_t i = 0; i < flags_ns.size(); ++i) figures.pairs[i].flag_ns = flags_ns[i];
    node::follow_flags(team.layout, figures);
    if (name) team.named[collective] = node::find(collective, name);
    const simulate::SimSlice memory(kRanks, kChunkBytes);
    const node::Slice slice = memory.slice();
    const Exchange exchange({collective, root, bytes, Fold::kXorU64, 1}, kRanks);
    LineTrace trace(memory.bytes());
    std::vector<node::Team> ranks;
    std::vector<node::Op> ops(kRanks);
    std::vector<bool> is_done(kRanks);
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        ranks.push_back(sim_rank(team, memory, rank));
        sim_start(team, ranks[rank], ops[rank], exchange.node_call(rank));
    }
    for (int turn = 0; turn < 1000 && std::count(is_done.begin(), is_done.end(), false); ++turn) {
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            if (is_done[rank]) continue;
            const std::span own(slice.area(rank), slice.geometry.rank_bytes);
            trace.watch(rank, own,
                        [&] { is_done[rank] = node::step(ranks[rank], ops[rank]) == Step::kDone; });
        }
    }
    EXPECT_EQ(std::count(is_done.begin(), is_done.end(), false), 0);
    EXPECT_EQ(exchange.check(), "");
    return count(trace, slice);
}

class CrossingLines : public testing::Test {
  protected:
    void SetUp() override {
        if (const char* why = LineTrap::obstacle()) GTEST_SKIP() << why;
    }
};

// Of every tree over these groups: 2 sockets, 8 dies, 16 caches are so many edges less one.
Crossings up(size_t lines) { return {lines, 0, 7 * lines, 15 * lines, 127 * lines}; }
Crossings down(size_t lines) { return {0, lines, 7 * lines, 15 * lines, 127 * lines}; }
Crossings up_and_down(size_t lines) { return {lines, lines, 14 * lines, 30 * lines, 254 * lines}; }

constexpr size_t kLongestSlot = 1024;
constexpr size_t kLong = 4096;
constexpr size_t kLongLines = kLong / node::kLineBytes;

TEST_F(CrossingLines, ABarrierAndShortCallsCrossEachLevelOnceAWay) {
    EXPECT_EQ(crossings(TUTTI_BARRIER, 0), up_and_down(1));
    for (const size_t bytes : {size_t{8}, kLongestSlot}) {
        const size_t lines = node::slot_lines(bytes);
        EXPECT_EQ(crossings(TUTTI_BCAST, bytes), down(lines));
        EXPECT_EQ(crossings(TUTTI_REDUCE, bytes), up(lines));
        EXPECT_EQ(crossings(TUTTI_ALLREDUCE, bytes), up_and_down(lines));
    }
}

// Eight groups of 16: a rank reads those of its group below it, and the leaders before.
TEST_F(CrossingLines, AScanInGroupsReadsFewLines) {
    for (const tutti_collective one : {TUTTI_SCAN, TUTTI_EXSCAN}) {
        EXPECT_EQ(crossings(one, 8).all, 8 * (16 * 15 / 2) + 16 * (8 * 7 / 2u));
    }
    EXPECT_EQ(crossings(TUTTI_SCAN, 8, 0, "small").all, 128 * 127 / 2u);
}

TEST_F(CrossingLines, LongCallsToo) {
    EXPECT_EQ(crossings(TUTTI_BCAST, kLong), down(kLongLines));
    EXPECT_EQ(crossings(TUTTI_ALLREDUCE, kLong), up_and_down(kLongLines));
    // Seven of eight leaders have their shares fetched by the root, in their cache.
    Crossings reduce = up(kLongLines);
    reduce.all += kLongLines * 7 / 8;
    EXPECT_EQ(crossings(TUTTI_REDUCE, kLong), reduce);
}

// Another root hands to the tree's, or is handed to by it. A broadcast goes by way of the leader of
// the root's socket, 64, and crosses the link between the sockets once; a reduction's result once
// each way at most.
TEST_F(CrossingLines, WhateverTheRoot) {
    for (const auto& [bytes, lines] : {std::pair{size_t{8}, size_t{1}}, {kLong, kLongLines}}) {
        EXPECT_EQ(crossings(TUTTI_BCAST, bytes, 3), down(lines));
        EXPECT_EQ(crossings(TUTTI_BCAST, bytes, 77),
                  (Crossings{lines, 0, 7 * lines, 16 * lines, 127 * lines}));
        for (const uint32_t root : {3u, 77u}) {
            const size_t away = root < kSocketRanks ? 0 : lines;
            Crossings reduce{lines, away, 7 * lines + away, 15 * lines + away, 128 * lines};
            // Root 3 leads one share of eight itself.
            if (root == 3 && bytes == kLong) reduce.all -= lines / 8;
            EXPECT_EQ(crossings(TUTTI_REDUCE, bytes, root), reduce);
        }
    }
}

// Dies that flags do not tell apart are crossed where that makes the tree flatter, caches and the
// link between sockets as seldom as ever; what folds goes as before.
TEST_F(CrossingLines, AlongTheTreeThatFlagsWant) {
    const std::vector<uint32_t> flags_ns = {50, 220, 230, 400};
    for (const size_t bytes : {size_t{8}, kLongestSlot}) {
        const size_t lines = node::slot_lines(bytes);
        Crossings bcast = down(lines);
        bcast.die = 13 * lines;
        EXPECT_EQ(crossings(TUTTI_BCAST, bytes, 0, nullptr, flags_ns), bcast);
        EXPECT_EQ(crossings(TUTTI_ALLREDUCE, bytes, 0, nullptr, flags_ns), up_and_down(lines));
    }
    Crossings barrier = up_and_down(1);
    barrier.die = 26;
    EXPECT_EQ(crossings(TUTTI_BARRIER, 0, 0, nullptr, flags_ns), barrier);
    EXPECT_EQ(crossings(TUTTI_BCAST, kLong, 0, nullptr, flags_ns), down(kLongLines));
}

// Where everybody folds a share, each reads the shares of all: 64 times as much between sockets.
TEST_F(CrossingLines, AllWithAll) {
    const Crossings split = crossings(TUTTI_ALLREDUCE, kLong, 0, "split");
    EXPECT_EQ(split.to_first + split.to_second, 64 * 2 * kLongLines);
}

}  // namespace
}  // namespace tutti::test
