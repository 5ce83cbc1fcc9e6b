// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/all/all_networks.h"

namespace tutti::networks {

// Each in its own folder.
#define TUTTI_NETWORK(name, title, group, variable, option, text) \
    namespace name {                                              \
    std::unique_ptr<Network> make(Process& process);              \
    }
#include "base/networks.inc"
#undef TUTTI_NETWORK
#define TUTTI_MULTICAST_NETWORK(name, word, title)                                      \
    namespace name {                                                                    \
    std::unique_ptr<MulticastNetwork> make(Process& process, const Networks& networks); \
    }
#include "base/multicast_networks.inc"
#undef TUTTI_MULTICAST_NETWORK

Networks make_networks(Process& process) {
    Networks all;
#define TUTTI_NETWORK(name, title, group, variable, option, text) \
    all.push_back(name::make(process));
#include "base/networks.inc"
#undef TUTTI_NETWORK
    return all;
}

MulticastNetworks make_multicast_networks(Process& process, const Networks& networks) {
    MulticastNetworks all;
#define TUTTI_MULTICAST_NETWORK(name, word, title) all.push_back(name::make(process, networks));
#include "base/multicast_networks.inc"
#undef TUTTI_MULTICAST_NETWORK
    return all;
}

}  // namespace tutti::networks
