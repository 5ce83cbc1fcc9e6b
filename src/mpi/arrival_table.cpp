// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/arrival_table.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "mpi/amount.h"
#include "mpi/report.h"
#include "mpi/report_table.h"

namespace tutti::mpi {

namespace {

bool waited_more(const ArrivalRecord& a, const ArrivalRecord& b) { return a.waited_s > b.waited_s; }

bool is_blocking(uint8_t form) { return Form{form} == Form::kBlocking; }

// Of the collectives in which all wait for all.
bool has_no_root(uint32_t kind) {
    return kind == kBarrier || kind == kAllreduce || kind == kAllgather ||
           kind == kReduceScatterBlock;
}

double mean_s(uint64_t sum_ns, uint64_t count) {
    return count == 0 ? 0 : static_cast<double>(sum_ns) * 1e-9 / static_cast<double>(count);
}

// What it cost each of them.
double lost_s(const ArrivalRecord& row) { return row.waited_s / row.ranks; }

std::string line_of(const ArrivalRecord& row, double run_s) {
    const tutti_arrivals_info& info = row.info;
    const double share =
        100 * static_cast<double>(info.last_samples[0]) / static_cast<double>(info.samples);
    const double lost = run_s > 0 ? 100 * lost_s(row) / run_s : 0;
    char text[400];
    snprintf(text, sizeof text,
             "tutti: late: rank %d on %s was last in %.0f %% of %llu sampled %ss of %u ranks, on "
             "average %s after the first; in all each rank waited some %s for others, %.0f %% of "
             "the run",
             row.last_in_world[0], info.last_host[0], share,
             static_cast<unsigned long long>(info.samples),
             kind_name(static_cast<Kind>(row.collective)), row.ranks,
             rough(mean_s(info.spread_ns, info.samples)).c_str(), rough(lost_s(row)).c_str(), lost);
    std::string line = text;
    if (info.follows_since > 0) {
        line += "; from call " + std::to_string(info.follows_since) +
                " on short ones are released by the last rank to come";
    }
    return line + "\n";
}

nlohmann::ordered_json spread_json(uint64_t sum_ns, uint64_t count, uint64_t max_ns) {
    return {{"mean_s", mean_s(sum_ns, count)}, {"max_s", static_cast<double>(max_ns) * 1e-9}};
}

nlohmann::ordered_json last_json(const ArrivalRecord& row) {
    auto json = nlohmann::ordered_json::array();
    for (uint32_t i = 0; i < TUTTI_ARRIVALS_LAST && row.info.last_samples[i] > 0; ++i) {
        json.push_back({{"rank", row.last_in_world[i]},
                        {"host", row.info.last_host[i]},
                        {"samples", row.info.last_samples[i]}});
    }
    return json;
}

// By call, of all ranks.
nlohmann::ordered_json recorded_json(std::span<const LatenessRecord> ranks) {
    nlohmann::ordered_json json;
    json["collective"] = kind_name(static_cast<Kind>(ranks[0].collective));
    auto& calls = json["late_s"] = nlohmann::ordered_json::array();
    for (uint32_t i = 0; i < ranks[0].samples; ++i) {
        auto& call = calls.emplace_back(nlohmann::ordered_json::array());
        for (const LatenessRecord& rank : ranks) {
            call.push_back(static_cast<double>(rank.late_ns[i]) * 1e-9);
        }
    }
    return json;
}

}  // namespace

void ArrivalLog::add_world(tutti_collective collective, const tutti_arrivals_info& info) {
    if (info.samples <= lateness_samples_) return;
    lateness_samples_ = info.samples;
    lateness_.collective = static_cast<uint32_t>(collective);
    lateness_.samples = info.recent;
    std::copy_n(info.recent_late_ns, TUTTI_ARRIVALS_RECENT, lateness_.late_ns);
}

void ArrivalLog::add_waited(const tutti_arrivals_info& info) {
    if (info.samples == 0) return;
    waited_.seconds += static_cast<double>(info.own_waited_ns) * 1e-9 * calls_per_sample(info);
}

void ArrivalLog::bound_waited(std::span<const ReportRecord> own) {
    double inside_s = 0;
    for (const ReportRecord& record : own) {
        if (!is_blocking(record.form) || !has_no_root(record.kind)) continue;
        inside_s += static_cast<double>(record.nanoseconds) * 1e-9;
    }
    waited_.seconds = std::min(waited_.seconds, inside_s);
}

void ArrivalLog::add(tutti_collective collective, const tutti_arrivals_info& info,
                     std::span<const int> in_world) {
    if (info.samples == 0) return;
    ArrivalRecord record;
    // Padding too: the record travels as bytes.
    memset(static_cast<void*>(&record), 0, sizeof record);
    record.ranks = static_cast<uint32_t>(in_world.size());
    record.collective = static_cast<uint32_t>(collective);
    record.info = info;
    record.waited_s = static_cast<double>(info.waited_ns) * 1e-9 * calls_per_sample(info);
    for (uint32_t i = 0; i < TUTTI_ARRIVALS_LAST && info.last_samples[i] > 0; ++i) {
        record.last_in_world[i] = in_world[info.last_rank[i]];
    }
    records_.add(record, waited_more);
}

std::vector<ArrivalRecord> merge_arrivals(std::span<const ArrivalRecord> records,
                                          std::span<const ReportRow> calls) {
    std::map<std::pair<uint32_t, uint32_t>, double> inside_s;  // of all ranks together
    for (const ReportRow& row : calls) {
        if (is_blocking(row.form)) inside_s[{row.kind, row.ranks}] += row.seconds * row.ranks;
    }
    std::vector<ArrivalRecord> rows(records.begin(), records.end());
    std::ranges::stable_sort(rows, waited_more);
    for (ArrivalRecord& row : rows) {
        double& left_s = inside_s[{row.collective, row.ranks}];
        row.waited_s = std::min(row.waited_s, left_s);
        left_s -= row.waited_s;
    }
    std::ranges::stable_sort(rows, waited_more);
    return rows;
}

// Beside the worst, those that are not small to it.
std::string arrival_text(std::span<const ArrivalRecord> rows, double run_s) {
    constexpr size_t kRowsMax = 3;
    constexpr double kShareMin = 0.1;
    constexpr double kRunShareMin = 0.01;
    std::string text;
    for (const ArrivalRecord& row : rows.first(std::min(rows.size(), kRowsMax))) {
        if (row.waited_s < kShareMin * rows[0].waited_s) break;
        // In rooted calls nobody knows who waited for whom.
        if (row.waited_s <= 0 || lost_s(row) < kRunShareMin * run_s) break;
        text += line_of(row, run_s);
    }
    return text;
}

nlohmann::ordered_json arrival_json(std::span<const ArrivalRecord> rows,
                                    const RankArrivals& ranks) {
    nlohmann::ordered_json json;
    auto& listed = json["calls"] = nlohmann::ordered_json::array();
    uint64_t more = 0;
    for (const ArrivalRecord& row : rows) {
        const tutti_arrivals_info& info = row.info;
        more += row.more;
        nlohmann::ordered_json entry;
        entry["collective"] = kind_name(static_cast<Kind>(row.collective));
        entry["ranks"] = row.ranks;
        entry["samples"] = info.samples;
        entry["calls_per_sample"] = calls_per_sample(info);
        entry["spread"] = spread_json(info.spread_ns, info.samples, info.spread_ns_max);
        if (info.delay_samples > 0) {
            entry["synchronization_delay"] =
                spread_json(info.delay_ns, info.delay_samples, info.delay_ns_max);
        }
        entry["waited_s"] = row.waited_s;
        entry["clock_error_s"] = static_cast<double>(info.clock_error_ns) * 1e-9;
        entry["last"] = last_json(row);
        if (info.follows_since > 0) entry["follows_since_call"] = info.follows_since;
        listed.push_back(std::move(entry));
    }
    if (more > 0) json["more"] = more;
    if (!ranks.waited.empty()) {
        auto& by_rank = json["waited_s_by_rank"] = nlohmann::ordered_json::array();
        for (const WaitedRecord& one : ranks.waited) by_rank.push_back(one.seconds);
    }
    if (!ranks.lateness.empty() && ranks.lateness[0].samples > 0) {
        json["recorded"] = recorded_json(ranks.lateness);
    }
    return json;
}

}  // namespace tutti::mpi
