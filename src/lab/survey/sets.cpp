// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/sets.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace tutti::survey {
namespace {

// A set that lets out so much of what its children let out holds nobody up.
constexpr double kNoBottleneck = 0.85;

bool holds(const HostSet& set, uint32_t host) {
    return std::binary_search(set.hosts.begin(), set.hosts.end(), host);
}

void add_child(HostSets& sets, uint32_t parent, std::vector<uint32_t> hosts) {
    std::sort(hosts.begin(), hosts.end());
    sets[parent].children.push_back(static_cast<uint32_t>(sets.size()));
    sets.push_back({.parent = parent, .hosts = std::move(hosts), .children = {}});
}

// The group's hosts by their innermost sets.
std::map<uint32_t, std::vector<uint32_t>> members_of(const Partition& partition, uint32_t group,
                                                     const std::vector<uint32_t>& at) {
    std::map<uint32_t, std::vector<uint32_t>> members;
    for (uint32_t host = 0; host < partition.size(); ++host) {
        if (partition[host] == group && at[host] != kNoSet) members[at[host]].push_back(host);
    }
    return members;
}

void refine_by(HostSets& sets, const Partition& partition) {
    const auto hosts = static_cast<uint32_t>(partition.size());
    const std::vector<uint32_t> at = innermost(sets, hosts);
    uint32_t groups = 0;
    for (const uint32_t group : partition) {
        if (group != kNoGroup) groups = std::max(groups, group + 1);
    }
    // By set: its groups of two or more.
    std::map<uint32_t, std::vector<std::vector<uint32_t>>> parts;
    for (uint32_t group = 0; group < groups; ++group) {
        const auto members = members_of(partition, group, at);
        // Hosts of a set that is split are in none of its parts: narrow links did not place them.
        const std::vector<uint32_t>* strays = nullptr;
        uint32_t home = kNoSet;
        uint32_t homes = 0;
        for (const auto& [set, some] : members) {
            if (!sets[set].children.empty()) {
                strays = &some;
            } else {
                home = set;
                ++homes;
            }
        }
        if (strays && homes == 1 && sets[home].parent == at[strays->front()]) {
            sets[home].hosts.insert(sets[home].hosts.end(), strays->begin(), strays->end());
            std::sort(sets[home].hosts.begin(), sets[home].hosts.end());
        }
        if (homes == 1 && members.at(home).size() >= 2) parts[home].push_back(members.at(home));
    }
    for (auto& [set, lists] : parts) {
        size_t placed = 0;
        for (const auto& list : lists) placed += list.size();
        if (lists.size() < 2 || placed + placed / 8 + 1 < sets[set].hosts.size()) continue;
        for (auto& list : lists) add_child(sets, set, std::move(list));
    }
}

// Hands a set's children to its parent; the set is empty then.
void dissolve(HostSets& sets, uint32_t gone) {
    HostSet& parent = sets[sets[gone].parent];
    std::erase(parent.children, gone);
    for (const uint32_t child : sets[gone].children) {
        sets[child].parent = sets[gone].parent;
        parent.children.push_back(child);
    }
    sets[gone].children.clear();
    sets[gone].hosts.clear();
}

// Takes empty sets out, and numbers the rest anew, parents first.
void tidy_up(HostSets& sets) {
    HostSets made{sets.front()};
    std::vector<uint32_t> old{0};
    for (uint32_t i = 0; i < made.size(); ++i) {
        made[i].children.clear();
        for (const uint32_t child : sets[old[i]].children) {
            made[i].children.push_back(static_cast<uint32_t>(made.size()));
            made.push_back(sets[child]);
            made.back().parent = i;
            old.push_back(child);
        }
    }
    sets = std::move(made);
}

}  // namespace

std::vector<uint32_t> innermost(const HostSets& sets, uint32_t hosts) {
    std::vector<uint32_t> at(hosts, kNoSet);
    for (uint32_t set = 0; set < sets.size(); ++set) {
        for (const uint32_t host : sets[set].hosts) at[host] = set;
    }
    return at;
}

void refine(HostSets& sets, std::span<const Partition> partitions) {
    for (const Partition& partition : partitions) refine_by(sets, partition);
}

void measure_crossings(HostSets& sets, std::span<const Observation> observations, double usual) {
    for (HostSet& set : sets) {
        double most = 0;
        double most_crowded = 0;
        for (const Observation& seen : observations) {
            std::array<double, 2> sum{};  // out, in
            std::array<uint32_t, 2> count{};
            for (size_t i = 0; i < seen.transfers.size(); ++i) {
                const bool starts = holds(set, seen.transfers[i].from);
                const bool ends = holds(set, seen.transfers[i].to);
                if (starts == ends || seen.speeds[i] < 0) continue;
                sum[starts ? 0 : 1] += seen.speeds[i];
                ++count[starts ? 0 : 1];
            }
            for (const uint32_t way : {0, 1}) {
                most = std::max(most, sum[way]);
                if (sum[way] > kSlow * usual * count[way]) continue;
                most_crowded = std::max(most_crowded, sum[way]);
            }
        }
        const double all = usual * static_cast<double>(set.hosts.size());
        // What crosses slowly for a reason farther up is less than what crosses at other times.
        set.is_crowded = most_crowded > kNoBottleneck * most;
        set.crossing = set.is_crowded ? most_crowded : std::max(most, all);
    }
}

void simplify(HostSets& sets) {
    for (auto set = static_cast<uint32_t>(sets.size()); set-- > 1;) {
        if (sets[set].children.empty()) continue;
        double below = 0;
        for (const uint32_t child : sets[set].children) below += sets[child].crossing;
        if (sets[set].crossing > kNoBottleneck * below) dissolve(sets, set);
    }
    if (sets[0].children.size() == 2) {
        const auto [one, other] = std::pair(sets[0].children[0], sets[0].children[1]);
        const bool is_split = !sets[one].children.empty();
        if (is_split != !sets[other].children.empty()) dissolve(sets, is_split ? one : other);
    }
    tidy_up(sets);
}

}  // namespace tutti::survey
