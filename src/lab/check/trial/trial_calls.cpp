// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/trial/trial_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/prng.h"
#include "base/text.h"
#include "lab/check/pair_blocks.h"
#include "lab/check/prove.h"
#include "lab/explain/scenario.h"
#include "plan/algo/plan.h"

namespace tutti::check {
namespace {

// Up to so many ranks every one is tried as root.
constexpr uint32_t kRootsAllMax = 4;
// Cuts the longest vector below into 5 lanes.
constexpr uint64_t kSegmentBytes = 256;
// Cuts the longest block below into 3 pieces.
constexpr uint64_t kPieceBytes = 8;

std::set<uint32_t> roots_of(tutti_collective collective, uint32_t ranks) {
    if (!has_root(collective)) return {0};
    std::set<uint32_t> roots;
    if (ranks <= kRootsAllMax) {
        for (uint32_t root = 0; root < ranks; ++root) roots.insert(root);
        return roots;
    }
    return {0, ranks / 2, ranks - 1};
}

// Vectors shorter than there are ranks, such as do not divide, and a long one.
std::set<uint64_t> sizes_of(tutti_collective collective, uint32_t ranks) {
    if (collective == TUTTI_BARRIER) return {0};
    if (is_reduction(collective) && has_blocks(collective)) return {0, 8, 24};
    if (!is_vector(collective)) return {0, 1, 24};
    return {0, 8, 8 * (uint64_t{ranks} + 3), kSegmentBytes * 5 - 8};
}

std::vector<algo::Tuning> tunings_of(const algo::Algorithm& algorithm, const sched::Shape& shape,
                                     const topo::Placement& placement) {
    std::vector<algo::Tuning> tunings(1);
    const bool has_node_level = placement.members_max() > 1;
    if (has_node_level) {
        tunings.emplace_back();
        tunings.back().flat = true;
    }
    if (algorithm.has_radix) {
        tunings.emplace_back();
        tunings.back().fan_in = 3;
    }
    const bool has_slots = is_reduction(shape.collective) || has_lengths(shape.collective);
    if (algorithm.has_pieces && !is_vector(shape.collective) && has_slots &&
        shape.bytes > kPieceBytes) {
        tunings.emplace_back();
        tunings.back().segment_bytes = kPieceBytes;
    }
    if (is_vector(shape.collective) && shape.bytes > 2 * kSegmentBytes) {
        tunings.emplace_back();
        tunings.back().segment_bytes = kSegmentBytes;
        tunings.back().lanes_in_flight = 3;
        if (has_node_level) tunings.back().leaders = 2;
    }
    return tunings;
}

std::vector<PairPattern> patterns_of(const sched::Shape& shape) {
    if (!has_private_lengths(shape.collective) || shape.bytes <= 1) return {PairPattern::kEqual};
    return {PairPattern::kEqual, PairPattern::kRandom, PairPattern::kLongRow, PairPattern::kNothing};
}

uint64_t length_of(PairPattern pattern, sched::Rank from, const sched::Shape& shape, Prng& prng) {
    switch (pattern) {
        case PairPattern::kEqual:
            return shape.bytes;
        case PairPattern::kRandom:
            return prng.below(3) == 0 ? 0 : prng.below(2 * shape.bytes + 1);
        case PairPattern::kLongRow:
            return from == shape.ranks / 2 ? 100 * shape.bytes : shape.bytes;
        case PairPattern::kNothing:
            break;
    }
    return 0;
}

// Blocks of a buffer stand in any order, with gaps.
PairBlocks blocks_of(const Case& one) {
    Prng prng(one.shape.ranks + uint64_t{one.shape.root} * 64);
    std::vector<uint64_t> bytes;
    for (sched::Rank from = 0; from < one.shape.ranks; ++from) {
        for (sched::Rank to = 0; to < one.shape.ranks; ++to) {
            bytes.push_back(length_of(one.pairs, from, one.shape, prng));
        }
    }
    return {one.shape.collective, one.shape.root, one.shape.ranks, bytes, 1 + prng.below(1000)};
}

std::string_view pattern_text(PairPattern pattern) {
    constexpr std::string_view kTexts[] = {"", ", blocks of random lengths",
                                           ", blocks of one rank longer", ", blocks empty"};
    return kTexts[static_cast<size_t>(pattern)];
}

}  // namespace

std::vector<Site> sites_of(uint32_t ranks, uint32_t hosts_low, uint32_t hosts_high) {
    std::set<uint32_t> counts;
    if (hosts_low == hosts_high) {
        counts = {hosts_low};
    } else {
        for (const uint32_t hosts : {2u, 3u, ranks / 2, ranks}) counts.insert(hosts);
    }
    std::vector<Site> sites;
    for (const uint32_t hosts : counts) {
        if (hosts < std::max(1u, hosts_low) || hosts > std::min(ranks, hosts_high)) continue;
        sites.push_back({ranks, hosts, false});
        if (hosts > 1 && hosts < ranks) sites.push_back({ranks, hosts, true});
    }
    return sites;
}

std::vector<Case> cases_of(const algo::Algorithm& algorithm, const topo::Placement& placement) {
    std::vector<Case> cases;
    sched::Shape shape;
    shape.collective = algorithm.collective;
    shape.ranks = placement.ranks();
    shape.has_multicast = true;  // for the algorithms that need it; the others do not look
    const auto add_pattern = [&](LengthPattern pattern) {
        const sched::OwnLengths lengths =
            lengths_of(pattern, shape.ranks, shape.bytes, shape.element_bytes);
        shape.lengths = lengths.view();
        for (const algo::Tuning& tuning : tunings_of(algorithm, shape, placement)) {
            if (!algo::plan_obstacle(algorithm, shape, placement, tuning).empty()) continue;
            for (const PairPattern pairs : patterns_of(shape)) {
                cases.push_back({shape, tuning, pattern, lengths, pairs});
            }
        }
        shape.lengths = {};
    };
    const auto add = [&] {
        add_pattern(LengthPattern::kEqual);
        if (!has_patterns(algorithm.collective) || shape.bytes == 0) return;
        add_pattern(LengthPattern::kRagged);
        add_pattern(LengthPattern::kOneLong);
    };
    for (const uint32_t root : roots_of(algorithm.collective, shape.ranks)) {
        shape.root = root;
        for (const uint64_t bytes : sizes_of(algorithm.collective, shape.ranks)) {
            shape.bytes = bytes;
            shape.element_bytes = is_reduction(algorithm.collective) ? 8 : 1;
            shape.is_commutative = true;
            add();
            if (!is_reduction(algorithm.collective)) continue;
            shape.is_commutative = false;
            add();
        }
    }
    return cases;
}

std::string case_text(const algo::Algorithm& algorithm, const Site& site, const Case& one) {
    std::string text =
        fmt::format("{} {}, {} ranks on {} hosts", collective_name(algorithm.collective),
                    algorithm.name, site.ranks, site.hosts);
    if (site.is_round_robin) text += ", round-robin";
    if (has_root(algorithm.collective)) text += fmt::format(", root {}", one.shape.root);
    if (algorithm.collective != TUTTI_BARRIER) text += ", " + format_bytes(one.shape.bytes);
    if (one.pattern != LengthPattern::kEqual) {
        text += fmt::format(" at most, lengths {}",
                            kLengthPatternNames[static_cast<size_t>(one.pattern)]);
    }
    text += pattern_text(one.pairs);
    if (!one.shape.is_commutative) text += ", not commutative";
    const std::string tuning = explain::tuning_text(algorithm, one.tuning, one.shape.bytes);
    return tuning.empty() ? text : text + ", " + tuning;
}

std::vector<std::string> prove(const algo::Algorithm& algorithm, const topo::Placement& placement,
                               const Case& one) {
    const algo::Programs programs = algo::make_plans(algorithm, one.shape, placement, one.tuning);
    if (!has_private_lengths(one.shape.collective)) {
        return prove(one.shape, placement, programs).lines;
    }
    const PairBlocks blocks = blocks_of(one);
    return prove(one.shape, placement, programs, {}, &blocks).lines;
}

}  // namespace tutti::check
