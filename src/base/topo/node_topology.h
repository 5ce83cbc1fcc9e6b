// SPDX-License-Identifier: BSD-3-Clause
// What one machine looks like from inside: which processors share a cache, a NUMA domain, a socket.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tutti::topo {

// A set of processors (operating system numbers).
class CpuSet {
  public:
    static constexpr uint32_t kCpusMax = 1024;
    void add(uint32_t cpu);
    [[nodiscard]] bool has(uint32_t cpu) const;
    [[nodiscard]] uint32_t count() const;
    [[nodiscard]] std::optional<uint32_t> first() const;
    CpuSet& operator|=(const CpuSet& other);
    bool operator==(const CpuSet& other) const = default;

  private:
    uint64_t words_[kCpusMax / 64] = {};  // Plain data: records of it travel through an allgather.
};

// Where one processor lies: the number of the object that holds it at each level, outermost first
// (socket, NUMA domain, outer cache, inner shared cache). Levels at which nothing is told apart,
// and levels that hold one processor each, are left out.
struct NodeTopology {
    std::vector<std::string> level_names;      // "Package", "NUMANode", "L3" ...
    std::vector<std::vector<uint32_t>> place;  // [cpu][level]; empty for a processor not there
    CpuSet cpus;                               // those that are there
    uint32_t cpu_count = 0;                    // how many
};

// Reads this machine by hwloc, or a synthetic description ("pack:2 l3:4 core:8 pu:1"; "pu:1" may be
// left away). Slow (milliseconds, tens of them on a large machine): the leader of a node does it
// once. Its own affinity and cpuset do not restrict what it reads. Processors from
// CpuSet::kCpusMax on are left out.
Result<NodeTopology> read_node_topology(const std::string& synthetic);

// Groups for a tree. One entry a level, innermost last: group[level][rank], numbers dense from 0,
// every group of an inner level inside one group of the outer; group 0 is that of rank 0. Ranks
// that may run on several objects of a level (their CpuSet spans them) are spread by index over
// those, contiguous blocks of ranks together, so that every object has its share of ranks. A rank
// whose set has no processor of this topology may run anywhere.
struct Groups {
    std::vector<std::vector<uint32_t>> level;
};
// How far two ranks are from each other: 0 within a group of the innermost level, and one more for
// each level at which they are apart.
uint32_t distance(const Groups& groups, uint32_t one, uint32_t other);
Groups group_ranks(const NodeTopology& topology, std::span<const CpuSet> rank_cpus);

struct Tree {
    uint32_t root = 0;
    std::vector<uint32_t> parent;  // UINT32_MAX at the root
};
// A tree whose edges cross the outer levels as seldom as possible: every group is a connected piece
// of it, so that exactly groups - 1 edges cross a level. The lowest rank of a group leads it; no
// rank has more than `fan_in_max` children (at least 1; wide groups get inner nodes).
Tree build_tree(const Groups& groups, uint32_t ranks, uint32_t fan_in_max);

// The model that the first processor says it is ("AMD EPYC 7763 64-Core Processor"), as the kernel
// tells it; empty where it does not. `root` is "/" except in tests.
std::string processor_name(const std::string& root);

// Processors that this process may use (sched_getaffinity).
CpuSet affinity();

// Whole processors that the cgroup's quota allows (v2 cpu.max or v1 cfs_quota, all ancestors;
// rounded up), or nullopt without a quota. `root` is "/" except in tests.
std::optional<uint32_t> cgroup_cpu_quota(const std::string& root);
// Bytes that may still be allocated under the cgroup's memory limit (v2 or v1, all ancestors), or
// nullopt without a limit.
std::optional<uint64_t> cgroup_memory_headroom(const std::string& root);

}  // namespace tutti::topo
