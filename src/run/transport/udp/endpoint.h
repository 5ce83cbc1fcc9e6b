// SPDX-License-Identifier: BSD-3-Clause
// The addresses of a host, in numbers that are sent through an allgather, and the choice of a
// network that follows from the numbers of all hosts.
//
// Source: ours. A host does not know which of its networks leads to the others; all hosts together
// do. Each tells its addresses, those first that your MPI's connections use; the network in which
// most hosts have an address is the group's, and member 0's order decides between equals.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/mcast/packet.h"
#include "run/transport/carrier/datagrams.h"

namespace tutti::transport::udp {

enum class Family : uint32_t {
    kIpv4 = static_cast<uint32_t>(carrier::Kind::kUdp4),
    kIpv6 = static_cast<uint32_t>(carrier::Kind::kUdp6)
};

// Network order; IPv4 in the first four bytes.
using AddressBytes = std::array<uint8_t, 16>;

// One of a host's addresses. It means what it says on that host only, but for address and prefix.
struct Candidate {
    AddressBytes address{};
    uint32_t interface = 0;  // its index
    uint32_t prefix_bits = 0;
    uint32_t packet_bytes_max = 0;  // UDP payload that one packet of the interface holds
    uint32_t is_loopback = 0;
    bool operator==(const Candidate&) const = default;
};
inline constexpr uint32_t kCandidatesMax = 4;

// Fixed size, without pointers.
struct Endpoint {
    uint64_t host = 0;  // equal: one kernel and one network namespace
    uint32_t family = 0;
    uint16_t port = 0;  // of packets to this member alone, network order
    uint16_t candidates = 0;
    uint32_t receive_bytes = 0;  // of a socket's buffer, as the system counts
    uint32_t unused = 0;
    std::array<Candidate, kCandidatesMax> candidate;
    bool operator==(const Endpoint&) const = default;
};

// What a group uses: on every member the same but for `interface` and `own`.
struct Path {
    Candidate own;
    uint32_t packet_bytes_max = 0;  // the least of all members
    // As many packets as every member's buffer holds, so that one sender overflows none.
    uint32_t window_packets_max = 0;
    bool shares_host = false;  // with another member: own packets must be looped back
    std::vector<Candidate> of_member;
};

// Errors: a member that has no address that others could reach. All members find the same.
Result<Path> choose_path(std::span<const Endpoint> endpoints, mcast::Member own);

// An address with its port, as the system wants it.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
};
// `interface` counts for IPv6 addresses that mean something on one link only. Port: network order.
SocketAddress socket_address(Family family, const AddressBytes& address, uint16_t port,
                             uint32_t interface);

// "239.1.2.3" or "ff15::1:2"; errors: not a multicast address.
Result<carrier::GroupAddress> parse_group_address(std::string_view text);
// One of those that anybody may use on a site (RFC 2365: 239.192/14; RFC 4291: ff15::/16).
carrier::GroupAddress make_group_address(Family family, uint64_t random);
std::string to_text(Family family, const AddressBytes& address);

}  // namespace tutti::transport::udp
