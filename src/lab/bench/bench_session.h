// SPDX-License-Identifier: BSD-3-Clause
// One run of `tutti bench`: calls of some collectives and sizes, one after the other, and the table
// of what was measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/bench/bench_cell.h"
#include "lab/bench/bench_method.h"
#include "lab/bench/bench_mpi.h"
#include "lab/bench/bench_report.h"
#include "lab/bench/bench_skew.h"
#include "tutti/tutti.h"

namespace tutti::bench {

// What is to be measured.
struct BenchPlan {
    std::vector<tutti_collective> collectives;
    std::vector<uint64_t> bytes;  // of one block; multiples of 8
    uint64_t batches = 100;       // of each side, at most
    double seconds = 1.0;         // for each line of the table, about
    std::string algorithm;  // as TUTTI_ALLREDUCE takes it, or "all"; empty: by the rules alone
    std::optional<LateRank> late;
    std::optional<SkewOptions> skew;
    uint64_t seed = 1;  // of the delays
    bool fresh_buffers = false;
    bool ragged_blocks = false;  // of vector forms
    bool paper = false;  // measure by that method; `batches` are its runs, and `seconds` no limit
};

// What is said while it runs, on all ranks alike.
struct BenchAudience {
    std::function<void(const std::string&)> say;            // text that is to stay
    std::function<void(const std::string&)> show_progress;  // until the next one; empty: nothing
};

class BenchSession {
  public:
    // Collective. These outlive it.
    BenchSession(BenchMpi& mpi, const BenchPlan& plan, const BenchAudience& audience);
    // What the plan asks of this job and it has not, or an empty text.
    [[nodiscard]] std::string misfit() const;
    // Collective. The same error on all ranks.
    Result<Done> run(uint64_t warmup_calls);
    [[nodiscard]] const BenchRun& found() const { return found_; }

  private:
    [[nodiscard]] std::vector<CellOrder> orders() const;
    Result<Done> measure_all(SharedPage& page);

    BenchMpi& mpi_;
    const BenchPlan& plan_;
    const BenchAudience& audience_;
    uint64_t number_ = 0;
    RanksOfHosts hosts_;  // where calls are skewed
    BenchRun found_;
};

}  // namespace tutti::bench
