// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/tuning_table.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "mpi/amount.h"
#include "mpi/report.h"

namespace tutti::mpi {

namespace {

bool has_more_calls(const TuningRecord& a, const TuningRecord& b) {
    return a.info.calls > b.info.calls;
}

uint64_t gained_ns(const TuningRecord& row) { return row.gain_ns() * row.info.calls; }

double seconds_of(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::string line_about(const TuningRecord& row) {
    const tutti_tuning_info& info = row.info;
    const tutti_tuning_way& way = info.way[info.in_use];
    std::string line = std::string("tutti: live: ") + kind_name(static_cast<Kind>(info.collective));
    if (info.collective != TUTTI_BARRIER) line += " of " + std::to_string(info.bytes) + " bytes";
    line += ", " + std::to_string(row.ranks) + " ranks: ";
    if (info.in_use == 0) {
        const auto tried = std::count_if(info.way + 1, info.way + info.ways,
                                         [](const auto& other) { return other.is_tried != 0; });
        if (tried == 0) return line + "no trial beside " + way.name + " has ended\n";
        return line + "nothing was faster than " + way.name + "\n";
    }
    return line + way.name + " from call " + std::to_string(info.since) + " on, " +
           rough(seconds_of(way.ns)) + ", " + rough(seconds_of(way.instead_ns)) +
           " before; first " + info.way[0].name + "\n";
}

}  // namespace

uint64_t TuningRecord::gain_ns() const {
    const tutti_tuning_way& way = info.way[info.in_use];
    return info.in_use != 0 && way.instead_ns > way.ns ? way.instead_ns - way.ns : 0;
}

void TuningLog::add(const tutti_tuning_info& info, uint32_t ranks) {
    TuningRecord record;
    // Padding too: the record travels as bytes.
    memset(static_cast<void*>(&record), 0, sizeof record);
    record.ranks = ranks;
    record.info = info;
    records_.add(record, has_more_calls);
}

std::vector<TuningRecord> merge_tunings(std::span<const TuningRecord> records) {
    std::vector<TuningRecord> rows(records.begin(), records.end());
    std::ranges::stable_sort(
        rows, [](const auto& a, const auto& b) { return gained_ns(a) > gained_ns(b); });
    return rows;
}

std::string tuning_text(std::span<const TuningRecord> rows, bool is_live) {
    constexpr size_t kRowsMax = 8;
    std::string text;
    if (is_live && rows.empty()) text = "tutti: live: nothing was tried (docs/live.md says when)\n";
    for (const TuningRecord& row : rows.first(std::min(rows.size(), kRowsMax))) {
        text += line_about(row);
    }
    return text;
}

nlohmann::ordered_json tuning_json(std::span<const TuningRecord> rows) {
    nlohmann::ordered_json json;
    auto& listed = json["calls"] = nlohmann::ordered_json::array();
    uint64_t more = 0;
    for (const TuningRecord& row : rows) {
        const tutti_tuning_info& info = row.info;
        more += row.more;
        nlohmann::ordered_json entry;
        entry["collective"] = kind_name(static_cast<Kind>(info.collective));
        entry["ranks"] = row.ranks;
        entry["bytes"] = info.bytes;
        entry["calls"] = info.calls;
        entry["first"] = info.way[0].name;
        entry["runs_by"] = info.way[info.in_use].name;
        if (info.since > 0) entry["since_call"] = info.since;
        auto& tried = entry["tried"] = nlohmann::ordered_json::array();
        for (uint32_t i = 0; i < info.ways; ++i) {
            const tutti_tuning_way& way = info.way[i];
            if (way.ns == 0) continue;
            tried.push_back({{"algorithm", way.name},
                             {"seconds", seconds_of(way.ns)},
                             {"instead_of_seconds", seconds_of(way.instead_ns)},
                             {"decided", way.is_tried != 0}});
        }
        listed.push_back(std::move(entry));
    }
    if (more > 0) json["more"] = more;
    return json;
}

}  // namespace tutti::mpi
