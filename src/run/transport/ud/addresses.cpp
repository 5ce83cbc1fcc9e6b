// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/ud/addresses.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/assert.h"
#include "run/transport/ud/promises.h"

namespace tutti::transport::ud {
namespace {

// A subnet manager gives groups such packets unless it is told otherwise, and does not say.
constexpr uint32_t kPacketBytesInfiniBand = 2048;

}  // namespace

Said said_by(const carrier::Address& address) {
    Said said;
    std::memcpy(&said, address.of_kind.data(), sizeof said);
    return said;
}

void say(const Said& said, carrier::Address& address) {
    std::memcpy(address.of_kind.data(), &said, sizeof said);
}

uint32_t packet_bytes_of(const verbs::PortCard& port) {
    return port.is_ethernet != 0 ? port.mtu_bytes
                                 : std::min(port.mtu_bytes, kPacketBytesInfiniBand);
}

Result<carrier::Path> choose_path_of(std::span<const carrier::Address> members, mcast::Member own) {
    TUTTI_ASSERT(own < members.size(), "the own member is in the group");
    const verbs::PortCard first = said_by(members[0]).card.port;
    carrier::Path path;
    path.packet_bytes_max = UINT32_MAX;
    uint64_t slowest = first.bytes_per_s;
    std::vector<uint32_t> free_of_member;
    for (size_t member = 0; member < members.size(); ++member) {
        const carrier::Address& one = members[member];
        const Said said = said_by(one);
        const verbs::PortCard& port = said.card.port;
        if (one.kind != carrier::Kind::kUd || !port.is_in_network_of(first)) {
            return Error{ErrorCode::kNetwork, "multicast: the RDMA port of member " +
                                                  std::to_string(member) +
                                                  " is not in the network of member 0's"};
        }
        path.packet_bytes_max = std::min(path.packet_bytes_max, said.packet_bytes);
        slowest = std::min(slowest, port.bytes_per_s);
        free_of_member.push_back(said.free_receives);
        if (member != own && one.host == members[own].host) path.shares_host = true;
    }
    path.window_packets_max = choose_window(free_of_member);
    path.bytes_per_s_max = slowest;
    path.marks_urgent = true;
    return path;
}

}  // namespace tutti::transport::ud
