// SPDX-License-Identifier: BSD-3-Clause
// The text of `tutti explain` on messages by RDMA.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/networks.h"
#include "base/topo/placement.h"
#include "plan/sched/shape.h"
#include "plan/select/select.h"

namespace tutti::cli {

inline constexpr size_t kRdma = network_number("rdma");

// What a rank registers, with how many others it is connected: of the one with most.
struct RdmaMemory {
    size_t peers = 0;
    size_t bytes = 0;
};
// The largest packets that adapters have; by smaller ones multicast takes less memory.
inline constexpr uint32_t kRdmaMtuBytes = 4096;

// A line: with how many others each rank is connected, what that registers, and, where that is not
// too much to follow, how many of the chosen algorithm's messages go so. For a team whose members
// all have a port. Each rank's peers are looked for once, so what was found is there to be told
// again.
RdmaMemory print_rdma(const sched::Shape& shape, const topo::Placement& placement,
                      const select::Choice& choice, const VerbsSettings& settings);

// Then the team goes without.
[[nodiscard]] bool is_too_much(const RdmaMemory& memory, const VerbsSettings& settings);

}  // namespace tutti::cli
