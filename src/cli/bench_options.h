// SPDX-License-Identifier: BSD-3-Clause
// The command line of `tutti bench`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/bench/bench_method.h"
#include "tutti/tutti.h"

namespace tutti::cli {

struct BenchOptions {
    bool help = false;
    std::vector<tutti_collective> collectives;
    std::vector<uint64_t> bytes;  // of one block; multiples of 8
    std::string json;             // empty: none
    uint64_t batches = 100;       // of each side, at most
    double seconds = 1.0;         // for each line of the table, about
    std::string algorithm;  // as TUTTI_ALLREDUCE takes it, or "all"; empty: by the rules alone
    std::optional<bench::LateRank> late;
    std::optional<bench::SkewOptions> skew;
    uint64_t seed = 1;  // of the delays
    std::string svg;    // curves over the delays; empty: none
    bool fresh_buffers = false;
    bool paper = false;  // measure by that method; `batches` are its runs, and `seconds` no limit
};

// arguments: what follows the word "bench".
Result<BenchOptions> parse_bench_options(std::span<const std::string_view> arguments);
std::string bench_usage();

}  // namespace tutti::cli
