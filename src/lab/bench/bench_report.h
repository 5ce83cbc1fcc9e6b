// SPDX-License-Identifier: BSD-3-Clause
// What `tutti bench` prints and writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/bench/bench_cell.h"
#include "lab/bench/bench_regime.h"

namespace tutti::bench {

struct BenchRun {
    std::string library;  // the host MPI, one line
    uint32_t ranks = 0;
    uint32_t cores = 0;
    bool has_tutti = false;
    bool has_algorithms = false;
    bool fresh_buffers = false;
    bool ragged_blocks = false;  // of vector forms
    uint64_t paper_runs = 0;     // 0: not by the paper's method
    std::optional<LateRank> late;
    std::optional<SkewOptions> skew;         // times are synchronization delays then
    uint64_t seed = 1;                       // of its delays
    std::optional<double> yield_barrier_us;  // only where ranks outnumber cores
    std::optional<FlagLatency> flag;         // around the table; only where ranks share a node
    std::vector<Cell> cells;
};

// All end with a newline. The columns are the same for all rows; where algorithms are
// compared, or ranks are late, a cell has a row for each way.
std::string table_head(const BenchRun& run);
std::string table_row(const BenchRun& run, const Cell& cell);
// What is known once the last row is there; may be empty.
std::string table_foot(const BenchRun& run);
// Without a newline; to be overwritten by the next one.
std::string progress_line(size_t done, size_t all, const Cell& next);

std::string to_json(const BenchRun& run);

}  // namespace tutti::bench
