// SPDX-License-Identifier: BSD-3-Clause
// Which of this host's network interfaces a group could use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/transport/udp/endpoint.h"

namespace tutti::transport::udp {

// One address of one interface.
struct InterfaceAddress {
    std::string name;  // of the interface
    uint32_t index = 0;
    Family family = Family::kIpv4;
    AddressBytes address{};
    uint32_t prefix_bits = 0;
    uint32_t mtu = 0;
    bool is_up = false;
    bool is_loopback = false;
    bool can_multicast = false;
};

Result<std::vector<InterfaceAddress>> list_interfaces();

// Indices of the interfaces over which this process has connections, those with most of them first:
// the host MPI's. Nothing is asked of anybody, as a look-up of host names would.
std::vector<uint32_t> connected_interfaces(std::span<const InterfaceAddress> all);

// At most kCandidatesMax in the order of preference. `wanted`: an interface's name, an address of
// this host, or an address in one of its networks; empty: all. Errors name what is wrong with it.
Result<std::vector<Candidate>> choose_candidates(std::span<const InterfaceAddress> all,
                                                 Family family, const std::string& wanted,
                                                 std::span<const uint32_t> preferred,
                                                 uint32_t packet_bytes_max);

// The same for all processes with one kernel and one network namespace.
uint64_t host_number();

// Whether an address is in the network of another.
bool in_network(const AddressBytes& address, const AddressBytes& network, uint32_t prefix_bits);

}  // namespace tutti::transport::udp
