// SPDX-License-Identifier: BSD-3-Clause
// Reads the machine (or a synthetic one) by hwloc and reduces it to the levels that matter here.
//
// Each kind of object (socket, NUMA domain, cache, core) divides the processors into classes. The
// kinds are taken from the coarsest to the finest, each refined by the ones before, so that the
// levels are nested whatever the order of NUMA domains and caches is on this machine. A kind that
// divides nothing further is left out, and so is one whose classes hold no more than one core each:
// only processors of one core are then left to group, which is the level "Core" where there is SMT.
#include <hwloc.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "base/topo/node_topology.h"

namespace tutti::topo {
namespace {

struct TopologyCloser {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using TopologyHandle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, TopologyCloser>;

// Classes of processors; class_of is indexed by hwloc's own order of processors, numbers are dense.
struct Partition {
    std::string name;
    std::vector<uint32_t> class_of;
    uint32_t class_count = 0;
};

Partition refine(const Partition& outer, const Partition& inner) {
    Partition refined{.name = inner.name, .class_of = {}, .class_count = 0};
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> number;
    for (size_t i = 0; i < inner.class_of.size(); ++i) {
        const auto next = static_cast<uint32_t>(number.size());
        const auto place = number.try_emplace({outer.class_of[i], inner.class_of[i]}, next).first;
        refined.class_of.push_back(place->second);
    }
    refined.class_count = static_cast<uint32_t>(number.size());
    return refined;
}

Partition partition_by(hwloc_topology_t topology, hwloc_obj_type_t type, const char* name,
                       const std::vector<uint32_t>& cpus) {
    std::vector<uint32_t> owner(CpuSet::kCpusMax, 0);  // 0: lies in no object of this type.
    const int depth = hwloc_get_type_depth(topology, type);
    // HWLOC_TYPE_DEPTH_UNKNOWN and _MULTIPLE have no objects; NUMA domains have a virtual depth.
    const unsigned count = hwloc_get_nbobjs_by_depth(topology, depth);
    for (unsigned i = 0; i < count; ++i) {
        const hwloc_obj_t object = hwloc_get_obj_by_depth(topology, depth, i);
        for (int cpu = hwloc_bitmap_next(object->cpuset, -1);
             cpu >= 0 && cpu < static_cast<int>(CpuSet::kCpusMax);
             cpu = hwloc_bitmap_next(object->cpuset, cpu)) {
            // Several memories beside the same processors (DRAM and HBM) tell nothing apart.
            if (owner[static_cast<size_t>(cpu)] == 0) owner[static_cast<size_t>(cpu)] = i + 1;
        }
    }
    Partition raw{.name = name, .class_of = {}, .class_count = 0};
    for (const uint32_t cpu : cpus) raw.class_of.push_back(owner[cpu]);
    const Partition whole{
        .name = "", .class_of = std::vector<uint32_t>(cpus.size(), 0), .class_count = 1};
    return refine(whole, raw);
}

std::vector<uint32_t> cpus_in_order(hwloc_topology_t topology) {
    std::vector<uint32_t> cpus;
    const int depth = hwloc_get_type_depth(topology, HWLOC_OBJ_PU);
    const unsigned count = hwloc_get_nbobjs_by_depth(topology, depth);
    for (unsigned i = 0; i < count; ++i) {
        const unsigned cpu = hwloc_get_obj_by_depth(topology, depth, i)->os_index;
        if (cpu < CpuSet::kCpusMax) cpus.push_back(cpu);
    }
    return cpus;
}

std::vector<Partition> nested_levels(hwloc_topology_t topology, const std::vector<uint32_t>& cpus) {
    const Partition core = partition_by(topology, HWLOC_OBJ_CORE, "Core", cpus);
    std::vector<Partition> candidates = {
        partition_by(topology, HWLOC_OBJ_PACKAGE, "Package", cpus),
        partition_by(topology, HWLOC_OBJ_DIE, "Die", cpus),
        partition_by(topology, HWLOC_OBJ_NUMANODE, "NUMANode", cpus),
        partition_by(topology, HWLOC_OBJ_L4CACHE, "L4", cpus),
        partition_by(topology, HWLOC_OBJ_L3CACHE, "L3", cpus),
        partition_by(topology, HWLOC_OBJ_L2CACHE, "L2", cpus),
    };
    std::stable_sort(
        candidates.begin(), candidates.end(),
        [](const Partition& a, const Partition& b) { return a.class_count < b.class_count; });
    std::vector<Partition> levels;
    Partition current{
        .name = "", .class_of = std::vector<uint32_t>(cpus.size(), 0), .class_count = 1};
    for (const Partition& candidate : candidates) {
        Partition refined = refine(current, candidate);
        const bool one_core_each = refine(refined, core).class_count == refined.class_count;
        if (refined.class_count == current.class_count || one_core_each) continue;
        current = refined;
        levels.push_back(std::move(refined));
    }
    Partition cores = refine(current, core);
    const bool smt = cores.class_count < cpus.size();
    if (smt && cores.class_count > current.class_count) levels.push_back(std::move(cores));
    return levels;
}

// A synthetic description is a handful of factors; refuse early what would fill the memory.
bool describes_too_many(const std::string& synthetic) {
    uint64_t product = 1;
    int parentheses = 0;
    for (size_t i = 0; i < synthetic.size(); ++i) {
        if (synthetic[i] == '(') ++parentheses;
        if (synthetic[i] == ')') --parentheses;
        if (synthetic[i] != ':' || parentheses > 0) continue;
        uint64_t factor = 0;
        while (i + 1 < synthetic.size() && synthetic[i + 1] >= '0' && synthetic[i + 1] <= '9' &&
               factor <= CpuSet::kCpusMax) {
            factor = factor * 10 + static_cast<uint64_t>(synthetic[++i] - '0');
        }
        product *= std::max<uint64_t>(factor, 1);
        if (product > CpuSet::kCpusMax) return true;
    }
    return false;
}

std::optional<Error> set_synthetic(hwloc_topology_t topology, const std::string& synthetic) {
    if (describes_too_many(synthetic)) {
        return Error{ErrorCode::kArgument, "topology \"" + synthetic + "\": more than " +
                                               std::to_string(CpuSet::kCpusMax) + " processors"};
    }
    // hwloc wants the processors of a core spelt out; people leave "pu:1" away.
    const bool may_lack_pu = synthetic.find(':') != std::string::npos;
    if (hwloc_topology_set_synthetic(topology, synthetic.c_str()) == 0 ||
        (may_lack_pu &&
         hwloc_topology_set_synthetic(topology, (synthetic + " pu:1").c_str()) == 0)) {
        return std::nullopt;
    }
    return Error{ErrorCode::kArgument,
                 "topology \"" + synthetic +
                     "\": not a description that hwloc knows, such as \"pack:2 l3:4 core:8 pu:1\""};
}

}  // namespace

Result<NodeTopology> read_node_topology(const std::string& synthetic) {
    hwloc_topology_t opened = nullptr;
    if (hwloc_topology_init(&opened) != 0) {
        return Error{ErrorCode::kMemory, "node topology: hwloc does not start"};
    }
    const TopologyHandle handle(opened);
    hwloc_topology_set_io_types_filter(opened, HWLOC_TYPE_FILTER_KEEP_NONE);
    // Processors outside of this process's own set count as well: other ranks may be bound to them.
    unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
#if HWLOC_API_VERSION >= 0x00020500
    // Else hwloc may move this thread over all processors and ask each one by cpuid.
    flags |= HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING;
#endif
#if HWLOC_API_VERSION >= 0x00020800
    flags |= HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
             HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
    hwloc_topology_set_flags(opened, flags);
    if (!synthetic.empty()) {
        if (std::optional<Error> error = set_synthetic(opened, synthetic)) return *error;
    }
    if (hwloc_topology_load(opened) != 0) {
        return Error{ErrorCode::kSystem, "node topology: hwloc cannot read this machine"};
    }
    const std::vector<uint32_t> cpus = cpus_in_order(opened);
    if (cpus.empty()) {
        return Error{ErrorCode::kSystem, "node topology: hwloc found no processor"};
    }
    const std::vector<Partition> levels = nested_levels(opened, cpus);
    NodeTopology topology;
    topology.cpu_count = static_cast<uint32_t>(cpus.size());
    topology.place.resize(*std::max_element(cpus.begin(), cpus.end()) + size_t{1});
    for (const Partition& level : levels) topology.level_names.push_back(level.name);
    for (const uint32_t cpu : cpus) topology.cpus.add(cpu);
    for (size_t i = 0; i < cpus.size(); ++i) {
        for (const Partition& level : levels) {
            topology.place[cpus[i]].push_back(level.class_of[i]);
        }
    }
    return topology;
}

}  // namespace tutti::topo
