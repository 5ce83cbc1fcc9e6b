// SPDX-License-Identifier: BSD-3-Clause
// Vector forms whose lengths only pairs of ranks know: proved for blocks of any lengths, wherever
// they stand, and counted. Lengths are drawn by seed; many are 0.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/prng.h"
#include "base/topo/placement.h"
#include "lab/check/count.h"
#include "lab/check/pair_blocks.h"
#include "lab/check/prove.h"
#include "plan/algo/plan.h"
#include "plan/sched/bundle_rules.h"
#include "property/shapes.h"

namespace tutti::algo {
namespace {

using check::PairBlocks;

// Of one call.
struct Sums {
    uint64_t messages = 0;
    uint64_t bytes = 0;
    bool operator==(const Sums&) const = default;
};

// A message for each piece of each block that goes to another rank.
Sums expected(const PairBlocks& blocks, uint64_t piece_bytes) {
    Sums sums;
    for (Rank from = 0; from < blocks.ranks(); ++from) {
        for (Rank to = 0; to < blocks.ranks(); ++to) {
            if (from == to) continue;
            const uint64_t bytes = blocks.bytes(from, to);
            sums.messages += (bytes + piece_bytes - 1) / piece_bytes;
            sums.bytes += bytes;
        }
    }
    return sums;
}

void prove_or_say(const Algorithm& algorithm, const Shape& shape, const PairBlocks& blocks,
                  const Tuning& tuning) {
    const auto programs = make_all(algorithm, shape, tuning);
    const topo::Placement apart = topo::Placement::blocks(shape.ranks, shape.ranks);
    const check::Faults faults = check::prove(shape, apart, programs, {}, &blocks);
    for (const std::string& line : faults.lines) ADD_FAILURE() << line;
    Sums sums;
    for (const auto& program : programs) {
        const check::Count one = check::count(*program);
        sums.messages += one.messages_sent;
        sums.bytes += one.bytes_sent;
        EXPECT_EQ(program->extent().scratch_bytes, 0U);
    }
    const uint64_t piece = tuning.segment_bytes == 0 ? sched::kBlockBytesMax : tuning.segment_bytes;
    EXPECT_EQ(sums, expected(blocks, piece));
    if (!testing::Test::HasFailure()) return;
    FAIL() << shape.ranks << " ranks, root " << shape.root << ", fan-in " << tuning.fan_in
           << ", pieces of " << tuning.segment_bytes;
}

std::vector<const Algorithm*> with_private_lengths() {
    std::vector<const Algorithm*> some;
    for (const Algorithm& one : algorithms()) {
        if (has_private_lengths(one.collective)) some.push_back(&one);
    }
    return some;
}

std::vector<Tuning> tunings_of(const Algorithm& algorithm) {
    std::vector<Tuning> all(1);
    if (algorithm.has_fan_in) {
        for (const uint32_t fan_in : {1U, 3U, 4294967295U}) all.push_back({.fan_in = fan_in});
    }
    if (algorithm.has_pieces) {
        for (const uint64_t bytes : {5U, 40U}) all.push_back({.segment_bytes = bytes});
    }
    return all;
}

class PrivateLengths : public testing::TestWithParam<const Algorithm*> {
  protected:
    [[nodiscard]] const Algorithm& algorithm() const { return *GetParam(); }
    [[nodiscard]] Shape shape_of(Rank p, Rank root, uint64_t bytes) const {
        return {.collective = algorithm().collective, .ranks = p, .root = root, .bytes = bytes};
    }
};

// Each root and tuning in turn. Where all send to all, up to 65 ranks; an alltoallw has the code of
// an alltoallv.
TEST_P(PrivateLengths, EveryNumberOfRanks) {
    Prng prng(43);
    const std::vector<Tuning> tunings = tunings_of(algorithm());
    Rank p_max = is_between_all(algorithm().collective) ? 65 : 257;
    if (algorithm().collective == TUTTI_ALLTOALLW) p_max = 17;
    uint64_t turn = 0;
    for (const Rank p : rank_counts()) {
        if (p > p_max) continue;
        for (const Rank root : roots(algorithm().collective, p)) {
            const Shape shape = shape_of(p, root, 100);
            ASSERT_NO_FATAL_FAILURE(prove_or_say(algorithm(), shape, draw_blocks(shape, prng),
                                                 tunings[turn++ % tunings.size()]));
        }
    }
}

TEST_P(PrivateLengths, EveryTuning) {
    Prng prng(44);
    for (Rank p = 1; p <= 19; ++p) {
        for (const Rank root : roots(algorithm().collective, p)) {
            for (const Tuning& tuning : tunings_of(algorithm())) {
                const Shape shape = shape_of(p, root, 1 + prng.below(30));
                ASSERT_NO_FATAL_FAILURE(
                    prove_or_say(algorithm(), shape, draw_blocks(shape, prng), tuning));
            }
        }
    }
}

// Blocks of several messages each, of one rank or of all; and none at all.
TEST_P(PrivateLengths, LongAndEmptyOnes) {
    constexpr uint64_t kLong = 5 * sched::kBlockBytesMax + 7;
    for (const Rank p : {1U, 2U, 3U, 8U, 40U}) {
        const Shape shape = shape_of(p, has_root(algorithm().collective) ? p / 2 : 0, 0);
        for (const auto& [row, rest] : std::to_array<std::pair<uint64_t, uint64_t>>(
                 {{kLong, 0}, {kLong, 9}, {kLong, kLong}, {0, kLong}, {0, 9}, {0, 0}})) {
            std::vector<uint64_t> bytes(size_t{p} * p, rest);
            std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(p / 2 * p), p, row);
            const PairBlocks blocks(shape.collective, shape.root, p, bytes, 0);
            ASSERT_NO_FATAL_FAILURE(prove_or_say(algorithm(), shape, blocks, {}));
        }
    }
}

// A plan is kept, and gets the blocks of one call after another.
TEST_P(PrivateLengths, OneCallAfterTheOther) {
    Prng prng(45);
    const Shape shape = shape_of(7, has_root(algorithm().collective) ? 3 : 0, 100);
    const topo::Placement apart = topo::Placement::blocks(7, 7);
    const auto programs = make_all(algorithm(), shape);
    for (int call = 0; call < 20; ++call) {
        const PairBlocks blocks = draw_blocks(shape, prng);
        for (const std::string& line : check::prove(shape, apart, programs, {}, &blocks).lines) {
            ADD_FAILURE() << "call " << call << ": " << line;
        }
    }
}

// ---- bundles on nodes --------------------------------------------------------------------------

// One message for each two nodes of which one has blocks for the other, and one for each long block
// between nodes; all bytes between nodes.
Sums expected_of_nodes(const PairBlocks& blocks, const topo::Placement& placement) {
    Sums sums;
    std::vector<bool> have(size_t{placement.nodes()} * placement.nodes());
    for (Rank from = 0; from < blocks.ranks(); ++from) {
        for (Rank to = 0; to < blocks.ranks(); ++to) {
            const uint32_t a = placement.node_of(from);
            const uint32_t b = placement.node_of(to);
            const uint64_t bytes = blocks.bytes(from, to);
            if (a == b || bytes == 0) continue;
            have[size_t{a} * placement.nodes() + b] = true;
            sums.messages += bytes > sched::bundled_bytes_max(placement) ? 1 : 0;
            sums.bytes += bytes;
        }
    }
    sums.messages += static_cast<uint64_t>(std::ranges::count(have, true));
    return sums;
}

void prove_on_nodes(const topo::Placement& placement, const PairBlocks& blocks) {
    const Algorithm& leaders = *find(TUTTI_ALLTOALLV, "leaders");
    const Shape shape{.collective = TUTTI_ALLTOALLV, .ranks = placement.ranks()};
    const auto programs = make_plans(leaders, shape, placement, {});
    const uint64_t scratch = plan_scratch_bytes(leaders, shape, placement, {});
    for (const auto& program : programs) {
        const sched::Extent extent = program->extent();
        EXPECT_LE(extent.scratch_bytes * extent.lanes_in_flight, scratch);
    }
    const check::Faults faults = check::prove(shape, placement, programs, {}, &blocks);
    for (const std::string& line : faults.lines) ADD_FAILURE() << line;
    Sums sums;
    for (const std::vector<check::Passage>& step : check::steps(placement, programs)) {
        for (const check::Passage& one : step) {
            EXPECT_NE(placement.node_of(one.sender), placement.node_of(one.receiver));
            ++sums.messages;
            sums.bytes += one.bytes;
        }
    }
    EXPECT_EQ(sums, expected_of_nodes(blocks, placement));
    if (!testing::Test::HasFailure()) return;
    FAIL() << placement.ranks() << " ranks on " << placement.nodes() << " nodes";
}

TEST(Bundles, AnyLengthsOnAnyNodes) {
    Prng prng(46);
    for (int turn = 0; turn < 60; ++turn) {
        const auto nodes = static_cast<uint32_t>(1 + prng.below(7));
        const auto ranks = static_cast<uint32_t>(nodes + 1 + prng.below(14));
        const topo::Placement placement(topo::hosts_at_random(ranks, nodes, prng.next()));
        const uint64_t most = turn % 3 == 0 ? 9 : 2 * sched::kBundledBytesMax;
        const Shape shape{.collective = TUTTI_ALLTOALLV, .ranks = ranks, .bytes = most};
        ASSERT_NO_FATAL_FAILURE(prove_on_nodes(placement, draw_blocks(shape, prng)));
    }
}

// As many messages as pairs of nodes, of which each rank carries about as many as the others.
TEST(Bundles, LeadersShareTheMessages) {
    const topo::Placement placement = topo::Placement::blocks(64, 16);
    const Shape shape{.collective = TUTTI_ALLTOALLV, .ranks = 64, .bytes = 8};
    const auto programs = make_plans(*find(TUTTI_ALLTOALLV, "leaders"), shape, placement, {});
    uint64_t all = 0;
    for (const auto& program : programs) {
        const check::Count one = check::count(*program);
        EXPECT_GE(one.messages_sent, 3U);
        EXPECT_LE(one.messages_sent, 4U);
        EXPECT_EQ(one.messages_received, one.messages_sent);
        EXPECT_EQ(one.bytes_sent, 60U * 8);
        all += one.messages_sent;
    }
    EXPECT_EQ(all, 16U * 15);
    const auto steps = check::steps(placement, programs);
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].size(), 16U * 15);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, PrivateLengths, testing::ValuesIn(with_private_lengths()),
                         test_name);

}  // namespace
}  // namespace tutti::algo
