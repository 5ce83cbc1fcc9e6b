// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/trial/trial_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "lab/check/prove.h"
#include "lab/explain/scenario.h"
#include "plan/algo/plan.h"

namespace tutti::check {
namespace {

// Up to so many ranks every one is tried as root.
constexpr uint32_t kRootsAllMax = 4;
// Cuts the longest vector below into 5 lanes.
constexpr uint64_t kSegmentBytes = 256;

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
    if (is_vector(shape.collective) && shape.bytes > 2 * kSegmentBytes) {
        tunings.emplace_back();
        tunings.back().segment_bytes = kSegmentBytes;
        tunings.back().lanes_in_flight = 3;
        if (has_node_level) tunings.back().leaders = 2;
    }
    return tunings;
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
    const auto add = [&] {
        for (const algo::Tuning& tuning : tunings_of(algorithm, shape, placement)) {
            if (algo::plan_obstacle(algorithm, shape, placement, tuning).empty()) {
                cases.push_back({shape, tuning});
            }
        }
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
    if (!one.shape.is_commutative) text += ", not commutative";
    const std::string tuning = explain::tuning_text(algorithm, one.tuning, one.shape.bytes);
    return tuning.empty() ? text : text + ", " + tuning;
}

std::vector<std::string> prove(const algo::Algorithm& algorithm, const topo::Placement& placement,
                               const Case& one) {
    const algo::Programs programs = algo::make_plans(algorithm, one.shape, placement, one.tuning);
    return prove(one.shape, placement, programs).lines;
}

}  // namespace tutti::check
