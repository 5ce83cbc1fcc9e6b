// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/figures_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "base/text.h"

namespace tutti::node {
namespace {

// Two digits that count.
std::string us_text(uint32_t ns) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.*f", ns < 1000 ? 2 : 1, static_cast<double>(ns) / 1000);
    return text;
}

// 0: not measured.
void add_time(std::string& text, const char* name, uint32_t ns) {
    if (ns == 0) return;
    if (!text.empty()) text += ", ";
    text += name;
    text += " " + us_text(ns);
}

bool has_single(const Times& times) {
    return std::any_of(times.single.begin(), times.single.end(),
                       [](uint32_t ns) { return ns != 0; });
}

// The quickest of those that were tried; empty: none.
std::string readers_text(const Figures& figures) {
    size_t best = kReaderLimits;
    for (size_t i = 0; i < kReaderLimits; ++i) {
        const uint32_t ns = figures.readers_ns[i];
        if (ns != 0 && (best == kReaderLimits || ns < figures.readers_ns[best])) best = i;
    }
    if (best == kReaderLimits || figures.one_way.single[kMeasuredMiddle] == 0) return "";
    return ", by " + std::to_string(1u << best) + " at a time " + us_text(figures.readers_ns[best]);
}

std::string from_text(uint64_t bytes) {
    return bytes == kNever ? "never" : "from " + format_bytes(bytes) + " on";
}

std::string moving_text(const Figures& figures, const Tuning& tuning) {
    const uint64_t one_way = tuning.single_one_way;
    const uint64_t all_ways = tuning.single_all_ways;
    if (one_way == 0 && all_ways == 0) return "single copy wherever it may";
    if (one_way != all_ways) {
        return "single copy " + from_text(one_way) + " one way, " + from_text(all_ways) +
               " both ways";
    }
    if (tuning.single_once != kNever) {
        return "single copy " + from_text(tuning.single_once) + " between all";
    }
    const bool is_measured = has_single(figures.one_way) || has_single(figures.all_ways);
    if (one_way == kNever && !is_measured) return "single copy not measured";
    return "single copy " + from_text(one_way);
}

std::string single_text(const Figures& figures, const Tuning& tuning) {
    const std::string text = moving_text(figures, tuning);
    if (tuning.single_scatter == tuning.single_one_way) return text;
    return text + ", of scatters " + from_text(tuning.single_scatter);
}

// Where two lengths were compared.
std::string ring_text(const Figures& figures, const Tuning& tuning) {
    if (figures.short_ring_ns == 0) return "";
    return tuning.ring_bytes == kShortRingBytes ? " through short rings" : " through long rings";
}

}  // namespace

std::vector<std::string> figures_text(const Figures& figures) {
    if (figures.barrier_ns == 0) return {"nothing measured"};
    std::string one_way;
    for (size_t i = 0; i < kCopyWays; ++i) {
        add_time(one_way, name_of(static_cast<CopyWay>(i)), figures.way_ns[i]);
    }
    add_time(one_way, "short ring", figures.short_ring_ns);
    add_time(one_way, "folded", figures.fold_ns);
    add_time(one_way, "single copy", figures.one_way.single[kMeasuredMiddle]);
    one_way += readers_text(figures);
    std::string both_ways;
    add_time(both_ways, "rings", figures.all_ways.ring[kMeasuredMiddle]);
    add_time(both_ways, "single copy", figures.all_ways.single[kMeasuredMiddle]);
    const std::string bytes = format_bytes(kMeasuredBytes[kMeasuredMiddle]);
    std::vector<std::string> lines = {"barrier " + us_text(figures.barrier_ns) + " us"};
    if (!one_way.empty()) lines[0] += "; " + bytes + " one way: " + one_way + " us";
    if (!both_ways.empty()) lines.push_back(bytes + " both ways: " + both_ways + " us");
    return lines;
}

std::string consequence_text(const Figures& figures, const Tuning& tuning, bool can_read) {
    std::string text = std::string("copies by ") + name_of(tuning.way) + " in pieces of up to " +
                       format_bytes(tuning.pieces.bytes_max) + ring_text(figures, tuning) + "; " +
                       (can_read ? single_text(figures, tuning) : "no single copy");
    const bool is_used = tuning.single_one_way != kNever || tuning.single_all_ways != kNever ||
                         tuning.single_scatter != kNever || tuning.single_once != kNever;
    if (!can_read || !is_used || tuning.readers_max == kAllReaders) return text;
    const bool is_one = tuning.readers_max == 1;
    return text + ", " + std::to_string(tuning.readers_max) +
           (is_one ? " reader at a time" : " readers at a time");
}

}  // namespace tutti::node
