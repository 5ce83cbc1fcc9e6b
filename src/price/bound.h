// SPDX-License-Identifier: BSD-3-Clause
// What no schedule can beat on a fabric.
#pragma once

#include <cstdint>

#include "sched/shape.h"
#include "topo/fabric.h"
#include "topo/placement.h"

namespace tutti::price {

// A time that no schedule beats, with multicast or without: the latency of the longest way that
// must be gone, and what the busiest link must carry one way. Node n of the placement is host n.
uint64_t bound_ns(const sched::Shape& shape, const topo::Placement& placement,
                  const topo::Fabric& fabric);

// The bytes of a call that pass this link at least, one way or the other. Of links side by side,
// and for allreduce of all hosts' links, the one that carries most does not carry less. 0: none
// need.
uint64_t least_bytes(const sched::Shape& shape, const topo::Placement& placement,
                     const topo::Fabric& fabric, uint32_t link);

}  // namespace tutti::price
