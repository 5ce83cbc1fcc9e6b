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
#include "cli/skew_options.h"
#include "tutti/tutti.h"

namespace tutti::cli {

inline constexpr uint64_t kBenchBytesMax = 1ull << 30;
inline constexpr uint64_t kBenchBatchesMin = 5;

// The method of Patarasuk, Yuan 2007, section 4 and figure 4: runs of so many calls, a barrier
// after each.
inline constexpr uint64_t kPaperRuns = 32;
inline constexpr uint64_t kPaperLongBytes = uint64_t{64} << 10;
constexpr uint64_t paper_calls(uint64_t bytes) { return bytes < kPaperLongBytes ? 20 : 10; }

// A rank that enters every call late.
struct LateRank {
    uint32_t rank = 0;
    double milliseconds = 0;
};

struct BenchOptions {
    bool help = false;
    std::vector<tutti_collective> collectives;
    std::vector<uint64_t> bytes;  // of one block; multiples of 8
    std::string json;             // empty: none
    uint64_t batches = 100;       // of each side, at most
    double seconds = 1.0;         // for each line of the table, about
    std::string algorithm;  // as TUTTI_ALLREDUCE takes it, or "all"; empty: by the rules alone
    std::optional<LateRank> late;
    std::optional<SkewOptions> skew;
    uint64_t seed = 1;  // of the delays
    std::string svg;    // curves over the delays; empty: none
    bool fresh_buffers = false;
    bool paper = false;  // measure by that method; `batches` are its runs, and `seconds` no limit
};

// arguments: what follows the word "bench".
Result<BenchOptions> parse_bench_options(std::span<const std::string_view> arguments);
std::string bench_usage();

}  // namespace tutti::cli
