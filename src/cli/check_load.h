// SPDX-License-Identifier: BSD-3-Clause
// `tutti check --fabric`: what the links of a described cluster carry in a call.
#pragma once

#include <functional>

#include "base/result.h"
#include "base/topo/placement.h"
#include "cli/command_line.h"
#include "cli/fabric_options.h"
#include "plan/algo/plan.h"
#include "plan/sched/shape.h"

namespace tutti::cli {

// Proves one call of each algorithm that is wanted and tells the load of links, in a table. Returns
// the exit status.
Result<int> check_on_fabric(const CommandLine& command_line,
                            const std::function<bool(const algo::Algorithm&)>& is_wanted);

// The same of one schedule that was proved, in lines. The bytes only where a file describes the
// fabric.
void print_load(const NamedFabric& named, const sched::Shape& shape,
                const topo::Placement& placement, const algo::Programs& programs);

}  // namespace tutti::cli
