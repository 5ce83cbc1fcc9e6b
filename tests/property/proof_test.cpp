// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm is proved by check/prove: every number of ranks up to 64, powers of two +- 1 and
// primes beyond, every root (a sample of them beyond 64 ranks), sizes at the edges.
#include <gtest/gtest.h>

#include "lab/check/prove.h"
#include "property/shapes.h"

namespace tutti::algo {
namespace {

class Proof : public testing::TestWithParam<const Algorithm*> {};

void prove(const Algorithm& algorithm, const Shape& shape, const Tuning& tuning) {
    if (!algorithm.obstacle(shape).empty()) return;
    const auto programs = make_all(algorithm, shape, tuning);
    uint64_t scratch_bytes = 0;
    for (const auto& program : programs) {
        scratch_bytes = std::max(scratch_bytes, program->extent().scratch_bytes);
    }
    const bool is_empty = has_data(shape.collective) && shape.bytes == 0;
    EXPECT_EQ(algorithm.scratch_bytes(shape, tuning), is_empty ? 0 : scratch_bytes);
    const topo::Placement apart = topo::Placement::blocks(shape.ranks, shape.ranks);
    check::Demands demands;
    demands.left_fold = algorithm.folds_from_left;
    const check::Faults faults = check::prove(shape, apart, programs, demands);
    for (const std::string& line : faults.lines) ADD_FAILURE() << line;
}

void prove_or_say(const Algorithm& algorithm, const Shape& shape, const Tuning& tuning = {}) {
    prove(algorithm, shape, tuning);
    if (!testing::Test::HasFailure()) return;
    FAIL() << algorithm.name << ": " << shape.ranks << " ranks, root " << shape.root << ", "
           << shape.bytes << " bytes in elements of " << shape.element_bytes << ", fan-in "
           << tuning.fan_in << ", segments of " << tuning.segment_bytes
           << (shape.lengths.are_there() ? ", of lengths that differ" : "");
}

TEST_P(Proof, EveryShape) {
    const Algorithm& algorithm = *GetParam();
    // Blocks of any lengths, equal ones too: private_lengths_test.cpp.
    if (has_private_lengths(algorithm.collective)) return;
    for (const Rank p : rank_counts()) {
        for (const Rank root : roots(algorithm.collective, p)) {
            for (const Shape& shape : shapes(algorithm.collective, p, root)) {
                ASSERT_NO_FATAL_FAILURE(prove_or_say(algorithm, shape));
            }
        }
    }
}

// The sizes in turn, one for each root.
TEST_P(Proof, EveryRoot) {
    const Algorithm& algorithm = *GetParam();
    if (!has_root(algorithm.collective)) return;
    for (const Rank p : rank_counts()) {
        for (const Rank root : every_root(algorithm.collective, p)) {
            const std::vector<Shape> all = shapes(algorithm.collective, p, root);
            ASSERT_NO_FATAL_FAILURE(prove_or_say(algorithm, all[(root + p) % all.size()]));
        }
    }
}

TEST_P(Proof, BlocksOfUnequalNodes) {
    const Algorithm& algorithm = *GetParam();
    if (!has_blocks(algorithm.collective) || algorithm.is_flat) return;
    for (Rank p = 1; p <= 19; ++p) {
        const topo::Placement nodes = unequal_nodes(p);
        for (const Rank root : roots(algorithm.collective, p)) {
            const Shape shape = {.collective = algorithm.collective,
                                 .ranks = p,
                                 .root = root,
                                 .bytes = 24,
                                 .nodes = &nodes};
            for (const Shape& one : with_lengths(shape)) {
                ASSERT_NO_FATAL_FAILURE(prove_or_say(algorithm, one));
            }
        }
    }
}

TEST_P(Proof, EveryFanIn) {
    const Algorithm& algorithm = *GetParam();
    if (!algorithm.has_fan_in) return;
    const Rank p_max = std::getenv("TESTS_BRIEF") ? 65 : 257;
    for (const Rank p : {1U, 2U, 5U, 8U, 31U, 64U, 65U, 129U, 257U}) {
        if (p > p_max) break;
        for (const uint32_t fan_in : {1U, 2U, 3U, 7U, 15U, 62U, 63U, 64U, 65U, 200U, 4294967295U}) {
            const Shape shape = {.collective = algorithm.collective,
                                 .ranks = p,
                                 .root = has_root(algorithm.collective) ? p / 2 : 0,
                                 .bytes = 8,
                                 .has_multicast = true};
            Tuning tuning;
            tuning.fan_in = fan_in;
            ASSERT_NO_FATAL_FAILURE(prove_or_say(algorithm, shape, tuning));
        }
    }
}

// Blocks cut into messages of a round, or into rounds; of nodes and of lengths that differ, blocks
// that are cut into different numbers.
TEST_P(Proof, EveryPieceOfABlock) {
    const Algorithm& algorithm = *GetParam();
    if (!has_blocks(algorithm.collective) || !algorithm.has_pieces) return;
    for (const Rank p : {1U, 2U, 3U, 7U, 16U}) {
        const topo::Placement nodes = unequal_nodes(p);
        for (const uint64_t segment : {1U, 5U, 24U, 100U, 1000U}) {
            Tuning tuning;
            tuning.segment_bytes = segment;
            Shape shape = {
                .collective = algorithm.collective, .ranks = p, .bytes = 24, .has_multicast = true};
            for (const Shape& one : with_lengths(shape)) {
                ASSERT_NO_FATAL_FAILURE(prove_or_say(algorithm, one, tuning));
            }
            if (algorithm.is_flat) continue;
            shape.nodes = &nodes;
            for (const Shape& one : with_lengths(shape)) {
                ASSERT_NO_FATAL_FAILURE(prove_or_say(algorithm, one, tuning));
            }
        }
    }
}

// A vector that is one lane, in few pieces and in more than are kept at a time.
TEST_P(Proof, EveryPieceOfAVector) {
    const Algorithm& algorithm = *GetParam();
    if (!is_vector(algorithm.collective) || !algorithm.has_pieces) return;
    for (const Rank p : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 13U, 16U, 17U, 33U}) {
        for (const uint64_t pieces : {2U, 5U, 9U, 16U, 31U, 50U}) {
            const Shape shape = {.collective = algorithm.collective,
                                 .ranks = p,
                                 .root = p / 3,
                                 .bytes = 24 * pieces - 8,
                                 .element_bytes = 8};
            Tuning tuning;
            tuning.segment_bytes = 24;
            ASSERT_NO_FATAL_FAILURE(prove_or_say(algorithm, shape, tuning));
        }
    }
}

// Shares of one multicast and of several, some of them an element shorter, few and many of them
// under way.
TEST_P(Proof, SharesOfSeveralMulticasts) {
    const Algorithm& algorithm = *GetParam();
    if (!algorithm.has_multicast || algorithm.segment_bytes <= sched::kMulticastBytesMax) return;
    for (const Rank p : {1U, 2U, 3U, 7U, 16U, 33U}) {
        for (const uint32_t element : {8U, 12U, 10'000U}) {
            for (const uint64_t each : {sched::kMulticastBytesMax / element,
                                        3 * sched::kMulticastBytesMax / element + 1}) {
                for (const uint64_t more : {uint64_t{0}, p / 2 + uint64_t{1}}) {
                    const Shape shape = {.collective = algorithm.collective,
                                         .ranks = p,
                                         .bytes = (each * p + more) * element,
                                         .element_bytes = element,
                                         .has_multicast = true};
                    for (const uint32_t under_way : {0U, 1U, 2U, 5U, 32U}) {
                        Tuning tuning;
                        tuning.fan_in = under_way;
                        ASSERT_NO_FATAL_FAILURE(prove_or_say(algorithm, shape, tuning));
                    }
                }
            }
        }
    }
}

// What has at most a few messages a rank is proved for many ranks too.
TEST_P(Proof, ManyRanks) {
    const Algorithm& algorithm = *GetParam();
    for (const Rank p : {1021U, 1023U, 1025U}) {
        const Shape shape = {.collective = algorithm.collective,
                             .ranks = p,
                             .root = has_root(algorithm.collective) ? p / 3 : 0,
                             .bytes = 16,
                             .element_bytes = 8,
                             .is_commutative = false,
                             .has_multicast = true};
        const bool is_for_all = has_blocks(algorithm.collective) && !has_root(algorithm.collective);
        const bool has_many = is_for_all || algorithm.name == "scatter_allgather";
        if (has_many) continue;
        ASSERT_NO_FATAL_FAILURE(prove_or_say(algorithm, shape));
    }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Proof, testing::ValuesIn(pointers()), test_name);

}  // namespace
}  // namespace tutti::algo
