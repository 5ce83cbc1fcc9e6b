// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm is proved as the plan of ranks on hosts, of sizes and lengths that are drawn:
// every number of ranks up to 64, powers of two +- 1 and primes beyond. Sizes at the edges are
// those of proof_test.cpp, lengths that only pairs know those of private_lengths_test.cpp.
#include <gtest/gtest.h>

#include <numeric>
#include <optional>

#include "base/prng.h"
#include "lab/check/prove.h"
#include "plan/algo/plan.h"
#include "property/shapes.h"

namespace tutti::algo {
namespace {

// From none to many, of each magnitude about as often.
uint64_t draw_elements(Prng& prng) { return prng.below(uint64_t{1} << prng.below(13)); }

// A block for each rank, of `longest` elements at most, and one of so many: any, many of them
// empty; hardly any; nearly alike.
std::vector<uint64_t> draw_lengths(Prng& prng, Rank ranks, uint64_t longest) {
    const uint64_t kind = prng.below(3);
    std::vector<uint64_t> lengths(ranks);
    for (uint64_t& one : lengths) {
        if (kind == 0) one = prng.below(3) == 0 ? 0 : prng.below(longest + 1);
        if (kind == 1) one = prng.below(8) == 0 ? prng.below(longest + 1) : prng.below(2);
        if (kind == 2) one = longest - prng.below(2);
    }
    for (uint64_t& one : lengths) one = std::min(one, longest);
    lengths[prng.below(ranks)] = longest;
    return lengths;
}

Shape draw_shape(Prng& prng, const Algorithm& algorithm, Rank ranks) {
    Shape shape = {.collective = algorithm.collective, .ranks = ranks, .has_multicast = true};
    if (!has_data(shape.collective)) return shape;
    if (has_root(shape.collective)) shape.root = static_cast<Rank>(prng.below(ranks));
    constexpr uint32_t kElements[] = {1, 2, 3, 8, 12, 16};
    if (is_reduction(shape.collective)) {
        shape.element_bytes = kElements[prng.below(std::size(kElements))];
        shape.is_commutative = prng.below(3) != 0;
    }
    const uint64_t elements = draw_elements(prng);
    shape.bytes = elements * shape.element_bytes;
    if (!check::has_patterns(shape.collective) || elements == 0 || prng.below(5) == 0) return shape;
    std::vector<uint64_t> lengths = draw_lengths(prng, ranks, elements);
    for (uint64_t& one : lengths) one *= shape.element_bytes;
    shape.lengths = kept(sched::OwnLengths(lengths));
    return shape;
}

// Few pieces, as each of them is followed.
Tuning draw_tuning(Prng& prng, const Algorithm& algorithm, const Shape& shape) {
    Tuning tuning;
    const bool is_cut = is_vector(shape.collective) || algorithm.has_pieces;
    if (is_cut && prng.below(2) == 0) {
        tuning.segment_bytes = shape.bytes / (1 + prng.below(5)) + 1 + prng.below(3);
    }
    if (is_vector(shape.collective)) {
        tuning.lanes_in_flight = static_cast<uint32_t>(prng.below(4));
        tuning.leaders = static_cast<uint32_t>(prng.below(3));
    }
    if (algorithm.has_fan_in && prng.below(2) == 0) {
        tuning.fan_in = static_cast<uint32_t>(2 + prng.below(9));
    }
    tuning.flat = tuning.leaders == 0 && prng.below(5) == 0;
    return tuning;
}

// Alone on their hosts, as many a host, in turn, or anywhere.
topo::Placement draw_placement(Prng& prng, Rank ranks) {
    const auto hosts = static_cast<Rank>(1 + prng.below(ranks));
    switch (prng.below(4)) {
        case 0:
            return topo::Placement::blocks(ranks, ranks);
        case 1:
            return topo::Placement::blocks(ranks, hosts);
        case 2:
            return topo::Placement::round_robin(ranks, hosts);
        default:
            break;
    }
    std::vector<uint64_t> host_of_rank(ranks);
    for (uint64_t& host : host_of_rank) host = prng.below(hosts);
    return topo::Placement(host_of_rank);
}

// Where each has something of all, proofs of large numbers take long.
Rank ranks_max(const Algorithm& algorithm) {
    if (is_between_all(algorithm.collective)) return 65;
    return awaits_all(algorithm.collective) ? 129 : 257;
}

class DrawnShapes : public testing::TestWithParam<const Algorithm*> {
  protected:
    void prove(Prng& prng, Rank ranks) const {
        const Algorithm& algorithm = *GetParam();
        const topo::Placement placement = draw_placement(prng, ranks);
        const Shape shape = draw_shape(prng, algorithm, ranks);
        const Tuning tuning = draw_tuning(prng, algorithm, shape);
        if (!plan_obstacle(algorithm, shape, placement, tuning).empty()) return;
        const Programs programs = make_plans(algorithm, shape, placement, tuning);
        check::Demands demands;
        demands.left_fold =
            algorithm.folds_from_left && (tuning.flat || placement.nodes() == ranks);
        std::optional<check::PairBlocks> blocks;
        if (has_private_lengths(shape.collective)) blocks.emplace(draw_blocks(shape, prng));
        const check::Faults faults =
            check::prove(shape, placement, programs, demands, blocks ? &*blocks : nullptr);
        ASSERT_TRUE(faults.lines.empty())
            << ranks << " ranks on " << placement.nodes() << " nodes, root " << shape.root << ", "
            << shape.bytes << " bytes in elements of " << shape.element_bytes
            << (shape.lengths.are_there() ? ", of lengths that differ" : "")
            << (shape.is_commutative ? "" : ", in order") << ", segments of "
            << tuning.segment_bytes << ", fan-in " << tuning.fan_in << ", leaders "
            << tuning.leaders << (tuning.flat ? ", flat" : "") << ": " << faults.lines.front();
    }
};

TEST_P(DrawnShapes, AreProved) {
    const bool is_long = std::getenv("TESTS_LONG") != nullptr;
    Prng prng(47);
    for (const Rank ranks : rank_counts()) {
        if (ranks > ranks_max(*GetParam())) continue;
        const int turns = is_long ? 20 : ranks <= 32 ? 4 : 1;
        for (int turn = 0; turn < turns; ++turn) ASSERT_NO_FATAL_FAILURE(prove(prng, ranks));
    }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, DrawnShapes, testing::ValuesIn(pointers()), test_name);

}  // namespace
}  // namespace tutti::algo
