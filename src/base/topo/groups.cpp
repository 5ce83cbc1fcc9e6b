// SPDX-License-Identifier: BSD-3-Clause
// From the processors of the ranks to groups of ranks, level by level from the outermost. At each
// level every group of the level above is divided among the objects inside it: ranks bound to one
// object go there, and the others fill up the objects that they may use.
#include <algorithm>
#include <map>
#include <utility>

#include "base/topo/node_topology.h"

namespace tutti::topo {
namespace {

using CpuList = std::vector<uint32_t>;

struct Member {
    uint32_t rank;
    CpuList cpus;  // those that it may use within the group reached so far, ascending
};
using Members = std::vector<Member>;  // ascending by rank

// Ranks that may choose among the same several objects.
struct Placing {
    std::vector<uint32_t> objects;  // ascending
    std::vector<size_t> members;    // indices into Members, ascending
    std::vector<uint64_t> weight;   // by object: how many processors these ranks may use there
};

CpuList cpu_list(const NodeTopology& topology, const CpuSet& wanted) {
    CpuList usable;
    CpuList all;
    for (uint32_t cpu = 0; cpu < topology.place.size(); ++cpu) {
        if (!topology.cpus.has(cpu)) continue;
        all.push_back(cpu);
        if (wanted.has(cpu)) usable.push_back(cpu);
    }
    return usable.empty() ? all : usable;
}

std::vector<uint32_t> objects_of(const NodeTopology& topology, size_t level, const CpuList& cpus) {
    std::vector<uint32_t> objects;
    for (const uint32_t cpu : cpus) objects.push_back(topology.place[cpu][level]);
    std::sort(objects.begin(), objects.end());
    objects.erase(std::unique(objects.begin(), objects.end()), objects.end());
    return objects;
}

// How many of the ranks of a placing go to each of its objects: one after the other to the object
// that has the fewest ranks for its processors.
std::vector<uint64_t> shares(const Placing& placing, std::map<uint32_t, uint64_t>& load) {
    std::vector<uint64_t> share(placing.objects.size(), 0);
    for (size_t n = 0; n < placing.members.size(); ++n) {
        size_t best = 0;
        for (size_t i = 1; i < placing.objects.size(); ++i) {
            const uint64_t here = load[placing.objects[i]] + 1;
            const uint64_t there = load[placing.objects[best]] + 1;
            if (here * placing.weight[best] < there * placing.weight[i]) best = i;
        }
        ++share[best];
        ++load[placing.objects[best]];
    }
    return share;
}

std::vector<Placing> find_placings(const NodeTopology& topology, size_t level,
                                   const Members& members, std::vector<uint32_t>& object,
                                   std::map<uint32_t, uint64_t>& load) {
    std::map<std::vector<uint32_t>, std::pair<std::vector<size_t>, CpuList>> open;
    for (size_t i = 0; i < members.size(); ++i) {
        std::vector<uint32_t> objects = objects_of(topology, level, members[i].cpus);
        if (objects.size() == 1) {
            object[i] = objects.front();
            ++load[object[i]];
            continue;
        }
        auto& [who, cpus] = open[std::move(objects)];
        who.push_back(i);
        CpuList merged;
        std::set_union(cpus.begin(), cpus.end(), members[i].cpus.begin(), members[i].cpus.end(),
                       std::back_inserter(merged));
        cpus = std::move(merged);
    }
    std::vector<Placing> placings;
    for (auto& [objects, who] : open) {
        Placing placing{.objects = objects, .members = std::move(who.first), .weight = {}};
        for (const uint32_t candidate : objects) {
            placing.weight.push_back(static_cast<uint64_t>(std::count_if(
                who.second.begin(), who.second.end(),
                [&](uint32_t cpu) { return topology.place[cpu][level] == candidate; })));
        }
        placings.push_back(std::move(placing));
    }
    // Whoever has the least choice chooses first; among equals the lower ranks.
    std::sort(placings.begin(), placings.end(), [](const Placing& a, const Placing& b) {
        if (a.objects.size() != b.objects.size()) return a.objects.size() < b.objects.size();
        return a.members.front() < b.members.front();
    });
    return placings;
}

// Divides one group among the objects of `level`; their members keep only the processors there.
std::vector<Members> divide(const NodeTopology& topology, size_t level, Members members) {
    std::vector<uint32_t> object(members.size(), 0);
    std::map<uint32_t, uint64_t> load;
    for (const Placing& placing : find_placings(topology, level, members, object, load)) {
        const std::vector<uint64_t> share = shares(placing, load);
        size_t next = 0;
        for (size_t i = 0; i < share.size(); ++i) {
            for (uint64_t n = 0; n < share[i]; ++n) {
                object[placing.members[next++]] = placing.objects[i];
            }
        }
    }
    std::map<uint32_t, Members> by_object;
    for (size_t i = 0; i < members.size(); ++i) {
        std::erase_if(members[i].cpus,
                      [&](uint32_t cpu) { return topology.place[cpu][level] != object[i]; });
        by_object[object[i]].push_back(std::move(members[i]));
    }
    std::vector<Members> divided;
    for (auto& [number, inside] : by_object) divided.push_back(std::move(inside));
    return divided;
}

// Numbers the groups in the order in which the ranks meet them.
std::vector<uint32_t> number_groups(const std::vector<Members>& groups, size_t ranks) {
    std::vector<uint32_t> raw(ranks, 0);
    for (uint32_t i = 0; i < groups.size(); ++i) {
        for (const Member& member : groups[i]) raw[member.rank] = i;
    }
    std::vector<uint32_t> number(groups.size(), UINT32_MAX);
    uint32_t next = 0;
    for (uint32_t& group : raw) {
        if (number[group] == UINT32_MAX) number[group] = next++;
        group = number[group];
    }
    return raw;
}

}  // namespace

Groups group_ranks(const NodeTopology& topology, std::span<const CpuSet> rank_cpus) {
    Groups result;
    std::vector<Members> groups(1);
    for (uint32_t rank = 0; rank < rank_cpus.size(); ++rank) {
        groups[0].push_back({.rank = rank, .cpus = cpu_list(topology, rank_cpus[rank])});
    }
    for (size_t level = 0; level < topology.level_names.size(); ++level) {
        std::vector<Members> finer;
        for (Members& group : groups) {
            for (Members& part : divide(topology, level, std::move(group))) {
                finer.push_back(std::move(part));
            }
        }
        groups = std::move(finer);
        result.level.push_back(number_groups(groups, rank_cpus.size()));
    }
    return result;
}

uint32_t distance(const Groups& groups, uint32_t one, uint32_t other) {
    uint32_t levels_apart = 0;
    for (const auto& level : groups.level) levels_apart += level[one] != level[other] ? 1 : 0;
    return levels_apart;
}

}  // namespace tutti::topo
