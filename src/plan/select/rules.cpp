// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/rules.h"

#include <vector>

#include "base/text.h"
#include "plan/select/option_words.h"

namespace tutti::select {
namespace {

std::string describe(const Range& range, const auto& shown) {
    if (range.low == range.high) return shown(range.low);
    if (range.high == Range().high) return shown(range.low) + " and more";
    if (range.low == 0) return "up to " + shown(range.high);
    return shown(range.low) + " to " + shown(range.high);
}

void describe_counts(std::string& text, const std::optional<Range>& range, const char* what) {
    if (!range) return;
    const auto shown = [](uint64_t value) { return std::to_string(value); };
    text += std::string(", ") + what + " " + describe(*range, shown);
}

}  // namespace

std::optional<Range> parse_range(std::string_view text, bool in_bytes) {
    const auto number = [&](std::string_view word) {
        return in_bytes ? parse_bytes(word) : parse_count(word);
    };
    const size_t dots = text.find("..");
    const std::string_view low = text.substr(0, dots);
    const std::string_view high = dots == std::string_view::npos ? low : text.substr(dots + 2);
    if (low.empty() && high.empty()) return std::nullopt;
    Range range;
    if (!low.empty()) {
        const auto value = number(low);
        if (!value) return std::nullopt;
        range.low = *value;
    }
    if (!high.empty()) {
        const auto value = number(high);
        if (!value) return std::nullopt;
        range.high = *value;
    }
    if (range.low > range.high) return std::nullopt;
    return range;
}

std::string describe(const Rule& rule) {
    std::string text;
    for (size_t i = 0; i < kCollectiveNames.size(); ++i) {
        if (!rule.collectives[i]) continue;
        text += text.empty() ? "" : "/";
        text += kCollectiveNames[i];
    }
    if (rule.bytes) text += ", " + describe(*rule.bytes, format_bytes);
    describe_counts(text, rule.ranks, "ranks");
    describe_counts(text, rule.hosts, "hosts");
    describe_counts(text, rule.ranks_per_host, "ranks per host");
    describe_counts(text, rule.switches, "switches");
    describe_counts(text, rule.hosts_per_switch, "hosts per switch");
    if (rule.contiguous) text += *rule.contiguous ? ", contiguous" : ", not contiguous";
    for (const std::string& mpi : rule.mpis) text += ", " + mpi;
    if (rule.commutative) text += *rule.commutative ? ", commutative" : ", not commutative";
    for (size_t i = 0; i < kNetworks.size(); ++i) {
        if (!rule.networks[i]) continue;
        text += *rule.networks[i] ? ", with " : ", without ";
        text += kNetworks[i].title;
    }
    if (rule.multicast) text += *rule.multicast ? ", with multicast" : ", without multicast";
    describe_counts(text, rule.multicast_mbit, "multicast Mbit/s");
    return text;
}

Result<Forced> parse_forced(tutti_collective collective, std::string_view text) {
    const auto wrong = [](std::string what) {
        return Error{ErrorCode::kArgument, std::move(what)};
    };
    const size_t colon = text.find(':');
    Forced forced;
    forced.algorithm = algo::name_here(text.substr(0, colon));
    if (forced.algorithm.empty()) return wrong("which algorithm?");
    if (auto unknown = unknown_algorithm(collective, forced.algorithm)) {
        return wrong(std::move(*unknown));
    }
    if (forced.algorithm == kNodeLevel) {
        if (colon == std::string_view::npos) return forced;
        forced.node_algorithm = text.substr(colon + 1);
        if (auto unknown = unknown_node_algorithm(collective, forced.node_algorithm)) {
            return wrong(std::move(*unknown));
        }
        return forced;
    }
    if (colon != std::string_view::npos) {
        for (const std::string_view option : split(text.substr(colon + 1), ',')) {
            if (option.empty()) return wrong("an option is missing behind " + forced.algorithm);
            const size_t equals = option.find('=');
            const auto value = equals == std::string_view::npos
                                   ? std::nullopt
                                   : std::optional(option.substr(equals + 1));
            const std::string_view key = option.substr(0, equals);
            if (auto fault = set_tuning(forced.tuning, key, value)) return wrong(std::move(*fault));
        }
    }
    if (auto fault = tuning_fault(collective, forced.algorithm, forced.tuning)) {
        return wrong(std::move(*fault));
    }
    return forced;
}

}  // namespace tutti::select
