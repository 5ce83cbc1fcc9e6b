// SPDX-License-Identifier: BSD-3-Clause
#include "lab/tune/make_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "base/collectives.h"
#include "base/config/toml_text.h"
#include "base/text.h"

namespace tutti::tune {
namespace {

constexpr size_t kToldMax = 3;  // sizes in one rule's reason

struct Winner {
    const MeasuredCall* call = nullptr;
    Candidate candidate;
    double us = 0;
};

Winner winner_of(const MeasuredCall& call) {
    Winner winner{&call, {std::string(select::kHostMpi)}, call.host_us};
    const auto best = std::ranges::min_element(call.ours, {}, &Timed::us);
    if (best != call.ours.end() && best->us <= kHostWins * call.host_us) {
        winner.candidate = best->candidate;
        winner.us = best->us;
    }
    return winner;
}

std::string time_text(double us) {
    return format_duration(static_cast<uint64_t>(std::max(us, 0.0) * 1000 + 0.5));
}

// "97 us, your MPI 132 us": of the host's own the best of ours.
std::string times_text(const Winner& winner) {
    if (winner.candidate.algorithm != select::kHostMpi) {
        return fmt::format("{}, your MPI {}", time_text(winner.us),
                           time_text(winner.call->host_us));
    }
    const auto best = std::ranges::min_element(winner.call->ours, {}, &Timed::us);
    const std::string host = time_text(winner.call->host_us);
    if (best == winner.call->ours.end()) return host;
    return fmt::format("{}, {} {}", host, best->candidate.algorithm, time_text(best->us));
}

std::string why(std::span<const Winner> winners) {
    std::string text = "measured";
    if (winners.front().call->collective == TUTTI_BARRIER) {
        return text + ": " + times_text(winners.front());
    }
    // The ends of the range, and what lies between as far as there is room.
    const size_t step = std::max<size_t>(1, (winners.size() + kToldMax - 1) / kToldMax);
    for (size_t i = 0; i < winners.size(); i += step) {
        text += fmt::format("{} at {} {}", i == 0 ? ":" : ";", format_bytes(winners[i].call->bytes),
                            times_text(winners[i]));
    }
    return text;
}

uint64_t half_way(uint64_t low, uint64_t high) {
    return static_cast<uint64_t>(std::sqrt(static_cast<double>(low) * static_cast<double>(high)));
}

select::Range exactly(uint64_t value) { return {value, value}; }

std::string range_text(const select::Range& range, bool in_bytes) {
    const auto word = [&](uint64_t value) {
        return in_bytes ? bytes_word(value) : fmt::format("{}", value);
    };
    // "64K" is no number of TOML's.
    if (range.low == range.high) return in_bytes ? '"' + word(range.low) + '"' : word(range.low);
    const std::string low = range.low == 0 ? "" : word(range.low);
    const std::string high = range.high == select::Range().high ? "" : word(range.high);
    return fmt::format("\"{}..{}\"", low, high);
}

// `"ring"`, `["gather", "scatter"]`
std::string strings_text(const std::vector<std::string_view>& words) {
    const std::string all = fmt::format("\"{}\"", fmt::join(words, "\", \""));
    return words.size() == 1 ? all : "[" + all + "]";
}

// A rule about all calls of a job of this shape.
select::Rule rule_of_shape(const JobShape& job) {
    select::Rule rule;
    rule.ranks = exactly(job.ranks);
    rule.hosts = exactly(job.hosts);
    if (job.hosts > 1) rule.contiguous = job.is_contiguous;
    if (job.hosts > 1 && job.ranks_per_host != 0) {
        rule.ranks_per_host = exactly(job.ranks_per_host);
    }
    return rule;
}

select::Rule rule_of(std::span<const Winner> winners, const select::Range& bytes,
                     const JobShape& job) {
    select::Rule rule = rule_of_shape(job);
    rule.collectives[winners.front().call->collective] = true;
    if (bytes != select::Range()) rule.bytes = bytes;
    rule.algorithm = winners.front().candidate.algorithm;
    rule.tuning = winners.front().candidate.tuning;
    rule.why = why(winners);
    return rule;
}

// The shortest that was left out of those longer than this.
std::optional<uint64_t> next_left_out(std::span<const PlannedCall> left_out,
                                      const MeasuredCall& longest) {
    std::optional<uint64_t> next;
    for (const PlannedCall& call : left_out) {
        if (call.collective != longest.collective || call.bytes <= longest.bytes) continue;
        next = std::min(next.value_or(call.bytes), call.bytes);
    }
    return next;
}

auto about(const select::Rule& rule) {
    return std::tuple(rule.ranks, rule.hosts, rule.ranks_per_host, rule.contiguous);
}

}  // namespace

std::vector<select::Rule> rules_of(std::span<const MeasuredCall> measured,
                                   std::span<const PlannedCall> left_out, const JobShape& job) {
    std::vector<select::Rule> rules;
    for (int one = 0; one < TUTTI_COLLECTIVE_COUNT; ++one) {
        std::vector<Winner> winners;
        for (const MeasuredCall& call : measured) {
            if (call.collective == one) winners.push_back(winner_of(call));
        }
        std::ranges::sort(winners, {}, [](const Winner& winner) { return winner.call->bytes; });
        select::Range bytes;
        for (size_t begin = 0; begin < winners.size();) {
            size_t end = begin + 1;
            while (end < winners.size() && winners[end].candidate == winners[begin].candidate) {
                ++end;
            }
            const MeasuredCall& last = *winners[end - 1].call;
            std::optional<uint64_t> next = next_left_out(left_out, last);
            if (end < winners.size()) next = winners[end].call->bytes;
            bytes.high = next ? half_way(last.bytes, *next) : select::Range().high;
            rules.push_back(rule_of(std::span(winners).subspan(begin, end - begin), bytes, job));
            bytes.low = bytes.high + 1;
            begin = end;
        }
    }
    return rules;
}

std::vector<select::Rule> kept_rules(const select::Rules& former,
                                     const select::Fingerprint& fingerprint, const JobShape& job) {
    std::vector<select::Rule> kept;
    if (former.tuned() != fingerprint) return kept;
    for (const select::Rule& rule : former.rules()) {
        if (about(rule) != about(rule_of_shape(job))) kept.push_back(rule);
    }
    return kept;
}

std::string rule_text(const select::Rule& rule) {
    std::string text = "[[rule]]\n";
    const auto add = [&](const char* key, const std::string& value) {
        text += fmt::format("{} = {}\n", key, value);
    };
    const auto add_range = [&](const char* key, const std::optional<select::Range>& range) {
        if (range) add(key, range_text(*range, std::string_view(key) == "bytes"));
    };
    const auto add_switch = [&](const char* key, const std::optional<bool>& value) {
        if (value) add(key, *value ? "true" : "false");
    };
    std::vector<std::string_view> collectives;
    for (size_t one = 0; one < rule.collectives.size(); ++one) {
        if (rule.collectives[one]) collectives.push_back(kCollectiveNames[one]);
    }
    add("collective", strings_text(collectives));
    add_range("bytes", rule.bytes);
    add_range("ranks", rule.ranks);
    add_range("hosts", rule.hosts);
    add_range("ranks_per_host", rule.ranks_per_host);
    add_range("switches", rule.switches);
    add_range("hosts_per_switch", rule.hosts_per_switch);
    add_switch("contiguous", rule.contiguous);
    if (!rule.mpis.empty()) {
        add("mpi", strings_text(std::vector<std::string_view>(rule.mpis.begin(), rule.mpis.end())));
    }
    add_switch("commutative", rule.commutative);
    for (size_t i = 0; i < kNetworks.size(); ++i) {
        add_switch(kNetworks[i].name.data(), rule.networks[i]);
    }
    add_switch("multicast", rule.multicast);
    add_range("multicast_mbit", rule.multicast_mbit);
    const std::string own = rule.node_algorithm ? ":" + *rule.node_algorithm : "";
    add("algorithm", fmt::format("\"{}{}\"", rule.algorithm, own));
    for (const auto& [key, value] : select::tuning_entries(rule.tuning)) {
        const bool is_word = key == "segment" || key == "order";
        add(key.c_str(), is_word ? fmt::format("\"{}\"", value) : value);
    }
    if (!rule.why.empty()) add("why", config::toml_string(rule.why));
    return text;
}

}  // namespace tutti::tune
