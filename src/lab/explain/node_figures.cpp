// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/node_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "run/node/figures_text.h"

namespace tutti::explain {
namespace {

// At how many levels, from the outermost on, two processors lie in the same object.
size_t shared_levels(const std::vector<uint32_t>& one, const std::vector<uint32_t>& other) {
    size_t level = 0;
    while (level < one.size() && one[level] == other[level]) ++level;
    return level;
}

std::string distance_text(const std::vector<std::string>& levels, size_t shared) {
    if (levels.empty()) return "any two";
    if (shared == levels.size()) return "same " + levels.back();
    const std::string apart = "other " + levels[shared];
    return shared == 0 ? apart : fmt::format("same {}, {}", levels[shared - 1], apart);
}

void keep_least(uint32_t& least, uint32_t ns) {
    if (ns != 0 && (least == 0 || ns < least)) least = ns;
}
template <size_t n>
void keep_least(std::array<uint32_t, n>& least, const std::array<uint32_t, n>& ns) {
    for (size_t i = 0; i < n; ++i) keep_least(least[i], ns[i]);
}

}  // namespace

std::vector<CpuPair> pairs_by_distance(const topo::NodeTopology& topology,
                                       const topo::CpuSet& allowed) {
    std::vector<uint32_t> cpus;
    for (uint32_t cpu = 0; cpu < topology.place.size(); ++cpu) {
        if (topology.cpus.has(cpu) && allowed.has(cpu)) cpus.push_back(cpu);
    }
    const size_t levels = topology.level_names.size();
    std::vector<CpuPair> found(levels + 1);  // by levels shared; not yet: first == second
    for (size_t i = 0; i < cpus.size(); ++i) {
        for (size_t j = i + 1; j < cpus.size(); ++j) {
            const size_t shared = shared_levels(topology.place[cpus[i]], topology.place[cpus[j]]);
            CpuPair& pair = found[shared];
            if (pair.first != pair.second) continue;
            pair = {cpus[i], cpus[j], distance_text(topology.level_names, shared)};
        }
    }
    std::reverse(found.begin(), found.end());
    std::erase_if(found, [](const CpuPair& pair) { return pair.first == pair.second; });
    return found;
}

node::Figures least_of(const node::Figures& one, const node::Figures& other) {
    node::Figures least = one;
    keep_least(least.barrier_ns, other.barrier_ns);
    keep_least(least.way_ns, other.way_ns);
    keep_least(least.short_ring_ns, other.short_ring_ns);
    keep_least(least.one_way.ring, other.one_way.ring);
    keep_least(least.one_way.single, other.one_way.single);
    keep_least(least.all_ways.ring, other.all_ways.ring);
    keep_least(least.all_ways.single, other.all_ways.single);
    keep_least(least.short_ns, other.short_ns);
    keep_least(least.fold_ns, other.fold_ns);
    keep_least(least.readers_ns, other.readers_ns);
    return least;
}

std::vector<SpeedLine> speed_lines(std::span<const PairSpeed> pairs,
                                   const std::string& no_single_copy) {
    std::vector<SpeedLine> lines;
    for (const PairSpeed& pair : pairs) {
        std::string label =
            fmt::format("{} ({}, {})", pair.cpus.distance, pair.cpus.first, pair.cpus.second);
        if (!pair.obstacle.empty()) {
            lines.push_back({std::move(label), "not measured: " + pair.obstacle});
            continue;
        }
        for (std::string& text : node::figures_text(pair.figures)) {
            lines.push_back({std::exchange(label, ""), std::move(text)});
        }
        lines.push_back({"", "-> " + node::consequence_text(pair.figures, pair.tuning,
                                                            no_single_copy.empty())});
    }
    if (!no_single_copy.empty()) lines.push_back({"single copy", "off: " + no_single_copy});
    return lines;
}

}  // namespace tutti::explain
