// SPDX-License-Identifier: BSD-3-Clause
// The report as rows: merged over the ranks, printed as a table or as JSON. Knows no MPI.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mpi/fact_log.h"
#include "mpi/watch_table.h"

namespace tutti::mpi {

// One rank's count of one kind of call; sent to rank 0 as bytes.
struct ReportRecord {
    uint8_t kind;
    uint8_t form;
    uint8_t size_class;
    uint32_t ranks;
    uint64_t calls;
    uint64_t bytes;
    uint64_t nanoseconds;
    char how[104];  // what ran it; cut where longer
};

struct ReportRow {
    uint8_t kind = 0;
    uint8_t form = 0;
    uint8_t size_class = 0;
    uint32_t ranks = 0;
    std::string how;
    uint64_t calls = 0;  // of the communicator, not of each of its ranks
    uint64_t bytes = 0;  // of one rank, over all calls: docs/mpi.md, "The report"
    double seconds = 0;  // inside, the mean over ranks
};

// What a rank staged because it was device memory; sent to rank 0 as bytes.
struct StagedRecord {
    uint64_t calls;
    uint64_t bytes;
    char runtime[16];  // "CUDA"
};

// Of all ranks.
struct Staged {
    uint64_t calls = 0;  // each rank's own counted
    uint64_t bytes = 0;
    uint32_t ranks = 0;
    std::string runtimes;  // "CUDA, HIP"
};
Staged merge_staged(std::span<const StagedRecord> records);

// What the job knows of the cluster's switches.
struct KnownSwitches {
    std::string file;  // empty: nothing
    uint32_t hosts = 0;
    uint32_t switches = 0;  // that they are on
};

struct ReportHead {
    std::string host;  // "Open MPI v5.0.11"
    uint32_t ranks = 0;
    std::string faults;  // TUTTI_FAULTS, or empty
    Staged staged{};
    WatchTotals watches = {};
    std::string no_single_copy = {};  // why, on rank 0's node; or empty
    KnownSwitches switches = {};
    std::string tuned = {};  // the tuned file's name, or empty
    bool tunes_live = false;
    FactLog facts{};
    double run_s = 0;      // on rank 0, from the end of MPI_Init to MPI_Finalize
    bool is_full = false;  // the table tells what else there is, too
    std::string run = {};  // of `tutti run`; or empty
};

inline constexpr uint32_t kSizeClasses = 4;
uint8_t size_class(uint64_t bytes);
const char* size_class_name(uint8_t size_class);

// In the order of kind, form, ranks, size class; what Tutti ran before what the host did. A call
// whose ranks know different sizes is of the class of their mean: all those of one kind are one
// row.
std::vector<ReportRow> merge_records(std::span<const ReportRecord> records);
std::string report_text(const ReportHead& head, std::span<const ReportRow> rows);
std::string report_json(const ReportHead& head, std::span<const ReportRow> rows);

}  // namespace tutti::mpi
