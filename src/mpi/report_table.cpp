// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/report_table.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <tuple>

#include "mpi/amount.h"
#include "mpi/report.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

namespace {

struct Names {
    const char* name;
    const char* function;
};

constexpr Names kNames[] = {
#define TUTTI_MPI_COLLECTIVE(member, Name, kind, parameters, arguments, body) \
    {#member, "MPI_" #Name},
#include "mpi/abi/functions.inc"
};
static_assert(std::size(kNames) == kKinds);

constexpr const char* kClassNames[kSizeClasses] = {"<= 256 B", "<= 16 KiB", "<= 1 MiB", "> 1 MiB"};

bool by_host(std::string_view how) { return how.starts_with("host: "); }

// Of one call; where ranks have different sizes, their mean.
std::string size_text(const ReportRow& row) {
    if (row.kind == kBarrier || Form{row.form} == Form::kInit) return "";
    return (depends_on_rank(row.kind) ? "mean " : "") + std::string(kClassNames[row.size_class]);
}

std::string duration(double seconds) { return amount_text(seconds, 2); }

using Cells = std::vector<std::string>;

// Columns as wide as their widest cell; numbers to the right.
std::string align(const std::vector<Cells>& lines, const std::string& right) {
    std::vector<size_t> width(right.size());
    for (const Cells& cells : lines) {
        for (size_t i = 0; i < cells.size(); ++i) width[i] = std::max(width[i], cells[i].size());
    }
    std::string text;
    for (const Cells& cells : lines) {
        std::string line;
        for (size_t i = 0; i < cells.size(); ++i) {
            const std::string padding(width[i] - cells[i].size(), ' ');
            line += "  " + (right[i] == 'r' ? padding + cells[i] : cells[i] + padding);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

uint64_t calls_of(std::span<const ReportRow> rows, bool host) {
    uint64_t calls = 0;
    for (const ReportRow& row : rows) {
        // Nothing moves before a persistent request is started.
        if (Form{row.form} == Form::kInit) continue;
        calls += by_host(row.how) == host ? row.calls : 0;
    }
    return calls;
}

}  // namespace

const char* kind_name(Kind kind) { return kNames[kind].name; }
std::string call_name(Kind kind, Form form) {
    const std::string name = kind_name(kind);
    if (form == Form::kNonblocking) return "i" + name;
    if (form == Form::kInit) return name + "_init";
    return form == Form::kStart ? name + "_start" : name;
}
const char* kind_function(Kind kind) { return kNames[kind].function; }

uint8_t size_class(uint64_t bytes) {
    if (bytes <= 256) return 0;
    if (bytes <= 16384) return 1;
    return bytes <= (uint64_t{1} << 20) ? 2 : 3;
}

const char* size_class_name(uint8_t number) { return kClassNames[number]; }

std::vector<ReportRow> merge_records(std::span<const ReportRecord> records) {
    using Key = std::tuple<uint8_t, uint8_t, uint32_t, uint8_t, bool, std::string>;
    std::map<Key, ReportRow> rows;
    for (const ReportRecord& r : records) {
        if (r.kind >= kKinds || r.form >= kForms || r.size_class >= kSizeClasses || r.ranks == 0) {
            continue;
        }
        const std::string how(r.how, strnlen(r.how, sizeof r.how));
        // Where its ranks count a call in several classes, none of these is the call's.
        const uint8_t found_as = depends_on_rank(r.kind) ? 0 : r.size_class;
        ReportRow& row = rows[{r.kind, r.form, r.ranks, found_as, by_host(how), how}];
        row.kind = r.kind;
        row.form = r.form;
        row.size_class = r.size_class;
        row.ranks = r.ranks;
        row.how = how;
        row.calls += r.calls;
        row.bytes += r.bytes;
        row.seconds += static_cast<double>(r.nanoseconds) * 1e-9;
    }
    std::vector<ReportRow> sorted;
    for (auto& [key, row] : rows) {
        if (depends_on_rank(row.kind) && row.calls > 0) {
            row.size_class = size_class(row.bytes / row.calls);
        }
        // Every rank of a communicator counted every call; an argument that one rank alone handed
        // to the host is still one call.
        row.calls = (row.calls + row.ranks - 1) / row.ranks;
        row.bytes /= row.ranks;
        row.seconds /= row.ranks;
        sorted.push_back(std::move(row));
    }
    return sorted;
}

Staged merge_staged(std::span<const StagedRecord> records) {
    Staged all;
    for (const StagedRecord& record : records) {
        if (record.calls == 0) continue;
        const std::string runtime(record.runtime, strnlen(record.runtime, sizeof record.runtime));
        all.calls += record.calls;
        all.bytes += record.bytes;
        ++all.ranks;
        if (all.runtimes.find(runtime) == std::string::npos) {
            all.runtimes += (all.runtimes.empty() ? "" : ", ") + runtime;
        }
    }
    return all;
}

namespace {

std::string row_name(const ReportRow& row) {
    return call_name(static_cast<Kind>(row.kind), Form{row.form});
}

// "Open MPI" of "Open MPI v4.1.4": the words before the version.
std::string mpi_name(const std::string& library) {
    std::istringstream words(library);
    std::string name, word;
    while (words >> word && word.find_first_of("0123456789") == std::string::npos) {
        name += (name.empty() ? "" : " ") + word;
    }
    return name.empty() ? library : name;
}

// Where live tuning is on, a line says so even if it has nothing to tell.
std::string live_text(const ReportHead& head) {
    if (!head.tunes_live || !head.facts.rows("tuning/calls").empty()) return {};
    return "tutti: live: nothing was tried (docs/live.md says when)\n";
}

std::string table_text(const std::string& mpi, std::span<const ReportRow> rows) {
    std::vector<Cells> lines;
    lines.push_back({"collective", "ranks", "call size", "calls", "bytes", "time in calls",
                     "per call", "run by: algorithm, or why not by Tutti"});
    for (const ReportRow& row : rows) {
        lines.push_back(
            {row_name(row), std::to_string(row.ranks), size_text(row), grouped(row.calls),
             grouped(row.bytes), duration(row.seconds),
             duration(row.seconds / static_cast<double>(std::max<uint64_t>(row.calls, 1))),
             by_host(row.how) ? mpi + ": " + row.how.substr(6) : "Tutti: " + row.how});
    }
    return align(lines, "lrlrrrrl");
}

}  // namespace

std::string report_text(const ReportHead& head, std::span<const ReportRow> rows) {
    const std::string ranks = std::to_string(head.ranks) + (head.ranks == 1 ? " rank" : " ranks");
    std::string text = "tutti: " + head.host + ", " + ranks + ": ";
    if (rows.empty()) return text + "no collective operation was seen in this run\n";
    const std::string mpi = mpi_name(head.host);
    const uint64_t by_tutti = calls_of(rows, false);
    text += grouped(by_tutti) + (by_tutti == 1 ? " collective" : " collectives") + " by Tutti, " +
            grouped(calls_of(rows, true)) + " by " + mpi;
    if (head.run_s > 0) text += "; " + duration(head.run_s) + " from MPI_Init to MPI_Finalize";
    text += "\n";
    if (!head.faults.empty()) text += "tutti: faults injected: " + head.faults + "\n";
    if (!head.no_single_copy.empty()) {
        text += "tutti: no single copy within the host: " + head.no_single_copy + "\n";
    }
    if (!head.switches.file.empty()) {
        text += "tutti: " + std::to_string(head.switches.hosts) + " hosts on " +
                std::to_string(head.switches.switches) +
                (head.switches.switches == 1 ? " switch" : " switches") + ", as " +
                head.switches.file + " has them\n";
    }
    if (!head.tuned.empty()) text += "tutti: tuned by " + head.tuned + "\n";
    if (head.staged.calls > 0) {
        text += "tutti: device memory (" + head.staged.runtimes + ") was staged on " +
                std::to_string(head.staged.ranks) + " of " + ranks + ": " +
                grouped(head.staged.calls) + " times in all, " + grouped(head.staged.bytes) +
                " bytes\n";
    }
    text += "tutti: bytes and times are those of one rank, on average\n";
    return text + table_text(mpi, rows) + live_text(head) + facts_text(head.facts, head.is_full);
}

std::string report_json(const ReportHead& head, std::span<const ReportRow> rows) {
    nlohmann::ordered_json json;
    json["tutti"] = TUTTI_VERSION_STRING;
    if (!head.run.empty()) json["run"] = head.run;
    json["host"] = head.host;
    json["ranks"] = head.ranks;
    if (head.run_s > 0) json["seconds"] = head.run_s;
    if (!head.faults.empty()) json["faults_injected"] = head.faults;
    if (!head.no_single_copy.empty()) json["no_single_copy"] = head.no_single_copy;
    if (!head.switches.file.empty()) {
        json["fabric"] = {{"file", head.switches.file},
                          {"hosts", head.switches.hosts},
                          {"switches", head.switches.switches}};
    }
    if (!head.tuned.empty()) json["tuned"] = head.tuned;
    if (head.staged.calls > 0) {
        json["device_memory"] = {{"runtimes", head.staged.runtimes},
                                 {"ranks", head.staged.ranks},
                                 {"staged", head.staged.calls},
                                 {"bytes", head.staged.bytes}};
    }
    add_watches(json, head.watches);
    json["collectives"] = nlohmann::ordered_json::array();
    for (const ReportRow& row : rows) {
        const bool host = by_host(row.how);
        nlohmann::ordered_json entry;
        entry["collective"] = row_name(row);
        entry["ranks"] = row.ranks;
        entry["size_class"] = kClassNames[row.size_class];
        entry["calls"] = row.calls;
        entry["bytes"] = row.bytes;
        entry["seconds"] = row.seconds;
        entry["run_by"] = host ? "host" : "tutti";
        entry[host ? "reason" : "algorithm"] = host ? row.how.substr(6) : row.how;
        json["collectives"].push_back(std::move(entry));
    }
    add_facts(json, head.facts, head.ranks);
    // Texts may hold a message cut in the middle of a character.
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tutti::mpi
