// SPDX-License-Identifier: BSD-3-Clause
// What `tutti explain` writes for other programs: GOAL, and traces with a platform for SMPI.
#pragma once

#include "base/result.h"
#include "cli/fabric.h"
#include "cli/words.h"
#include "sched/shape.h"
#include "select/select.h"
#include "topo/placement.h"

namespace tutti::cli {

inline constexpr OptionDoc kGoalOption{"--goal", "FILE", "Write it in GOAL, for LogGOPSim"};
inline constexpr OptionDoc kSmpiOption{
    "--smpi", "DIR", "Write traces and a platform for SimGrid there (docs/formats/smpi.md)"};
inline constexpr OptionDoc kFreeCopiesOption{
    "--free-copies", "", "With --smpi: copies take no time, as within SMPI's own collectives"};

// Those that the words name; the choice runs a plan. Each is written whole or not at all.
Result<Done> write_exports(const Words& words, const NamedFabric& named, const sched::Shape& shape,
                           const topo::Placement& placement, const select::Choice& choice);

}  // namespace tutti::cli
