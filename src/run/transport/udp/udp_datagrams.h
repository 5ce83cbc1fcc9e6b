// SPDX-License-Identifier: BSD-3-Clause
// A carrier's packets over UDP: two sockets for all groups of a process.
// docs/protocol/multicast.md, "On UDP".
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "run/transport/carrier/datagrams.h"
#include "run/transport/udp/endpoint.h"

namespace tutti::transport::udp {

// Jumbo frames; only loopback interfaces take longer packets.
inline constexpr uint32_t kPacketBytesMax = 9000 - 28;

struct DatagramsParams {
    Family family = Family::kIpv4;
    // Name, or an address on it or in its network; empty: all that are up.
    std::string interface;
    uint16_t port = 0;  // of the groups, alike on all members
    uint32_t ttl = 1;
    uint32_t packet_bytes_max = kPacketBytesMax;      // more only if the interface has less
    uint32_t receive_buffer_bytes = 4 * 1024 * 1024;  // asked for; the system may grant less
};

// Errors: no such interface, no socket.
Result<std::unique_ptr<carrier::Datagrams>> open_datagrams(const DatagramsParams& params);

}  // namespace tutti::transport::udp
