// SPDX-License-Identifier: BSD-3-Clause
// The network on which `tutti simulate` runs a call, and what no schedule can beat there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/words.h"
#include "sched/shape.h"
#include "topo/placement.h"
#include "transport/sim/network.h"

namespace tutti::cli {

struct Fabric {
    uint64_t bits_per_s = 100'000'000'000;
    uint64_t trunk_bits_per_s = 100'000'000'000;
    uint64_t latency_ns = 1000;
    std::vector<uint32_t> leaves;  // hosts on each; empty: all on one switch

    [[nodiscard]] transport::sim::Network network(uint32_t hosts) const;
    // "100000 Mbit/s, 1 us", and what is told of leaves.
    [[nodiscard]] std::string text() const;
};

std::span<const OptionDoc> fabric_options();
// hosts: of the call.
Result<Fabric> read_fabric(const Words& words, uint32_t hosts);

// A time that no schedule beats, with multicast or without: the latency of the longest way that
// must be gone, and what the busiest link must carry one way.
uint64_t bound_ns(const sched::Shape& shape, const topo::Placement& placement,
                  const Fabric& fabric);

}  // namespace tutti::cli
