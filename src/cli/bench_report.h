// SPDX-License-Identifier: BSD-3-Clause
// What `tutti bench` prints and writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/bench_cell.h"

namespace tutti::cli {

struct BenchRun {
    std::string library;  // the host MPI, one line
    uint32_t ranks = 0;
    uint32_t cores = 0;
    bool has_tutti = false;
    bool has_algorithms = false;
    std::optional<LateRank> late;
    std::optional<double> yield_barrier_us;  // only where ranks outnumber cores
    std::vector<Cell> cells;
};

// All end with a newline. The columns are the same for all rows; where algorithms are
// compared or a rank is late, a cell has a row for each way.
std::string table_head(const BenchRun& run);
std::string table_row(const BenchRun& run, const Cell& cell);
// Without a newline; to be overwritten by the next one.
std::string progress_line(size_t done, size_t all, const Cell& next);

std::string to_json(const BenchRun& run);

}  // namespace tutti::cli
