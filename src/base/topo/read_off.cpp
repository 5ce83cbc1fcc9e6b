// SPDX-License-Identifier: BSD-3-Clause
// Stands in for read_hwloc.cpp where no static hwloc was found when Tutti was configured.
#include "base/topo/node_topology.h"

namespace tutti::topo {

Result<NodeTopology> read_node_topology(const std::string& synthetic) {
    static_cast<void>(synthetic);
    return Error{ErrorCode::kOff, "node topology: this build has no hwloc"};
}

}  // namespace tutti::topo
