// SPDX-License-Identifier: BSD-3-Clause
// The command line of `tutti bench`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lab/bench/bench_session.h"

namespace tutti::cli {

struct BenchOptions : bench::BenchPlan {
    bool help = false;
    std::string json;  // empty: none
    std::string svg;   // curves over the delays; empty: none
};

// arguments: what follows the word "bench".
Result<BenchOptions> parse_bench_options(std::span<const std::string_view> arguments);
std::string bench_usage();

}  // namespace tutti::cli
