// SPDX-License-Identifier: BSD-3-Clause
// A schedule as a drawing: ranks side by side, time downwards, an arrow a message; a multicast is a
// point from which arrows go to all. Written as SVG directly: where everything stands follows from
// the schedule, so there is nothing that a program for layouts could add.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/topo/placement.h"
#include "lab/check/count.h"
#include "plan/algo/registry.h"
#include "plan/sched/shape.h"

namespace tutti::explain {

// The text of the drawing; title: what is called.
std::string drawing(const std::string& title, const topo::Placement& placement,
                    const std::vector<std::vector<check::Passage>>& steps);

// Of an algorithm that has no obstacle. An error where it would be a grey surface, not a drawing.
Result<std::string> draw(const std::string& title, const algo::Algorithm& algorithm,
                         const sched::Shape& shape, const topo::Placement& placement,
                         const algo::Tuning& tuning);

}  // namespace tutti::explain
