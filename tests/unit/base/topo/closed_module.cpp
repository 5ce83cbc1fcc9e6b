// SPDX-License-Identifier: BSD-3-Clause
// A shared object made as the preloaded library is; closed_test.cpp opens it.
#include "base/topo/node_topology.h"

// Returns how many processors the description (this machine, where empty) has; 0 on failure.
extern "C" __attribute__((visibility("default"))) unsigned topo_closed_read(const char* synthetic) {
    const auto topology = tutti::topo::read_node_topology(synthetic);
    return topology ? topology.value().cpu_count : 0;
}
