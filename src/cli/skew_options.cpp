// SPDX-License-Identifier: BSD-3-Clause
#include "cli/skew_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "cli/command_line.h"
#include "cli/saved_figures.h"

namespace tutti::cli {
namespace {

constexpr uint64_t kMostNsMax = 60'000'000'000;
constexpr size_t kLevelsMax = 32;
constexpr std::string_view kExample = "expected DISTRIBUTION:MAX, such as uniform:10ms";

std::optional<uint64_t> most_of(std::string_view text) {
    const auto ns = text == "0" ? 0 : parse_duration(text);
    return ns && *ns <= kMostNsMax ? ns : std::nullopt;
}

std::optional<std::vector<uint64_t>> ranks_of(const nlohmann::json& call) {
    if (!call.is_array() || call.empty()) return std::nullopt;
    std::vector<uint64_t> late_ns;
    for (const nlohmann::json& one : call) {
        if (!one.is_number()) return std::nullopt;
        const auto seconds = one.get<double>();
        if (!(seconds >= 0 && seconds * 1e9 <= kMostNsMax)) return std::nullopt;
        late_ns.push_back(static_cast<uint64_t>(std::llround(seconds * 1e9)));
    }
    return late_ns;
}

bench::SkewOptions options_of(adapt::RecordedDelays recorded) {
    uint64_t most_ns = 0;
    for (const auto& call : recorded) most_ns = std::max(most_ns, *std::ranges::max_element(call));
    return {adapt::Skew::kReport,
            {most_ns},
            std::make_shared<const adapt::RecordedDelays>(std::move(recorded))};
}

}  // namespace

Result<adapt::RecordedDelays> parse_recorded(std::string_view text) {
    const auto report = nlohmann::json::parse(text, nullptr, false);
    const nlohmann::json::json_pointer place("/arrivals/recorded/late_s");
    if (!report.is_object() || !report.contains(place) || !report[place].is_array() ||
        report[place].empty()) {
        return wrong(
            "has no recorded arrivals: it is to be the JSON of a report, of a run "
            "of some hundred collectives on all ranks");
    }
    adapt::RecordedDelays recorded;
    for (const nlohmann::json& call : report[place]) {
        auto late_ns = ranks_of(call);
        if (!late_ns || (!recorded.empty() && late_ns->size() != recorded[0].size())) {
            return wrong(
                "arrivals.recorded.late_s is not the same ranks' seconds, of at most a minute, "
                "call by call");
        }
        recorded.push_back(std::move(*late_ns));
    }
    return recorded;
}

Result<bench::SkewOptions> parse_skew(std::string_view text) {
    const size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const std::string said = "--skew '" + printable(text) + "': ";
    if (name == "report" && colon != std::string_view::npos) {
        const auto report = read_report(std::string(text.substr(colon + 1)));
        if (!report) return wrong(said + report.error().message);
        auto recorded = parse_recorded(report.value());
        if (!recorded) return wrong(said + recorded.error().message);
        return options_of(std::move(recorded.value()));
    }
    const auto skew = adapt::find_skew(name);
    if (skew == adapt::Skew::kReport) return wrong(said + "expected report:FILE.json");
    if (!skew) {
        const auto close = nearest(name, adapt::kSkewNames);
        return wrong(said + (close ? "did you mean " + std::string(*close) + "?"
                                   : fmt::format("{}; distributions are {}", kExample,
                                                 fmt::join(adapt::kSkewNames, ", "))));
    }
    bench::SkewOptions options{*skew, {}};
    if (*skew == adapt::Skew::kNone) {
        if (colon != std::string_view::npos) return wrong(said + "none has no MAX");
        options.most_ns.push_back(0);
        return options;
    }
    if (colon == std::string_view::npos) return wrong(said + std::string(kExample));
    for (const std::string_view level : split(text.substr(colon + 1), ',')) {
        const auto ns = most_of(level);
        if (!ns) {
            return wrong(said +
                         "MAX is a time such as 500us or 10ms, of at most a minute, or "
                         "some of these: 0,1ms,10ms");
        }
        if (!options.most_ns.empty() && *ns <= options.most_ns.back()) {
            return wrong(said + "each MAX is to be longer than the one before it");
        }
        options.most_ns.push_back(*ns);
    }
    if (options.most_ns.size() > kLevelsMax) {
        return wrong(said + fmt::format("more than {} times MAX", kLevelsMax));
    }
    return options;
}

}  // namespace tutti::cli
