// SPDX-License-Identifier: BSD-3-Clause
// Machines and ranks made up for the tests of groups and trees.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/topo/node_topology.h"

namespace tutti::topo::test {

// A machine of nested levels, each object of one divided into so many of the next; at last so many
// processors in each innermost object. Numbered consecutively. machine({2, 4}, 8): 2 x 4 x 8.
inline NodeTopology machine(const std::vector<uint32_t>& parts, uint32_t cpus_each) {
    NodeTopology topology;
    topology.cpu_count = cpus_each;
    for (const uint32_t part : parts) topology.cpu_count *= part;
    topology.place.resize(topology.cpu_count);
    for (uint32_t cpu = 0; cpu < topology.cpu_count; ++cpu) topology.cpus.add(cpu);
    uint32_t cpus_in_object = topology.cpu_count;
    for (size_t level = 0; level < parts.size(); ++level) {
        topology.level_names.push_back("level" + std::to_string(level));
        cpus_in_object /= parts[level];
        for (uint32_t cpu = 0; cpu < topology.cpu_count; ++cpu) {
            topology.place[cpu].push_back(cpu / cpus_in_object);
        }
    }
    return topology;
}

inline CpuSet set_of(std::initializer_list<uint32_t> cpus) {
    CpuSet set;
    for (const uint32_t cpu : cpus) set.add(cpu);
    return set;
}

inline CpuSet range(uint32_t first, uint32_t count) {
    CpuSet set;
    for (uint32_t cpu = first; cpu < first + count; ++cpu) set.add(cpu);
    return set;
}

// Rank i on processor (i * stride) modulo the machine, and one further at each wrap.
inline std::vector<CpuSet> bound(uint32_t ranks, const NodeTopology& topology,
                                 uint32_t stride = 1) {
    std::vector<CpuSet> cpus;
    const uint32_t count = topology.cpu_count;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        const uint64_t step = uint64_t{rank} * stride;
        cpus.push_back(set_of({static_cast<uint32_t>((step + step / count) % count)}));
    }
    return cpus;
}

inline std::vector<CpuSet> unbound(uint32_t ranks, const NodeTopology& topology) {
    return std::vector<CpuSet>(ranks, topology.cpus);
}

inline std::vector<uint32_t> group_sizes(const std::vector<uint32_t>& level) {
    std::vector<uint32_t> sizes;
    for (const uint32_t group : level) {
        if (group >= sizes.size()) sizes.resize(group + size_t{1}, 0);
        ++sizes[group];
    }
    return sizes;
}

}  // namespace tutti::topo::test
