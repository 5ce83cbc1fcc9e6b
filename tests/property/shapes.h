// SPDX-License-Identifier: BSD-3-Clause
// The shapes over which the algorithms are proved and counted.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/topo/placement.h"
#include "lab/check/length_patterns.h"
#include "lab/check/pair_blocks.h"
#include "plan/algo/registry.h"
#include "plan/sched/program.h"

namespace tutti::algo {

// Powers of two +- 1 and primes beyond 64. TESTS_BRIEF, for sanitizers, keeps the kinds of numbers:
// what they find depends on those, and the release build runs all. TESTS_LONG fills the gaps.
inline std::vector<Rank> rank_counts() {
    std::vector<Rank> counts;
    if (std::getenv("TESTS_BRIEF")) {
        for (Rank p = 1; p <= 17; ++p) counts.push_back(p);
        for (const Rank p : {23U, 31U, 32U, 33U, 64U, 65U}) counts.push_back(p);
        return counts;
    }
    const Rank all = std::getenv("TESTS_LONG") ? 129 : 64;
    for (Rank p = 1; p <= all; ++p) counts.push_back(p);
    for (const Rank p : {65U, 97U, 127U, 128U, 129U, 251U, 255U, 256U, 257U}) {
        if (p > all) counts.push_back(p);
    }
    return counts;
}

// These take every shape; of the others up to 64 ranks each takes one (every_root).
inline std::vector<Rank> roots(tutti_collective collective, Rank p) {
    if (!has_root(collective)) return {0};
    std::vector<Rank> some;
    for (Rank root = 0; root < std::min(p, Rank{16}); ++root) some.push_back(root);
    if (p <= 16) return some;
    some = {0, 1, p / 2 - 1, p / 2, p - 1};
    if (p > 64) some = {0, p / 2, p - 1};
    return some;
}

inline std::vector<Rank> every_root(tutti_collective collective, Rank p) {
    if (!has_root(collective) || p > 64) return roots(collective, p);
    std::vector<Rank> all(p);
    std::iota(all.begin(), all.end(), Rank{0});
    return all;
}

// Stays to the end of the tests, for shapes that refer to it.
inline sched::BlockLengths kept(sched::OwnLengths lengths) {
    static std::deque<sched::OwnLengths> all;
    all.push_back(std::move(lengths));
    return all.back().view();
}

// With lengths of the shape's longest block: each pattern, and such as are drawn at random, a
// quarter of them empty. Of many ranks only the latter. Blocks are those of ranks, also where the
// participants are nodes.
inline std::vector<Shape> with_lengths(Shape shape) {
    std::vector<Shape> all{shape};
    if (!check::has_patterns(shape.collective) || shape.bytes == 0) return all;
    const uint64_t element = shape.element_bytes;
    const Rank ranks = shape.nodes ? shape.nodes->ranks() : shape.ranks;
    for (const auto pattern : {check::LengthPattern::kRagged, check::LengthPattern::kOneLong}) {
        if (ranks > 64) break;
        all.push_back(shape);
        all.back().lengths =
            kept(check::lengths_of(pattern, ranks, shape.bytes, shape.element_bytes));
    }
    Prng prng(ranks);
    std::vector<uint64_t> lengths(ranks);
    for (uint64_t& one : lengths) {
        one = prng.below(4) == 0 ? 0 : prng.below(shape.bytes / element + 1) * element;
    }
    lengths[prng.below(ranks)] = shape.bytes;
    all.push_back(shape);
    all.back().lengths = kept(sched::OwnLengths(lengths));
    return all;
}

// Of one count and root: sizes at the edges, elements of odd sizes, both kinds of operator, lengths
// where these may differ. The team has multicast, for those that need it.
inline std::vector<Shape> shapes(tutti_collective collective, Rank p, Rank root) {
    Shape shape = {.collective = collective, .ranks = p, .root = root, .has_multicast = true};
    if (collective == TUTTI_BARRIER) return {shape};
    std::vector<Shape> all;
    if (has_blocks(collective) && is_reduction(collective)) {
        for (const uint64_t elements : {0, 1, 9}) {
            shape.element_bytes = 12;
            shape.bytes = elements * shape.element_bytes;
            for (const bool commutes : {true, false}) {
                shape.is_commutative = commutes;
                for (const Shape& one : with_lengths(shape)) all.push_back(one);
            }
        }
        return all;
    }
    if (has_blocks(collective)) {
        for (const uint64_t bytes : {0, 1, 100}) {
            shape.bytes = bytes;
            for (const Shape& one : with_lengths(shape)) all.push_back(one);
        }
        return all;
    }
    std::vector<uint64_t> elements = {
        0, 1, p - uint64_t{1}, p, p + uint64_t{1}, 5 * p + uint64_t{2}};
    if (p > 64) elements = {p / 2 + uint64_t{1}, 2 * p + uint64_t{1}};
    for (const uint64_t count : elements) {
        shape.element_bytes = count % 2 == 0 ? 8 : 12;
        shape.bytes = count * shape.element_bytes;
        shape.is_commutative = true;
        all.push_back(shape);
        if (!is_reduction(collective)) continue;
        shape.is_commutative = false;
        all.push_back(shape);
    }
    if (collective == TUTTI_BCAST) {
        shape.bytes = 12 * p + uint64_t{7};  // a rest that is no element
        all.push_back(shape);
    }
    return all;
}

// Of a vector form whose lengths only pairs of ranks know: up to twice as long as the shape says,
// many of no bytes, in any order and with gaps.
inline check::PairBlocks draw_blocks(const Shape& shape, Prng& prng) {
    std::vector<uint64_t> bytes(size_t{shape.ranks} * shape.ranks);
    for (uint64_t& one : bytes) one = prng.below(3) == 0 ? 0 : prng.below(2 * shape.bytes + 1);
    return {shape.collective, shape.root, shape.ranks, bytes, 1 + prng.next() / 2};
}

// Node i has 1 + i * i % 5 ranks.
inline topo::Placement unequal_nodes(Rank nodes) {
    std::vector<uint64_t> node_of_rank;
    for (uint64_t node = 0; node < nodes; ++node) {
        node_of_rank.insert(node_of_rank.end(), 1 + node * node % 5, node);
    }
    return topo::Placement(node_of_rank);
}

inline std::vector<std::unique_ptr<Program>> make_all(const Algorithm& algorithm,
                                                      const Shape& shape,
                                                      const Tuning& tuning = {}) {
    std::vector<std::unique_ptr<Program>> programs;
    for (Rank rank = 0; rank < shape.ranks; ++rank) {
        programs.push_back(algorithm.make(shape, rank, tuning));
    }
    return programs;
}

inline std::vector<const Algorithm*> pointers() {
    std::vector<const Algorithm*> all;
    for (const Algorithm& one : algorithms()) all.push_back(&one);
    return all;
}

inline std::string test_name(const testing::TestParamInfo<const Algorithm*>& info) {
    return std::string(collective_name(info.param->collective)) + "_" +
           std::string(info.param->name);
}

}  // namespace tutti::algo
