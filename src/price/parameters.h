// SPDX-License-Identifier: BSD-3-Clause
// What work inside a node takes where nothing was measured. Links and their rates stand in
// topo/fabric.h, measured speeds between nodes in sched::Shape.
#pragma once

#include <cstdint>

namespace tutti::price {

// Orders of magnitude for a server of today: two cores of a node see each other's store in 20 to
// 300 ns. No choice depends on them; the simulator and drawings for other tools do.
struct NodeParameters {
    // Until another core sees a written flag.
    uint64_t flag_ns = 100;
    // One rank's copying between its buffers and shared memory, and one rank's folding.
    uint64_t copy_bytes_per_s = 8'000'000'000;
    uint64_t reduce_bytes_per_s = 4'000'000'000;
};

}  // namespace tutti::price
