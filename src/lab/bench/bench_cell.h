// SPDX-License-Identifier: BSD-3-Clause
// One line of `tutti bench`: one collective at one size, the host's call and Tutti's in turn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/bench/bench_limits.h"
#include "lab/bench/bench_method.h"
#include "lab/bench/bench_mpi.h"
#include "lab/bench/bench_regime.h"
#include "lab/bench/bench_skew.h"
#include "lab/bench/bench_statistics.h"

namespace tutti::bench {

// How late ranks enter the calls of a cell.
struct CellSkew {
    adapt::Skew skew = adapt::Skew::kNone;
    uint64_t most_ns = 0;
    uint64_t seed = 1;
    const RanksOfHosts* hosts = nullptr;
    const adapt::RecordedDelays* recorded = nullptr;  // see adapt::Delays
};

struct CellOrder {
    tutti_collective collective;
    uint64_t bytes;  // 0 for the barrier
    uint64_t batches_max;
    double seconds;
    uint64_t memory_bytes;  // of this node, for all ranks' buffers together
    // Beside the rules' choice, in turn with it.
    std::vector<std::string> algorithms = {};
    std::optional<LateRank> late = {};
    bool fresh = false;      // buffers: each used by one call, and in no cache when it begins
    bool paper = false;      // kPaperRuns' method
    bool is_ragged = false;  // see Batch
    // For those who have little time: only the named algorithms beside the host's own, few roots,
    // three rounds, of which the first says how long calls take and counts where they are long; no
    // calls that are only checked, but for barriers.
    bool is_brief = false;
    std::optional<CellSkew> skew = {};
};

// Microseconds a call, over the batches; a batch counts with its slowest rank, or where one rank is
// late, with the slowest of the others. Of skewed calls: the synchronization delay.
struct Times {
    double p10_us = 0;  // what it takes when nothing else disturbs this machine
    double p50_us = 0;
    double p99_us = 0;
    uint64_t batches = 0;
    uint64_t calls_per_batch = 0;
    std::optional<Estimate> mean_us = {};  // by the paper's method
    std::optional<double> late_us = {};    // of skewed calls: how late the latest rank was, median
};

struct AlgorithmTimes {
    std::string name;
    std::string refused;  // why it cannot run this call; empty where it was measured
    Times times;
    Times late;
};

// What skewed calls were timed by.
struct SkewedCell {
    uint64_t most_ns = 0;
    double error_us = 0;                   // of each delay, at most
    std::vector<adapt::ClockLine> clocks;  // by host
};

struct Cell {
    tutti_collective collective{};
    uint64_t bytes = 0;
    std::string skipped;  // why; empty where it was measured
    Times host;
    std::optional<Times> tutti;
    std::vector<AlgorithmTimes> algorithms;
    // The late rank's own time inside the calls, where there is one.
    std::optional<Times> host_late;
    std::optional<Times> tutti_late;
    std::optional<SkewedCell> skew;
    std::optional<FlagLatency> flag;  // around its batches
    double copy_us = 0;               // 0 for the barrier
};

// The value at the given share (0 to 1) of sorted values, none of them interpolated.
double quantile(const std::vector<double>& sorted, double share);

// Half of what this node has free: the page cache and the MPI want some, too.
uint64_t memory_for_buffers();

// Collective. The first calls on a communicator go to the host, the same number on every rank:
// these are made here. Numbers as measure_cell() has them.
void warm_up(BenchMpi& mpi, uint64_t warmup_calls, uint64_t& next_number);

// Collective. Numbers seeds and calls through the whole run: every cell starts where the former
// ended. A wrong result is an error on every rank, with the message of the lowest wrong rank.
Result<Cell> measure_cell(BenchMpi& mpi, SharedPage& page, const CellOrder& order,
                          uint64_t& next_number);

}  // namespace tutti::bench
