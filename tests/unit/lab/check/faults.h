// SPDX-License-Identifier: BSD-3-Clause
// What the proof finds wrong with schedules written as text.
#pragma once

#include <string>

#include "lab/check/prove.h"
#include "unit/plan/sched/schedules.h"

namespace tutti::check {

using sched::alone;
using sched::Extent;
using sched::Lines;
using sched::Programs;
using sched::shape_of;
using sched::written;

inline Lines faults_of(const Shape& shape, const topo::Placement& placement, const Extent& extent,
                       const Lines& bodies, const Demands& demands = {}) {
    return prove(shape, placement, written(shape, extent, bodies), demands).lines;
}

inline Lines faults_of(const Shape& shape, const Extent& extent, const Lines& bodies) {
    return faults_of(shape, alone(shape.ranks), extent, bodies);
}

inline void expect_fault(const Lines& lines, const std::string& what) {
    ASSERT_FALSE(lines.empty()) << "nothing found; wanted: " << what;
    EXPECT_NE(lines[0].find(what), std::string::npos) << "found: " << lines[0];
}

}  // namespace tutti::check
