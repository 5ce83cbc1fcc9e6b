// SPDX-License-Identifier: BSD-3-Clause
// A scenario from the options of `tutti explain` and `tutti simulate`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "cli/fabric_options.h"
#include "cli/job_options.h"
#include "lab/explain/scenario.h"

namespace tutti::cli {

// 2^17 ranks are more than any machine runs today, and their Programs fit into memory here.
inline constexpr uint64_t kRanksMax = 1u << 17;
inline constexpr uint64_t kCallBytesMax = 1ull << 36;

// Options that say what is called; each command adds its own.
std::span<const OptionDoc> scenario_options();

struct ReadScenario {
    explain::Scenario scenario;
    JobHosts job;  // its hosts, in full
};
// What the site and the environment say; a default of the site's that is left out is told.
std::vector<std::string> settings_in_force();
// environment: the settings in force, as for `tutti run`. --algorithm is for the caller, see
// force().
Result<ReadScenario> read_scenario(std::string_view command, const CommandLine& command_line,
                                   std::span<const std::string> environment);
// The cluster that its calls across hosts are priced on (--parameters, or those of its rules, or
// what was measured of messages, if that is known).
Result<NamedFabric> read_priced_fabric(const CommandLine& command_line, const ReadScenario& read,
                                       std::span<const uint32_t> others = {},
                                       const sched::Speed& measured = {});
// By which they are chosen; none where the built-in rules choose. The placement, which is the
// scenario's, outlives it.
std::optional<select::Prices> choosing_prices(const CommandLine& command_line,
                                              const NamedFabric& named,
                                              const explain::Scenario& scenario,
                                              const topo::Placement& placement);
// Those by measured messages, the shape's; where nobody has told other ones.
std::optional<select::Prices> measured_prices(const CommandLine& command_line,
                                              const explain::Scenario& scenario,
                                              const sched::Shape& shape,
                                              const topo::Placement& placement);
// What --bytes lists; one zero for a barrier.
Result<std::vector<uint64_t>> read_bytes(std::string_view command, const CommandLine& command_line,
                                         const explain::Scenario& scenario);

}  // namespace tutti::cli
