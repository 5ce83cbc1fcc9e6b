// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/finish_report.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/files/whole_file.h"
#include "mpi/comm_state.h"
#include "mpi/front.h"
#include "mpi/late_ranks.h"
#include "mpi/report_file.h"
#include "mpi/report_table.h"

namespace tutti::mpi {

namespace {

// As if every member of each communicator had counted the same.
std::vector<ReportRecord> as_of_all(std::vector<ReportRecord> records) {
    for (ReportRecord& record : records) {
        record.calls *= record.ranks;
        record.bytes *= record.ranks;
        record.nanoseconds *= record.ranks;
    }
    return records;
}

// Collective over the world; at rank 0 the records of all ranks, or nothing where an int cannot
// place them all, or ranks may be gone.
template <class Record>
std::optional<std::vector<Record>> gather_records(std::span<const Record> mine) {
    if (front.host.has_fault_tolerance) return std::nullopt;
    const abi::Comm comm = front.world.size > 1 ? front.own.p2p_comm : front.host.handles.comm_self;
    const abi::Datatype integer = front.host.handles.type[abi::kTypeInt];
    const abi::Datatype byte = front.host.handles.type[abi::kTypeByte];
    const int bytes = static_cast<int>(mine.size_bytes());
    const bool root = front.world.rank == 0;
    const auto ranks = static_cast<size_t>(root ? front.world.size : 0);
    std::vector<int> sizes(ranks + 1), offsets(ranks + 1);
    front.host.gather(&bytes, 1, integer, sizes.data(), 1, integer, 0, comm);
    int64_t total = 0;
    for (size_t rank = 0; rank < ranks; ++rank) {
        offsets[rank] = static_cast<int>(total);
        total += sizes[rank];
    }
    int fits = total <= INT_MAX ? 1 : 0;
    front.host.bcast(&fits, 1, integer, 0, comm);
    if (fits == 0) return std::nullopt;
    std::vector<Record> all(static_cast<size_t>(total) / sizeof(Record));
    front.host.gatherv(mine.data(), bytes, byte, all.data(), sizes.data(), offsets.data(), byte, 0,
                       comm);
    return all;
}

// "Open MPI v5.0.11", "MPICH 5.0.2": from the first line or sentence of what the host says about
// itself.
std::string host_version() {
    std::vector<char> text(abi::kLibraryVersionMax + 1);
    int length = 0;
    front.host.get_library_version(text.data(), &length);
    std::istringstream words(std::string(text.data(), strcspn(text.data(), "\n,")));
    std::string version, word;
    while (words >> word) {
        if (word == "Version:") continue;
        version += (version.empty() ? "" : " ") + word;
    }
    return version;
}

// What all go by, or an empty text.
std::string tuned_file() {
    const char* name = tutti_context_setting(front.context, "TUTTI_TUNED_NAME");
    return name == nullptr || strcmp(name, "off") == 0 ? "" : name;
}

StagedRecord staged_here() {
    StagedRecord record{};
    record.calls = front.counts.staged.calls.load(std::memory_order_relaxed);
    record.bytes = front.counts.staged.bytes.load(std::memory_order_relaxed);
    const char* runtime = front.counts.staged.runtime.load(std::memory_order_relaxed);
    if (runtime != nullptr) snprintf(record.runtime, sizeof record.runtime, "%s", runtime);
    return record;
}

// What rank 0 knows without the others.
ReportHead own_head(const WatchTotals& watches) {
    const char* faults = tutti_context_setting(front.context, "TUTTI_FAULTS");
    ReportHead head;
    head.host = host_version();
    head.ranks = static_cast<uint32_t>(front.world.size);
    head.faults = faults != nullptr ? faults : "";
    head.watches = watches;
    head.no_single_copy = tutti_context_no_single_copy(front.context);
    head.switches.file = front.world.fabric_file;
    tutti_context_fabric(front.context, &head.switches.hosts, &head.switches.switches);
    head.tuned = tuned_file();
    head.tunes_live = front.asked.tunes_live;
    head.run_s = static_cast<double>(now_ns() - front.counts.begin_ns) * 1e-9;
    return head;
}

// Of more ranks their list says less than it takes.
constexpr int kListedRanksMax = 4096;

// Collective over the world: at rank 0 what all tell, else or where there are too many its own.
FactLog gather_job_facts(std::span<const ReportRecord> own_calls) {
    FactLog own = gather_facts();
    bound_own_wait(own, own_calls);
    std::optional<uint32_t> lists;
    if (front.world.size <= kListedRanksMax) lists = static_cast<uint32_t>(front.world.rank);
    const std::string lines = own.packed(lists);
    const auto all = gather_records(std::span<const char>(lines));
    FactLog facts(SIZE_MAX);
    facts.add_packed(all ? std::string(all->data(), all->size()) : own.packed(std::nullopt));
    return facts;
}

struct Report {
    ReportHead head;
    std::vector<ReportRow> rows;
};

// Collective over the world: at rank 0 what there is to say. Where there are too many ranks, its
// own records stand for those of all.
Report gather_report(const WatchTotals& watches) {
    const std::vector<ReportRecord> mine = front.counts.calls.records();
    Report report;
    report.head = own_head(watches);
    const auto records = gather_records(std::span(mine));
    report.rows = merge_records(records ? *records : as_of_all(mine));
    report.head.facts = gather_job_facts(mine);
    bound_waits(report.head.facts, report.rows, report.head.run_s);
    const StagedRecord here = staged_here();
    const auto staged = gather_records(std::span(&here, 1));
    report.head.staged = merge_staged(staged ? *staged : std::vector{here});
    return report;
}

void print_report(const Report& report) {
    const std::string text = report_text(report.head, report.rows);
    fwrite(text.data(), 1, text.size(), stderr);
    fflush(stderr);
}

void write_report(Report& report, const char* target) {
    const RunOfMark run = run_of_mark(getenv("TUTTI_REPORT_MARK"));
    report.head.run = run.name;
    const std::string first = report_name(target, run);
    std::string name = first;
    const std::string problem = write_report(name, run, report_json(report.head, report.rows));
    if (!problem.empty()) {
        print_line(("report file " + name + ": " + problem).c_str());
    } else if (name != first) {
        print_line(("report in " + name + ": this run has written " + first + " already").c_str());
    }
}

}  // namespace

void leave_mark() {
    const char* mark = getenv("TUTTI_REPORT_MARK");
    if (mark == nullptr || *mark == '\0') return;
    // On another host than that of `tutti run` there is no such directory, or it is a stranger's.
    // Nor is want of memory worth a word: it may be what has just been told.
    try {
        static_cast<void>(files::make_mark(mark));
    } catch (const std::bad_alloc&) {
    }
}

void finish_report(const char* target, const WatchTotals& watches) {
    Report report = gather_report(watches);
    if (front.world.rank != 0) return;
    report.head.is_full = strcmp(target, "full") == 0;
    if (report.head.is_full || strcmp(target, "1") == 0) {
        print_report(report);
    } else {
        write_report(report, target);
    }
    leave_mark();
}

}  // namespace tutti::mpi
