// SPDX-License-Identifier: BSD-3-Clause
// Links that run side by side between the same two: a host and its switch, or two switches.
#pragma once

#include <cstdint>

namespace tutti::topo {

// Parallel links; of different rates the lowest, of different latencies the longest.
struct Trunk {
    uint32_t links = 0;
    uint64_t bits_per_s = 0;  // of one of them; 0: not known of any
    uint64_t latency_ns = 0;  // 0: not known of any
    bool operator==(const Trunk&) const = default;
};

}  // namespace tutti::topo
