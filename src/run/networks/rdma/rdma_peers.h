// SPDX-License-Identifier: BSD-3-Clause
// The peers that a member of a team is connected with by RDMA. A function of the placement alone,
// so both ends of a pair know it of each other.
#pragma once

#include <cstdint>
#include <vector>

#include "base/topo/placement.h"

namespace tutti::networks::rdma {

// So many at most are connected with all.
inline constexpr uint32_t kPeersOfAllMax = 24;

// Ranks of other nodes, ascending. In small teams all. Else those at the same place on the nodes to
// which algorithms send: a power of two away, the neighbours of a ring among them, pairs and
// halves, and trees of the first node, in the order of nodes and in that of switches: 5 log2(nodes)
// in each at most. Places that not all nodes have are left out. Throws std::bad_alloc.
std::vector<uint32_t> peers_of(const topo::Placement& placement, uint32_t rank);

// All others are on other nodes, and connected with rank 0. Then rank 0 is connected with itself as
// well, so that all can add to its word (Transport::fetch_add), where the devices can.
bool all_reach_first(const topo::Placement& placement);

}  // namespace tutti::networks::rdma
