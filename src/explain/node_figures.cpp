// SPDX-License-Identifier: BSD-3-Clause
#include "explain/node_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/text.h"

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

// Two digits that count.
std::string us_text(uint32_t ns) {
    return fmt::format("{:.{}f}", static_cast<double>(ns) / 1000, ns < 1000 ? 2 : 1);
}

// 0: not measured.
void add_time(std::string& text, const char* name, uint32_t ns) {
    if (ns == 0) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, us_text(ns));
}

void keep_least(uint32_t& least, uint32_t ns) {
    if (ns != 0 && (least == 0 || ns < least)) least = ns;
}
template <size_t n>
void keep_least(std::array<uint32_t, n>& least, const std::array<uint32_t, n>& ns) {
    for (size_t i = 0; i < n; ++i) keep_least(least[i], ns[i]);
}

bool has_single(const node::Times& times) {
    return std::any_of(times.single.begin(), times.single.end(),
                       [](uint32_t ns) { return ns != 0; });
}

std::string from_text(uint64_t bytes) {
    return bytes == node::kNever ? "never" : fmt::format("from {} on", format_bytes(bytes));
}

std::string single_text(const node::Figures& figures, const node::Tuning& tuning) {
    const uint64_t one_way = tuning.single_one_way;
    const uint64_t all_ways = tuning.single_all_ways;
    if (one_way == 0 && all_ways == 0) return "single copy wherever it may";
    if (one_way != all_ways) {
        return fmt::format("single copy {} one way, {} both ways", from_text(one_way),
                           from_text(all_ways));
    }
    const bool is_measured = has_single(figures.one_way) || has_single(figures.all_ways);
    if (one_way == node::kNever && !is_measured) return "single copy not measured";
    return "single copy " + from_text(one_way);
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
    keep_least(least.one_way.ring, other.one_way.ring);
    keep_least(least.one_way.single, other.one_way.single);
    keep_least(least.all_ways.ring, other.all_ways.ring);
    keep_least(least.all_ways.single, other.all_ways.single);
    return least;
}

std::vector<std::string> figures_text(const node::Figures& figures) {
    if (figures.barrier_ns == 0) return {"nothing measured"};
    std::string one_way;
    for (size_t i = 0; i < node::kCopyWays; ++i) {
        add_time(one_way, node::name_of(static_cast<node::CopyWay>(i)), figures.way_ns[i]);
    }
    add_time(one_way, "single copy", figures.one_way.single[node::kMeasuredMiddle]);
    std::string both_ways;
    add_time(both_ways, "rings", figures.all_ways.ring[node::kMeasuredMiddle]);
    add_time(both_ways, "single copy", figures.all_ways.single[node::kMeasuredMiddle]);
    const std::string bytes = format_bytes(node::kMeasuredBytes[node::kMeasuredMiddle]);
    std::vector<std::string> lines = {fmt::format("barrier {} us", us_text(figures.barrier_ns))};
    if (!one_way.empty()) lines[0] += fmt::format("; {} one way: {} us", bytes, one_way);
    if (!both_ways.empty()) lines.push_back(fmt::format("{} both ways: {} us", bytes, both_ways));
    return lines;
}

std::string consequence_text(const node::Figures& figures, const node::Tuning& tuning,
                             bool can_read) {
    return fmt::format("copies by {} in pieces of up to {}; {}", node::name_of(tuning.way),
                       format_bytes(tuning.pieces.bytes_max),
                       can_read ? single_text(figures, tuning) : "no single copy");
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
        for (std::string& text : figures_text(pair.figures)) {
            lines.push_back({std::exchange(label, ""), std::move(text)});
        }
        lines.push_back(
            {"", "-> " + consequence_text(pair.figures, pair.tuning, no_single_copy.empty())});
    }
    if (!no_single_copy.empty()) lines.push_back({"single copy", "off: " + no_single_copy});
    return lines;
}

}  // namespace tutti::explain
