// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/all/all_networks.h"

#include "run/networks/rdma/rdma_network.h"

namespace tutti::networks {

// Each in its own folder.
#define TUTTI_NETWORK(name, title, group, variable, option, text) \
    namespace name {                                              \
    std::unique_ptr<Network> make(Process& process);              \
    }
#include "base/networks.inc"
#undef TUTTI_NETWORK

Networks make_networks(Process& process) {
    Networks all;
#define TUTTI_NETWORK(name, title, group, variable, option, text) \
    all.push_back(name::make(process));
#include "base/networks.inc"
#undef TUTTI_NETWORK
    return all;
}

transport::fabrics::FindPort rdma_port_of(const Networks& networks) {
    return [&networks] { return rdma::network_of(networks).device(); };
}

}  // namespace tutti::networks
