// SPDX-License-Identifier: BSD-3-Clause
// What messages by RDMA take of a rank, and which of a call's messages go so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/networks.h"
#include "base/settings.h"
#include "base/topo/placement.h"
#include "plan/sched/shape.h"
#include "plan/select/select.h"

namespace tutti::explain {

inline constexpr size_t kRdma = network_number("rdma");
// The largest packets that adapters have; by smaller ones multicast takes less memory.
inline constexpr uint32_t kRdmaMtuBytes = 4096;

struct RdmaUse {
    // Of the rank with most: with how many others it is connected, and what it registers.
    size_t peers = 0;
    size_t bytes = 0;
    // Of the call, on all ranks; none where it is too much to follow.
    uint64_t messages = 0;
    uint64_t by_rdma = 0;
    uint64_t counted = 0;  // of these

    // Then the team goes without.
    [[nodiscard]] bool is_too_much(const VerbsSettings& settings) const {
        return settings.memory_bytes != 0 && bytes > settings.memory_bytes;
    }
};

// For a team whose members all have a port.
RdmaUse rdma_use(const sched::Shape& shape, const topo::Placement& placement,
                 const select::Choice& choice);

}  // namespace tutti::explain
