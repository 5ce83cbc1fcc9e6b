// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/udp/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/assert.h"
#include "base/text.h"
#include "run/transport/udp/interfaces.h"

namespace tutti::transport::udp {
namespace {

// The protocol's least would wait for acknowledgements all the time.
constexpr uint32_t kWindowPacketsMin = 16;

std::span<const Candidate> candidates_of(const Endpoint& endpoint) {
    return std::span(endpoint.candidate)
        .first(std::min<size_t>(endpoint.candidates, kCandidatesMax));
}

std::optional<Candidate> find_loopback(const Endpoint& endpoint) {
    for (const Candidate& one : candidates_of(endpoint)) {
        if (one.is_loopback != 0) return one;
    }
    return {};
}

std::optional<Candidate> find_in(const Endpoint& endpoint, const Candidate& network) {
    for (const Candidate& one : candidates_of(endpoint)) {
        if (one.is_loopback != 0 || one.prefix_bits != network.prefix_bits) continue;
        if (in_network(one.address, network.address, network.prefix_bits)) return one;
    }
    return {};
}

// How many members have an address in the network. None, if two hosts have the same address there:
// then it is as many networks (such as those of containers) as hosts.
uint32_t count_members(std::span<const Endpoint> endpoints, const Candidate& network) {
    std::vector<std::pair<AddressBytes, uint64_t>> seen;  // and the host
    for (const Endpoint& endpoint : endpoints) {
        const auto one = find_in(endpoint, network);
        if (one) seen.emplace_back(one->address, endpoint.host);
    }
    std::sort(seen.begin(), seen.end());
    for (size_t i = 1; i < seen.size(); ++i) {
        if (seen[i].first == seen[i - 1].first && seen[i].second != seen[i - 1].second) return 0;
    }
    return static_cast<uint32_t>(seen.size());
}

// The address of each member in the best network; elsewhere, behind a router, its first one.
Result<std::vector<Candidate>> choose_addresses(std::span<const Endpoint> endpoints) {
    std::optional<Candidate> network;
    uint32_t most = 0;
    for (const Candidate& one : candidates_of(endpoints[0])) {
        if (one.is_loopback != 0) continue;
        const uint32_t count = count_members(endpoints, one);
        if (count > most) {
            most = count;
            network = one;
        }
    }
    std::vector<Candidate> chosen;
    for (size_t member = 0; member < endpoints.size(); ++member) {
        const Endpoint& endpoint = endpoints[member];
        auto one = network ? find_in(endpoint, *network) : std::nullopt;
        for (const Candidate& other : candidates_of(endpoint)) {
            if (!one && other.is_loopback == 0) one = other;
        }
        if (!one) {
            return Error{ErrorCode::kNetwork, "multicast: the host of member " +
                                                  std::to_string(member) +
                                                  " has no network interface but loopback"};
        }
        chosen.push_back(*one);
    }
    return chosen;
}

std::optional<std::vector<Candidate>> choose_loopback(std::span<const Endpoint> endpoints) {
    std::vector<Candidate> chosen;
    for (const Endpoint& endpoint : endpoints) {
        const auto loopback = find_loopback(endpoint);
        if (!loopback || endpoint.host != endpoints[0].host) return {};
        chosen.push_back(*loopback);
    }
    return chosen;
}

// The system counts what it allocates for a packet: a power of two for data, headers and its own
// notes, and 256 bytes. A quarter is left for acknowledgements and other small packets.
uint32_t packets_in(uint32_t buffer_bytes, uint32_t packet_bytes) {
    constexpr uint32_t kNotesBytes = 400;
    constexpr uint32_t kHeadBytes = 256;
    const uint32_t one = std::bit_ceil(packet_bytes + kNotesBytes) + kHeadBytes;
    return buffer_bytes / 4 * 3 / one;
}

}  // namespace

Result<Path> choose_path(std::span<const Endpoint> endpoints, mcast::Member own) {
    TUTTI_ASSERT(own < endpoints.size(), "the own member is in the group");
    for (const Endpoint& endpoint : endpoints) {
        if (endpoint.family != endpoints[0].family || endpoint.candidates == 0) {
            return Error{ErrorCode::kNetwork, "multicast: members do not agree on IPv4 or IPv6"};
        }
    }
    Path path;
    if (auto loopback = choose_loopback(endpoints)) {
        path.of_member = std::move(*loopback);
    } else {
        auto chosen = choose_addresses(endpoints);
        if (!chosen) return chosen.error();
        path.of_member = std::move(chosen.value());
    }
    path.own = path.of_member[own];
    path.packet_bytes_max = path.own.packet_bytes_max;
    uint32_t receive_bytes = UINT32_MAX;
    for (size_t member = 0; member < endpoints.size(); ++member) {
        path.packet_bytes_max =
            std::min(path.packet_bytes_max, path.of_member[member].packet_bytes_max);
        receive_bytes = std::min(receive_bytes, endpoints[member].receive_bytes);
        if (member != own && endpoints[member].host == endpoints[own].host) path.shares_host = true;
    }
    path.window_packets_max =
        std::max(kWindowPacketsMin, packets_in(receive_bytes, path.packet_bytes_max));
    return path;
}

SocketAddress socket_address(Family family, const AddressBytes& address, uint16_t port,
                             uint32_t interface) {
    SocketAddress made;
    if (family == Family::kIpv4) {
        auto& ipv4 = reinterpret_cast<sockaddr_in&>(made.storage);
        ipv4.sin_family = AF_INET;
        ipv4.sin_port = port;
        std::memcpy(&ipv4.sin_addr, address.data(), sizeof(ipv4.sin_addr));
        made.length = sizeof(ipv4);
        return made;
    }
    auto& ipv6 = reinterpret_cast<sockaddr_in6&>(made.storage);
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = port;
    std::memcpy(&ipv6.sin6_addr, address.data(), sizeof(ipv6.sin6_addr));
    const bool is_on_link = IN6_IS_ADDR_LINKLOCAL(&ipv6.sin6_addr);
    if (is_on_link || IN6_IS_ADDR_MULTICAST(&ipv6.sin6_addr)) ipv6.sin6_scope_id = interface;
    made.length = sizeof(ipv6);
    return made;
}

Result<carrier::GroupAddress> parse_group_address(std::string_view text) {
    const std::string copy(text);
    carrier::GroupAddress address;
    if (inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1 && address.bytes[0] == 239) {
        return address;
    }
    address = {carrier::Kind::kUdp6, {}};
    if (inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) == 1 && address.bytes[0] == 0xff) {
        return address;
    }
    return Error{ErrorCode::kArgument,
                 "'" + printable(text) + "' is no multicast address (239.x.y.z or ff..)"};
}

carrier::GroupAddress make_group_address(Family family, uint64_t random) {
    carrier::GroupAddress address{static_cast<carrier::Kind>(family), {}};
    if (family == Family::kIpv4) {
        // 239.192.0.0/14; the last two bytes choose the switch's entry, too.
        address.bytes[0] = 239;
        address.bytes[1] = static_cast<uint8_t>(192 + (random >> 16) % 4);
        address.bytes[2] = static_cast<uint8_t>(random >> 8);
        address.bytes[3] = static_cast<uint8_t>(random);
        return address;
    }
    address.bytes[0] = 0xff;
    address.bytes[1] = 0x15;
    // RFC 3307: group numbers that hosts choose have the highest of 32 bits set.
    for (uint32_t i = 0; i < 4; ++i) {
        address.bytes[12 + i] = static_cast<uint8_t>(random >> (24 - 8 * i));
    }
    address.bytes[12] |= 0x80;
    return address;
}

std::string to_text(Family family, const AddressBytes& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(family == Family::kIpv4 ? AF_INET : AF_INET6, address.data(), text.data(),
              static_cast<socklen_t>(text.size()));
    return text.data();
}

}  // namespace tutti::transport::udp
