// SPDX-License-Identifier: BSD-3-Clause
// With whom a member of a team is connected by RDMA. A function of the placement alone, so both
// ends of a pair know it of each other.
#pragma once

#include <cstdint>
#include <vector>

#include "topo/placement.h"

namespace tutti::bootstrap {

// So many at most are connected with all.
inline constexpr uint32_t kPeersOfAllMax = 24;

// Ranks of other nodes, ascending. In small teams all. Else those at the same place on the nodes to
// which algorithms send: a power of two away, the neighbours of a ring among them, pairs and halves,
// and trees of the first node, in the order of nodes and in that of switches: 5 log2(nodes) in each
// at most. Places that not all nodes have are left out. Throws std::bad_alloc.
std::vector<uint32_t> verbs_peers(const topo::Placement& placement, uint32_t rank);

}  // namespace tutti::bootstrap
