// SPDX-License-Identifier: BSD-3-Clause
// A schedule as a drawing: ranks side by side, time downwards, an arrow a message; a multicast is a
// point from which arrows go to all. Written as SVG directly: where everything stands follows from
// the schedule, so there is nothing that a program for layouts could add.
#pragma once

#include <string>
#include <vector>

#include "algo/registry.h"
#include "base/result.h"
#include "check/count.h"
#include "sched/shape.h"
#include "topo/placement.h"

namespace tutti::cli {

// What stands in the file.
std::string drawing(const std::string& title, const topo::Placement& placement,
                    const std::vector<std::vector<check::Passage>>& steps);

// title: what is called. The file is written whole or not at all.
Result<Done> draw_schedule(const std::string& title, const algo::Algorithm& algorithm,
                           const sched::Shape& shape, const topo::Placement& placement,
                           const algo::Tuning& tuning, const std::string& file);

}  // namespace tutti::cli
