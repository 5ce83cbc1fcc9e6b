// SPDX-License-Identifier: BSD-3-Clause
// Connects the members of a team by RDMA.
#pragma once

#include "base/result.h"
#include "run/agree/circle.h"
#include "run/networks/rdma/rdma_network.h"
#include "run/networks/rdma/team_rdma.h"

namespace tutti::networks::rdma {

// Collective over `all`, the members of the team. Members connect with the peers that peers_of()
// names, exchange a message each way, and agree; or take the connections that an earlier team of
// theirs has, where all make their calls in turn. Errors: TeamNetwork::make().
Result<Done> connect(RdmaNetwork& network, const topo::Placement& placement,
                     const TeamTraits& traits, agree::Circle& all, Connected& connected);

}  // namespace tutti::networks::rdma
