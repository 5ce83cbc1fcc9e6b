// SPDX-License-Identifier: BSD-3-Clause
// The networks that there are (base/networks.inc).
#pragma once

#include "run/networks/team_networks.h"
#include "run/transport/fabrics/fabrics.h"

namespace tutti::networks {

// All of them, by number, for a process, which outlives them. Throws std::bad_alloc.
Networks make_networks(Process& process);

// The port of a process's RDMA, for multicast by it as well. What make_networks() made outlives
// this.
transport::fabrics::FindPort rdma_port_of(const Networks& networks);

}  // namespace tutti::networks
