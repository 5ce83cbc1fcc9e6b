// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/option_words.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "plan/algo/plan.h"
#include "plan/sched/program.h"
#include "plan/select/rules.h"
#include "run/node/node_algorithms.h"

namespace tutti::select {
namespace {

// Shorter segments than a few cache lines are all overhead, longer ones than a message are cut.
constexpr uint64_t kSegmentBytesMin = 256;
constexpr uint64_t kSegmentBytesMax = sched::kBlockBytesMax;
constexpr uint64_t kLeadersMax = 1024;
// One round holds the messages of all children.
constexpr uint64_t kFanInMax = sched::kRoundOpsMax;

std::string hint(std::string_view word, std::span<const std::string_view> known) {
    const auto close = nearest(word, known);
    return close ? "; did you mean " + std::string(*close) + "?" : std::string();
}

Fault set_number(uint32_t& target, std::string_view key, std::string_view value, uint64_t low,
                 uint64_t high) {
    const auto number = parse_count(value);
    if (!number || *number < low || *number > high) {
        return std::string(key) + "=" + printable(value) + ": expected a number from " +
               std::to_string(low) + " to " + std::to_string(high);
    }
    target = static_cast<uint32_t>(*number);
    return std::nullopt;
}

Fault set_segment(algo::Tuning& tuning, std::string_view value) {
    const auto bytes = parse_bytes(value);
    if (!bytes || *bytes < kSegmentBytesMin || *bytes > kSegmentBytesMax) {
        return "segment=" + printable(value) + ": expected bytes from " +
               format_bytes(kSegmentBytesMin) + " to " + format_bytes(kSegmentBytesMax);
    }
    tuning.segment_bytes = *bytes;
    return std::nullopt;
}

Fault set_order(algo::Tuning& tuning, std::string_view value) {
    if (value != "ranks" && value != "switches") {
        return "order=" + printable(value) + ": expected ranks or switches";
    }
    tuning.order = value == "ranks" ? algo::Order::kRanks : algo::Order::kSwitches;
    return std::nullopt;
}

Fault set_flat(algo::Tuning& tuning, std::string_view value) {
    const auto on = parse_switch(value);
    if (!on) return "flat=" + printable(value) + ": expected 0 or 1";
    tuning.flat = *on;
    return std::nullopt;
}

}  // namespace

Fault unknown_algorithm(tutti_collective collective, std::string_view name) {
    if (name == kHostMpi || name == kNodeLevel || algo::find(collective, name)) return std::nullopt;
    std::vector<std::string_view> known{kHostMpi};
    bool is_elsewhere = false;
    for (const algo::Algorithm& one : algo::algorithms()) {
        if (one.collective == collective) known.push_back(one.name);
        is_elsewhere = is_elsewhere || one.name == name;
    }
    if (!is_elsewhere && node::find(collective, name)) {
        return std::string(name) + " is an algorithm within a host: node:" + std::string(name);
    }
    if (!is_elsewhere) {
        return "unknown algorithm " + printable(name) + " of " +
               std::string(collective_name(collective)) + hint(name, known);
    }
    std::string all;
    for (const std::string_view one : known) all += (all.empty() ? "" : ", ") + std::string(one);
    return std::string(collective_name(collective)) + " has no algorithm " + std::string(name) +
           "; it has " + all;
}

Fault unknown_node_algorithm(tutti_collective collective, std::string_view name) {
    if (node::find(collective, name)) return std::nullopt;
    std::string all;
    for (const node::Algorithm* one : node::algorithms(collective)) {
        all += (all.empty() ? "node:" : ", node:") + std::string(one->name);
    }
    if (name.empty()) return "node: which of its algorithms? " + all;
    return std::string(collective_name(collective)) + " has no node algorithm " + printable(name) +
           "; it has " + all;
}

Fault set_tuning(algo::Tuning& tuning, std::string_view key,
                 std::optional<std::string_view> value) {
    if (key == "flat") return set_flat(tuning, value.value_or("1"));
    const bool is_known =
        std::find(kTuningKeys.begin(), kTuningKeys.end(), key) != kTuningKeys.end();
    if (!is_known) return "unknown option " + printable(key) + hint(key, kTuningKeys);
    if (!value) return std::string(key) + ": a value is missing";
    if (key == "segment") return set_segment(tuning, *value);
    if (key == "order") return set_order(tuning, *value);
    if (key == "lanes") {
        return set_number(tuning.lanes_in_flight, key, *value, 1, sched::kLanesInFlightMax);
    }
    if (key == "leaders") return set_number(tuning.leaders, key, *value, 1, kLeadersMax);
    return set_number(tuning.fan_in, key, *value, 2, kFanInMax);
}

Fault tuning_fault(tutti_collective collective, std::string_view algorithm,
                   const algo::Tuning& tuning) {
    const std::string word(collective_name(collective));
    const algo::Algorithm* one = algo::find(collective, algorithm);
    const bool has_lanes = tuning.lanes_in_flight != 0 || tuning.leaders != 0;
    if (algorithm == kHostMpi || algorithm == kNodeLevel) {
        if (tuning == algo::Tuning{}) return std::nullopt;
        return std::string(algorithm) + " takes no options";
    }
    const bool is_cut = is_vector(collective) || (one != nullptr && one->has_pieces);
    if ((has_lanes && !is_vector(collective)) || (tuning.segment_bytes != 0 && !is_cut)) {
        return word +
               " moves whole blocks: segment, lanes and leaders are for bcast, reduce and "
               "allreduce, segment for allgather ring and multicast, alltoall linear and pairwise";
    }
    if (has_lanes && one != nullptr && one->has_pieces) {
        return word + " " + std::string(algorithm) + " has one lane: no lanes or leaders";
    }
    const uint64_t segment_max = one != nullptr ? one->segment_bytes_max : 0;
    if (segment_max != 0 && tuning.segment_bytes > segment_max) {
        return "segment=" + std::to_string(tuning.segment_bytes) + ": " + word + " " +
               std::string(algorithm) + " has segments up to " + format_bytes(segment_max);
    }
    if (tuning.fan_in != 0 && (one == nullptr || !one->has_fan_in)) {
        return word + " " + printable(algorithm) + " has no fan_in";
    }
    if (one != nullptr && one->fan_in_max != 0 && tuning.fan_in > one->fan_in_max) {
        return "fan_in=" + std::to_string(tuning.fan_in) + ": " + word + " " +
               std::string(algorithm) + " has at most " + std::to_string(one->fan_in_max);
    }
    if (tuning.flat && tuning.leaders != 0) {
        return "leaders: where flat is set, every rank is its own";
    }
    const bool has_order = tuning.order != algo::Order::kSwitches;
    if (one != nullptr && algo::keeps_ranks(*one) && has_order) {
        return "order: " + word + " " + std::string(algorithm) + " has that of ranks anyway";
    }
    const bool has_leaders = algo::has_leaders(collective) && (one == nullptr || !one->is_flat);
    if (tuning.leaders != 0 && !has_leaders) {
        const bool is_last = is_prefix(collective);
        return "leaders: in " + word + " " + std::string(algorithm) +
               (is_last ? " the last rank of a host leads" : " every rank is its own");
    }
    return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> tuning_entries(const algo::Tuning& tuning) {
    std::vector<std::pair<std::string, std::string>> words;
    const auto add = [&](const char* key, uint32_t value) {
        if (value != 0) words.emplace_back(key, std::to_string(value));
    };
    if (tuning.segment_bytes != 0) words.emplace_back("segment", bytes_word(tuning.segment_bytes));
    add("lanes", tuning.lanes_in_flight);
    add("leaders", tuning.leaders);
    add("fan_in", tuning.fan_in);
    if (tuning.flat) words.emplace_back("flat", "true");
    if (tuning.order == algo::Order::kRanks) words.emplace_back("order", "ranks");
    return words;
}

std::string forced_text(std::string_view algorithm, const algo::Tuning& tuning) {
    std::string text(algorithm);
    char before = ':';
    for (const auto& [key, value] : tuning_entries(tuning)) {
        text += before + key;
        if (key != "flat") text += '=' + value;
        before = ',';
    }
    return text;
}

}  // namespace tutti::select
