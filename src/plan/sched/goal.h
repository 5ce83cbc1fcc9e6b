// SPDX-License-Identifier: BSD-3-Clause
// Schedules in GOAL, the language that LogGOPSim reads.
//
// Source: Hoefler, Siebert, Lumsdaine 2009, "Group Operation Assembly Language - a flexible way to
// express collective communication", doi:10.1109/ICPP.2009.70; Hoefler, Schneider, Lumsdaine 2010,
// "LogGOPSim", doi:10.1145/1851476.1851564.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "plan/sched/program.h"

namespace tutti::sched {

// The Programs of all ranks. Reductions and copies become `calc` of so many nanoseconds a byte of
// their result, rounded down. An error names the first operation that GOAL cannot say: node
// operations, multicasts, those who meet, and tags beyond 32 bits.
Result<std::string> print_goal(std::span<const std::unique_ptr<Program>> programs,
                               double reduce_ns_per_byte, double copy_ns_per_byte);

}  // namespace tutti::sched
