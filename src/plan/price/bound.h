// SPDX-License-Identifier: BSD-3-Clause
// A lower bound of times on a fabric, which no schedule can beat.
#pragma once

#include <cstdint>

#include "base/topo/fabric.h"
#include "base/topo/placement.h"
#include "plan/sched/shape.h"

namespace tutti::price {

// A time that no schedule beats, with multicast or without: the latency of the longest way that
// must be gone, and what the busiest link must carry one way. Node n of the placement is host n.
uint64_t bound_ns(const sched::Shape& shape, const topo::Placement& placement,
                  const topo::Fabric& fabric);

// What some link carries one way in any schedule of a call, so that it takes so long for that: of
// all that must pass the one that takes longest.
struct LeastLoad {
    uint64_t bytes = 0;
    uint64_t ns = 0;
};
LeastLoad least_load(const sched::Shape& shape, const topo::Placement& placement,
                     const topo::Fabric& fabric);

}  // namespace tutti::price
