// SPDX-License-Identifier: BSD-3-Clause
// What Slurm's two files have in common: switches that name what is below them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/topo/topology.h"

namespace tutti::topo {

struct SlurmEntry {
    std::string name;
    std::string nodes;     // lists; empty: none
    std::string switches;  // likewise
    bool is_block = false;
    uint32_t line = 0;
};

// Every block is a switch, with one above them where there are several. A switch may be below
// several others (a fat tree's spine), but not below itself.
Result<Topology> topology_of_slurm(const std::string& source,
                                   const std::vector<SlurmEntry>& entries);

}  // namespace tutti::topo
