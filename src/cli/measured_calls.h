// SPDX-License-Identifier: BSD-3-Clause
// Measured times of a run's report beside predicted ones (`tutti explain --against`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "lab/explain/scenario.h"
#include "plan/select/by_price.h"

namespace tutti::cli {

inline constexpr OptionDoc kAgainstOption = {
    "--against", "FILE",
    "Print the times of a run beside the predicted ones: the JSON of its report"};

// Calls of one collective, of about one size, by one algorithm.
struct MeasuredCalls {
    std::string algorithm;
    uint64_t calls = 0;
    uint64_t mean_bytes = 0;
    uint64_t mean_ns = 0;  // inside a call, of all ranks
};

// Those that Tutti ran across hosts, on communicators of so many ranks.
Result<std::vector<MeasuredCalls>> parse_measured_calls(std::string_view text,
                                                        std::string_view collective,
                                                        uint32_t ranks);

// Of the file behind the option; none where it is not there. An error is one line.
Result<std::vector<MeasuredCalls>> read_measured_calls(const CommandLine& command_line,
                                                       const explain::Scenario& scenario);
// Where the option is there. chooses: nullptr where the built-in rules do.
void print_measured_calls(const CommandLine& command_line, const std::vector<MeasuredCalls>& all,
                          const explain::Scenario& scenario, const topo::Placement& placement,
                          const select::Cluster& cluster, select::Prices* chooses);

}  // namespace tutti::cli
