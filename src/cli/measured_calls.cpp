// SPDX-License-Identifier: BSD-3-Clause
#include "cli/measured_calls.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "cli/saved_figures.h"
#include "cli/scenario_options.h"
#include "plan/algo/plan.h"

namespace tutti::cli {
namespace {

using SavedRows = nlohmann::json;

// More calls, bytes or seconds of all together than a job has.
constexpr double kMost = 1e18;
constexpr double kSecondsMost = 1e9;

std::optional<double> count_in(const SavedRows& entry, const char* key) {
    const auto found = entry.find(key);
    if (found == entry.end() || !found->is_number()) return std::nullopt;
    const auto number = found->get<double>();
    return number >= 0 && number < kMost ? std::optional(number) : std::nullopt;
}

bool is_word(const SavedRows& entry, const char* key, std::string_view word) {
    const auto found = entry.find(key);
    return found != entry.end() && found->is_string() && found->get<std::string>() == word;
}

// As it runs, where it is the one that would be chosen.
algo::Tuning tuning_of_run(const explain::Scenario& scenario, const sched::Shape& shape,
                           const topo::Placement& placement, select::Prices* chooses,
                           const algo::Algorithm& algorithm) {
    const auto choice = scenario.choose(shape, placement, nullptr, chooses);
    return choice && choice.value().algorithm == &algorithm ? choice.value().tuning
                                                            : algo::Tuning{};
}

// Nothing where nobody knows its price.
std::optional<uint64_t> predicted(const explain::Scenario& scenario,
                                  const topo::Placement& placement, const select::Cluster& cluster,
                                  select::Prices* chooses, const MeasuredCalls& calls) {
    const algo::Algorithm* algorithm = algo::find(scenario.collective, calls.algorithm);
    sched::Shape shape = scenario.shape(calls.mean_bytes);
    if (algorithm == nullptr) return std::nullopt;
    shape.has_multicast = algorithm->has_multicast;
    if (algorithm->has_multicast && cluster.network.multicast.mbit == 0) return std::nullopt;
    const algo::Tuning tuning = tuning_of_run(scenario, shape, placement, chooses, *algorithm);
    if (!algo::plan_obstacle(*algorithm, shape, placement, tuning).empty()) return std::nullopt;
    return select::predicted_ns(*algorithm, shape, placement, tuning, cluster);
}

void print_calls(const MeasuredCalls& calls, std::optional<uint64_t> ns) {
    fmt::print("  {:<18} {:>9} {:>12} {:>10} {:>10}", calls.algorithm, calls.calls,
               format_bytes(calls.mean_bytes), format_duration(calls.mean_ns),
               ns ? format_duration(*ns) : "-");
    if (ns && calls.mean_ns > 0) {
        const double off = static_cast<double>(*ns) / static_cast<double>(calls.mean_ns) - 1;
        fmt::print(" {:>+7.0f} %", 100 * off);
    }
    fmt::print("\n");
}

}  // namespace

Result<std::vector<MeasuredCalls>> parse_measured_calls(std::string_view text,
                                                        std::string_view collective,
                                                        uint32_t ranks) {
    const SavedRows report = SavedRows::parse(text, nullptr, false);
    const auto rows = report.is_object() ? report.find("collectives") : report.end();
    if (rows == report.end() || !rows->is_array()) {
        return Error{ErrorCode::kArgument, "is no report of TUTTI_REPORT: no list \"collectives\""};
    }
    std::vector<MeasuredCalls> found;
    for (const SavedRows& row : *rows) {
        if (!row.is_object() || !is_word(row, "collective", collective)) continue;
        if (!is_word(row, "run_by", "tutti") || row.value("ranks", SavedRows()) != ranks) continue;
        const auto calls = count_in(row, "calls");
        const auto bytes = count_in(row, "bytes");
        const auto seconds = count_in(row, "seconds");
        const auto algorithm = row.find("algorithm");
        const bool has_name = algorithm != row.end() && algorithm->is_string();
        if (!has_name || !calls || !bytes || !seconds || *calls < 1 || *seconds > kSecondsMost ||
            *bytes / *calls > static_cast<double>(kCallBytesMax)) {
            return Error{ErrorCode::kArgument, "a row of \"collectives\" is not whole"};
        }
        found.push_back({printable(algorithm->get<std::string>()), static_cast<uint64_t>(*calls),
                         static_cast<uint64_t>(std::llround(*bytes / *calls)),
                         static_cast<uint64_t>(std::llround(*seconds / *calls * 1e9))});
    }
    return found;
}

Result<std::vector<MeasuredCalls>> read_measured_calls(const CommandLine& command_line,
                                                       const explain::Scenario& scenario) {
    const std::string* name = command_line.find(kAgainstOption.name);
    if (name == nullptr) return std::vector<MeasuredCalls>{};
    const auto wrong = [&](const Error& error) {
        return Error{ErrorCode::kArgument, fmt::format("{}: {}: {}", kAgainstOption.name,
                                                       printable(*name), error.message)};
    };
    const auto text = read_report(*name);
    if (!text) return wrong(text.error());
    const std::string_view collective = collective_name(scenario.collective);
    auto found = parse_measured_calls(text.value(), collective, scenario.ranks);
    if (!found) return wrong(found.error());
    if (found.value().empty()) {
        return wrong({ErrorCode::kArgument, fmt::format("Tutti ran no {} of {} ranks there",
                                                        collective, scenario.ranks)});
    }
    return found;
}

void print_measured_calls(const CommandLine& command_line, const std::vector<MeasuredCalls>& all,
                          const explain::Scenario& scenario, const topo::Placement& placement,
                          const select::Cluster& cluster, select::Prices* chooses) {
    const std::string* name = command_line.find(kAgainstOption.name);
    if (name == nullptr) return;
    fmt::print("\n{:20} {:>9} {:>12} {:>10} {:>10} {:>9}\n", printable(*name), "calls", "bytes",
               "measured", "predicted", "off");
    for (const MeasuredCalls& calls : all) {
        print_calls(calls, predicted(scenario, placement, cluster, chooses, calls));
    }
    fmt::print(
        "\nmeasured: the mean time of a rank inside a call, with what it waits there for others; "
        "bytes: the mean too.\n");
}

}  // namespace tutti::cli
