// SPDX-License-Identifier: BSD-3-Clause
// Nodes of 2 x 64 cores with latencies that were published, and teams on them.
#pragma once

#include <vector>

#include "base/topo/node_topology.h"
#include "run/bootstrap/node_shape.h"
#include "sim/core_simulator.h"

namespace tutti::test {

// Medians of the pairs of each distance, from "results/" of
// https://github.com/nviennot/core-to-core-latency at commit 96a943ac: EPYC 7773X (the dies of the
// 7763 with more cache), between sockets those of two 7R13 (its README); and two EPYC 7742, within
// the socket where the lines are at home. AnandTech found about the same on the 7763 and 7742
// (https://www.anandtech.com/show/16529/amd-epyc-milan-review/4). NPS4: a socket is four NUMA
// domains, of two dies each; NPS1: it is one.
inline constexpr Machine kMilan{"2 x EPYC 7763, NPS1", 8, 64, 64, 128, {26, 116, 116, 197}};
inline constexpr Machine kMilanNps4{"2 x EPYC 7763, NPS4", 8, 16, 64, 128, {26, 112, 117, 197}};
inline constexpr Machine kRomeNps4{"2 x EPYC 7742, NPS4", 4, 16, 64, 128, {25, 113, 134, 265}};

enum class Places {
    kBlock,  // rank by rank, core by core
    kSpread  // from cache to cache
};

inline std::vector<uint32_t> cores_of(const Machine& machine, Places places) {
    std::vector<uint32_t> core_of(machine.cores);
    const uint32_t caches = machine.cores / machine.cache_cores;
    for (uint32_t rank = 0; rank < machine.cores; ++rank) {
        const uint32_t spread = rank % caches * machine.cache_cores + rank / caches;
        core_of[rank] = places == Places::kBlock ? rank : spread;
    }
    return core_of;
}

// Ranks on these cores, along a tree of this fan-in, or as all teams are; 0: all with all.
inline simulate::SimTeam team_on(const Machine& machine, const std::vector<uint32_t>& core_of,
                                 uint32_t fan_in = bootstrap::kFanInMax) {
    simulate::SimTeam team{.ranks = machine.cores, .layout = {}};
    if (fan_in == 0) return team;
    std::vector<topo::CpuSet> cpus(team.ranks);
    for (uint32_t rank = 0; rank < team.ranks; ++rank) cpus[rank].add(core_of[rank]);
    const auto topology = topo::read_node_topology(machine.synthetic());
    const topo::Groups groups = topo::group_ranks(topology.value(), cpus);
    team.layout = bootstrap::tree_layout(bootstrap::encode_tree(groups, team.ranks, fan_in));
    return team;
}

}  // namespace tutti::test
