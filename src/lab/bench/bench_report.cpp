// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/collectives.h"
#include "base/text.h"
#include "lab/bench/bench_method.h"

namespace tutti::bench {
namespace {

// Three significant digits, or more where the number has them before the point.
std::string microseconds(double us) {
    if (us < 0.9995) return fmt::format("{:.3f}", us);
    if (us < 9.995) return fmt::format("{:.2f}", us);
    if (us < 99.95) return fmt::format("{:.1f}", us);
    return fmt::format("{:.0f}", us);
}

constexpr auto kRow = "{:<10} {:>8} {:>10} {:>10} {:>10} {:>10} {:>8} {:>10}{}\n";

// One way of running a cell, where there are more than two columns' worth.
constexpr auto kWay = "{:<10} {:>8}  {:<28} {:>10} {:>10} {:>8}";

// Of skewed calls.
constexpr auto kSkewedWay = "{:<10} {:>8} {:>9}  {:<28} {:>10} {:>10} {:>8} {:>10}";

// Behind the rows of a cell in which the cores moved.
constexpr auto kMovedMark = " ~";
// Behind a row whose delay the clock cannot tell from none.
constexpr auto kBelowErrorMark = " <";

bool has_moved(const Cell& cell) { return cell.flag && cores_moved(*cell.flag); }

bool is_below_error(const Cell& cell, const Times& times) {
    return cell.skew && times.p50_us < cell.skew->error_us;
}

bool has_below_error(const Cell& cell) {
    if (!cell.skew) return false;
    const auto is_below = [&](const AlgorithmTimes& way) {
        return way.refused.empty() && is_below_error(cell, way.times);
    };
    return is_below_error(cell, cell.host) || (cell.tutti && is_below_error(cell, *cell.tutti)) ||
           std::any_of(cell.algorithms.begin(), cell.algorithms.end(), is_below);
}

void put_flag(nlohmann::ordered_json& json, const std::optional<FlagLatency>& flag) {
    if (!flag) return;
    json["flag_before_us"] = flag->before_us;
    json["flag_after_us"] = flag->after_us;
    json["moved"] = cores_moved(*flag);
}

// The two columns of a way's time.
struct Shown {
    double first_us;
    double second_us;
};
Shown shown(const Times& times) {
    if (times.mean_us) return {times.mean_us->mean, times.mean_us->half_width};
    return {times.p50_us, times.p99_us};
}

double ratio_of(const Times& host, const Times& other) {
    return shown(host).first_us / shown(other).first_us;
}

nlohmann::ordered_json json_of(const Times& times) {
    nlohmann::ordered_json json = {{"p10_us", times.p10_us},
                                   {"p50_us", times.p50_us},
                                   {"p99_us", times.p99_us},
                                   {"batches", times.batches},
                                   {"calls_per_batch", times.calls_per_batch}};
    if (times.mean_us) {
        json["mean_us"] = times.mean_us->mean;
        json["half_width_us"] = times.mean_us->half_width;
    }
    return json;
}

nlohmann::ordered_json json_of(const Cell& cell, const Times& times) {
    nlohmann::ordered_json json = json_of(times);
    if (!cell.skew) return json;
    json["below_clock_error"] = is_below_error(cell, times);
    if (times.late_us) json["late_us"] = *times.late_us;
    return json;
}

nlohmann::ordered_json ways_of(const Cell& cell) {
    auto all = nlohmann::ordered_json::array();
    for (const AlgorithmTimes& one : cell.algorithms) {
        nlohmann::ordered_json json = {{"algorithm", one.name}};
        if (one.refused.empty()) {
            json["times"] = json_of(cell, one.times);
            json["ratio"] = ratio_of(cell.host, one.times);
            if (one.late.batches > 0) json["late"] = json_of(one.late);
        } else {
            json["refused"] = one.refused;
        }
        all.push_back(std::move(json));
    }
    return all;
}

// A host's clock is told against rank 0's.
void put_skew(nlohmann::ordered_json& json, const SkewedCell& skew) {
    json["most_ns"] = skew.most_ns;
    json["clock_error_us"] = skew.error_us;
    auto clocks = nlohmann::ordered_json::array();
    for (const adapt::ClockLine& line : skew.clocks) {
        clocks.push_back({{"offset_before_ns", line.before().offset_ns},
                          {"offset_after_ns", line.after().offset_ns},
                          {"error_ns", line.error_ns()}});
    }
    json["clocks"] = std::move(clocks);
}

nlohmann::ordered_json json_of(const Cell& cell) {
    nlohmann::ordered_json json = {{"collective", collective_name(cell.collective)},
                                   {"bytes", cell.bytes}};
    if (!cell.skipped.empty()) {
        json["skipped"] = cell.skipped;
        return json;
    }
    if (cell.skew) put_skew(json, *cell.skew);
    json["host"] = json_of(cell, cell.host);
    if (cell.tutti) {
        json["tutti"] = json_of(cell, *cell.tutti);
        json["ratio"] = ratio_of(cell.host, *cell.tutti);
    }
    if (cell.host_late) json["host_late"] = json_of(*cell.host_late);
    if (cell.tutti_late) json["tutti_late"] = json_of(*cell.tutti_late);
    if (!cell.algorithms.empty()) json["algorithms"] = ways_of(cell);
    put_flag(json, cell.flag);
    json["copy_us"] = cell.copy_us;
    return json;
}

std::string skewed_row(const Cell& cell, const AlgorithmTimes& way) {
    const Times& times = way.times;
    return fmt::format(kSkewedWay, collective_name(cell.collective),
                       cell.bytes ? format_bytes(cell.bytes) : "-", most_text(cell.skew->most_ns),
                       way.name, microseconds(times.p50_us), microseconds(times.p99_us),
                       fmt::format("{:.2f}", ratio_of(cell.host, times)),
                       microseconds(cell.skew->error_us)) +
           (is_below_error(cell, times) ? kBelowErrorMark : "") +
           (has_moved(cell) ? kMovedMark : "") + "\n";
}

std::string way_row(const BenchRun& run, const Cell& cell, const AlgorithmTimes& way) {
    const std::string_view name = collective_name(cell.collective);
    const std::string bytes = cell.bytes ? format_bytes(cell.bytes) : "-";
    if (cell.skew) return skewed_row(cell, way);
    const auto [us, second_us] = shown(way.times);
    std::string row =
        fmt::format(kWay, name, bytes, way.name, microseconds(us), microseconds(second_us),
                    fmt::format("{:.2f}", ratio_of(cell.host, way.times)));
    if (run.late) row += fmt::format(" {:>10}", microseconds(way.late.p50_us));
    return row + (has_moved(cell) ? kMovedMark : "") + "\n";
}

// An earlier cell of the run has told it.
bool was_told(const BenchRun& run, const Cell& cell, const AlgorithmTimes& refused) {
    for (const Cell& earlier : run.cells) {
        if (&earlier == &cell) return false;
        if (earlier.collective != cell.collective) continue;
        const auto is_same = [&](const AlgorithmTimes& one) {
            return one.name == refused.name && one.refused == refused.refused;
        };
        if (std::ranges::any_of(earlier.algorithms, is_same)) return true;
    }
    return false;
}

// A line for each reason, at the first size for which it holds.
std::string refused_rows(const BenchRun& run, const Cell& cell) {
    std::vector<std::pair<std::string, std::vector<std::string>>> names_by_reason;
    for (const AlgorithmTimes& way : cell.algorithms) {
        if (way.refused.empty() || was_told(run, cell, way)) continue;
        auto found = std::ranges::find(names_by_reason, way.refused,
                                       &decltype(names_by_reason)::value_type::first);
        if (found == names_by_reason.end()) {
            found = names_by_reason.insert(found, {way.refused, {}});
        }
        found->second.push_back(way.name);
    }
    std::string rows;
    for (const auto& [reason, names] : names_by_reason) {
        rows += fmt::format("{:<10} {:>8}  cannot: {}: {}\n", collective_name(cell.collective),
                            cell.bytes ? format_bytes(cell.bytes) : "-", fmt::join(names, ", "),
                            reason);
    }
    return rows;
}

std::string way_rows(const BenchRun& run, const Cell& cell) {
    std::string rows =
        way_row(run, cell, {"host", "", cell.host, cell.host_late.value_or(Times{})});
    if (cell.tutti) {
        rows += way_row(run, cell,
                        {"tutti (its choice)", "", *cell.tutti, cell.tutti_late.value_or(Times{})});
    }
    for (const AlgorithmTimes& way : cell.algorithms) {
        if (way.refused.empty()) rows += way_row(run, cell, way);
    }
    return rows + refused_rows(run, cell);
}

bool has_ways(const BenchRun& run) {
    return run.has_algorithms || run.late || run.skew || run.paper_runs > 0;
}

std::string skew_head(const BenchRun& run) {
    return fmt::format(
               "skew {}, seed {}; us: from the last arrival to the last exit, by one clock that is "
               "off by clock us at most\n",
               adapt::skew_name(run.skew->skew), run.seed) +
           fmt::format(kSkewedWay, "collective", "bytes", "MAX", "by", "us", "p99", "ratio",
                       "clock us") +
           "\n";
}

}  // namespace

std::string table_head(const BenchRun& run) {
    std::string text = fmt::format("{}; {} ranks, {} cores{}{}{}\n", run.library, run.ranks,
                                   run.cores, run.fresh_buffers ? "; fresh buffers" : "",
                                   run.ragged_blocks ? "; ragged blocks" : "",
                                   run.has_tutti ? "" : "; without Tutti");
    if (run.yield_barrier_us) {
        text += fmt::format("limit: a barrier of bare yields takes {} us\n",
                            microseconds(*run.yield_barrier_us));
    }
    if (run.flag) {
        text +=
            fmt::format("flag latency {} us before the table\n", microseconds(run.flag->before_us));
    }
    if (run.late) {
        text += fmt::format("rank {} enters each call {} ms late; us: the slowest other rank\n",
                            run.late->rank, run.late->milliseconds);
    }
    if (run.paper_runs > 0) {
        text += fmt::format(
            "{} runs of {} calls ({} from {} on), your MPI's barrier after each and counted "
            "in; "
            "mean, 95 % confidence interval\n",
            run.paper_runs, paper_calls(0), paper_calls(kPaperLongBytes),
            format_bytes(kPaperLongBytes));
    }
    if (run.skew) return text + skew_head(run);
    if (has_ways(run)) {
        text +=
            fmt::format(kWay, "collective", "bytes", "by", run.paper_runs > 0 ? "mean us" : "us",
                        run.paper_runs > 0 ? "+- us" : "p99", "ratio");
        return text + (run.late ? "    late us\n" : "\n");
    }
    return text + fmt::format(kRow, "collective", "bytes", "host us", "p99", "Tutti us", "p99",
                              "ratio", "limit us", "");
}

std::string table_row(const BenchRun& run, const Cell& cell) {
    const std::string_view name = collective_name(cell.collective);
    const std::string bytes = cell.bytes ? format_bytes(cell.bytes) : "-";
    if (!cell.skipped.empty()) {
        return fmt::format("{:<10} {:>8} not measured: {}\n", name, bytes, cell.skipped);
    }
    if (has_ways(run)) return way_rows(run, cell);
    const std::string limit = cell.flag ? microseconds(cell.flag->before_us + cell.copy_us) : "-";
    const std::string_view mark = has_moved(cell) ? kMovedMark : "";
    if (!cell.tutti) {
        return fmt::format(kRow, name, bytes, microseconds(cell.host.p50_us),
                           microseconds(cell.host.p99_us), "-", "-", "-", limit, mark);
    }
    return fmt::format(kRow, name, bytes, microseconds(cell.host.p50_us),
                       microseconds(cell.host.p99_us), microseconds(cell.tutti->p50_us),
                       microseconds(cell.tutti->p99_us),
                       fmt::format("{:.2f}", cell.host.p50_us / cell.tutti->p50_us), limit, mark);
}

std::string table_foot(const BenchRun& run) {
    std::string text;
    if (std::any_of(run.cells.begin(), run.cells.end(), has_below_error)) {
        text += "< less than the error of the clock: no measurable delay\n";
    }
    if (!run.flag) return text;
    text += fmt::format("flag latency {} us before the table, {} us after it{}\n",
                        microseconds(run.flag->before_us), microseconds(run.flag->after_us),
                        cores_moved(*run.flag) ? ": the cores moved" : "");
    if (std::any_of(run.cells.begin(), run.cells.end(), has_moved)) {
        text += fmt::format(
            "~ the cores moved in these lines: a flag's latency before and after differs by more "
            "than a factor of {}\n",
            node::kMovedFactor);
    }
    return text;
}

std::string progress_line(size_t done, size_t all, const Cell& next) {
    return fmt::format("tutti bench: {} of {}, {} {}", done, all, collective_name(next.collective),
                       next.bytes ? format_bytes(next.bytes) : "");
}

std::string to_json(const BenchRun& run) {
    nlohmann::ordered_json json = {{"tutti", TUTTI_VERSION_STRING},
                                   {"mpi", run.library},
                                   {"ranks", run.ranks},
                                   {"cores", run.cores},
                                   {"has_tutti", run.has_tutti},
                                   {"buffers", run.fresh_buffers ? "fresh" : "reused"}};
    if (run.ragged_blocks) json["blocks"] = "ragged";
    if (run.paper_runs > 0) json["method"] = "paper";
    if (run.late) {
        json["late"] = {{"rank", run.late->rank}, {"milliseconds", run.late->milliseconds}};
    }
    if (run.skew) {
        json["skew"] = {{"distribution", adapt::skew_name(run.skew->skew)},
                        {"seed", run.seed},
                        {"metric", "synchronization delay"}};
    }
    if (run.yield_barrier_us) json["yield_barrier_us"] = *run.yield_barrier_us;
    put_flag(json, run.flag);
    json["cells"] = nlohmann::ordered_json::array();
    for (const Cell& cell : run.cells) json["cells"].push_back(json_of(cell));
    return json.dump(2) + "\n";
}

}  // namespace tutti::bench
