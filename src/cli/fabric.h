// SPDX-License-Identifier: BSD-3-Clause
// The fabric on which `tutti simulate` runs a call, and what no schedule can beat there.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "cli/words.h"
#include "sched/shape.h"
#include "topo/fabric.h"
#include "topo/placement.h"

namespace tutti::cli {

std::span<const OptionDoc> fabric_options();
// hosts: of the call.
Result<topo::Fabric> read_fabric(const Words& words, uint32_t hosts);
// "100000 Mbit/s, 1 us", and what is told of leaves.
std::string text_of(const topo::Fabric& fabric);

// A time that no schedule beats, with multicast or without: the latency of the longest way that
// must be gone, and what the busiest link must carry one way.
uint64_t bound_ns(const sched::Shape& shape, const topo::Placement& placement,
                  const topo::Fabric& fabric);

}  // namespace tutti::cli
