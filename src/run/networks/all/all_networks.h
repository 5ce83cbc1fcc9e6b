// SPDX-License-Identifier: BSD-3-Clause
// The networks that there are (base/networks.inc, base/multicast_networks.inc).
#pragma once

#include "run/networks/message_network.h"
#include "run/networks/multicast_network.h"
#include "run/networks/team_networks.h"

namespace tutti::networks {

// All of them that carry messages, by number, for a process, which outlives them. Throws
// std::bad_alloc.
Networks make_networks(Process& process);

// Likewise those that carry multicast. Some go by the device of one that carries messages:
// `networks` outlive them.
MulticastNetworks make_multicast_networks(Process& process, const Networks& networks);

}  // namespace tutti::networks
