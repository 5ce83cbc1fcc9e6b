// SPDX-License-Identifier: BSD-3-Clause
// The calls by which `tutti check` tries an algorithm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/topo/placement.h"
#include "lab/check/length_patterns.h"
#include "plan/algo/registry.h"
#include "plan/sched/shape.h"

namespace tutti::check {

// A proof takes time and memory in proportion to all operations of all ranks.
inline constexpr uint64_t kProvedRanksMax = 4096;

// A team and its hosts, for all the cases on it.
struct Site {
    uint32_t ranks = 1;
    uint32_t hosts = 1;
    bool is_round_robin = false;
};

// The lengths of blocks that only pairs of ranks know.
enum class PairPattern : uint8_t {
    kEqual,    // all as the shape says
    kRandom,   // up to twice as long, many of them of no bytes
    kLongRow,  // one rank's are 100 times as long as the others'
    kNothing   // all of no bytes
};

struct Case {
    sched::Shape shape;
    algo::Tuning tuning;
    LengthPattern pattern = LengthPattern::kEqual;
    sched::OwnLengths lengths = {};  // of the shape
    PairPattern pairs = PairPattern::kEqual;
};

// One a host, and a few that share hosts: in blocks, and by turns, so that nodes are not
// consecutive. hosts_low, hosts_high: only so many hosts.
std::vector<Site> sites_of(uint32_t ranks, uint32_t hosts_low, uint32_t hosts_high);

// Roots at the edges, sizes at the edges, lengths of blocks of each pattern, operators that commute
// or not, with the node level and without, in one lane and in many; only what the algorithm can
// run.
std::vector<Case> cases_of(const algo::Algorithm& algorithm, const topo::Placement& placement);

// "allreduce ring, 5 ranks on 2 hosts, round-robin, root 0, 40 B, flat"
std::string case_text(const algo::Algorithm& algorithm, const Site& site, const Case& one);

// What check::prove finds wrong with the plans of all ranks; empty: proved.
std::vector<std::string> prove(const algo::Algorithm& algorithm, const topo::Placement& placement,
                               const Case& one);

}  // namespace tutti::check
