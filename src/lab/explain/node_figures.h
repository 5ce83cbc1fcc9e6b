// SPDX-License-Identifier: BSD-3-Clause
// Measured times between two processors, and what a team on them would choose, as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/topo/node_topology.h"
#include "run/node/tuning.h"

namespace tutti::explain {

// Two processors that stand for all pairs as far from each other.
struct CpuPair {
    uint32_t first = 0;
    uint32_t second = 0;
    std::string distance;  // "same L3"; "same Package, other L3"; "other Package"
};
// The first pair of each distance that there is between these processors, nearest first.
std::vector<CpuPair> pairs_by_distance(const topo::NodeTopology& topology,
                                       const topo::CpuSet& allowed);

// The least of each figure: what disturbs a measurement makes it longer.
node::Figures least_of(const node::Figures& one, const node::Figures& other);

struct PairSpeed {
    CpuPair cpus;
    std::string obstacle;  // why nothing was measured; empty: it was
    node::Figures figures;
    node::Tuning tuning;  // what follows
};
struct SpeedLine {
    std::string label;
    std::string text;
};
// no_single_copy: why there is none; empty: there is.
std::vector<SpeedLine> speed_lines(std::span<const PairSpeed> pairs,
                                   const std::string& no_single_copy);

}  // namespace tutti::explain
