// SPDX-License-Identifier: BSD-3-Clause
// What `tutti explain` writes into files: a drawing, GOAL, traces with a platform for SMPI. All of
// it is made before any is written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files/whole_file.h"
#include "base/result.h"
#include "base/topo/placement.h"
#include "cli/command_line.h"
#include "cli/fabric_options.h"
#include "plan/sched/shape.h"
#include "plan/select/select.h"

namespace tutti::cli {

inline constexpr OptionDoc kSvgOption{"--svg", "FILE",
                                      "Draw the schedule: ranks side by side, time downwards; with "
                                      "--fabric each step on the tree of switches"};
inline constexpr OptionDoc kGoalOption{"--goal", "FILE",
                                       "Write the schedule in GOAL, for LogGOPSim"};
inline constexpr OptionDoc kSmpiOption{
    "--smpi", "DIR", "Write traces and a platform for SimGrid to DIR (docs/formats/smpi.md)"};
inline constexpr OptionDoc kFreeCopiesOption{
    "--free-copies", "", "With --smpi: copies take no time, as within SMPI's own collectives"};

// What of these words will keep files from being written, as far as can be told before they are
// made. An error is one line, here and below.
Result<Done> check_exports(const CommandLine& command_line);

struct Export {
    std::string_view option;
    std::string path;
    std::string text;
};

struct Exports {
    std::vector<Export> files;
    std::vector<files::NamedText> traces;  // where --smpi is there
};

// Of --goal and --smpi those that the words name; the choice runs a plan.
Result<Exports> make_exports(const CommandLine& command_line, const NamedFabric& named,
                             const sched::Shape& shape, const topo::Placement& placement,
                             const select::Choice& choice);

// Each file, and the folder of traces, whole or not at all.
Result<Done> write_exports(const CommandLine& command_line, const Exports& exports);

}  // namespace tutti::cli
