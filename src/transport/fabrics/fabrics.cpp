// SPDX-License-Identifier: BSD-3-Clause
#include "transport/fabrics/fabrics.h"

#include "transport/udp/datagrams.h"
#include "transport/udp/endpoint.h"

namespace tutti::transport::fabrics {
namespace {

// IPv6 where an address among the settings is one.
udp::Family family_of(const McastSettings& settings) {
    const bool is_ipv6 = settings.address.find(':') != std::string::npos ||
                         settings.interface.find(':') != std::string::npos;
    return is_ipv6 ? udp::Family::kIpv6 : udp::Family::kIpv4;
}

}  // namespace

Result<std::unique_ptr<carrier::Datagrams>> open_datagrams(const McastSettings& settings) {
    udp::DatagramsParams params;
    params.family = family_of(settings);
    params.interface = settings.interface;
    params.port = static_cast<uint16_t>(settings.port);
    params.ttl = static_cast<uint32_t>(settings.ttl);
    return udp::open_datagrams(params);
}

Result<carrier::GroupAddress> draw_group(const McastSettings& settings, uint64_t random) {
    if (!settings.address.empty()) return udp::parse_group_address(settings.address);
    return udp::make_group_address(family_of(settings), random);
}

std::string to_text(const carrier::GroupAddress& group, const McastSettings& settings) {
    return udp::to_text(static_cast<udp::Family>(group.kind), group.bytes) + " port " +
           std::to_string(settings.port);
}

}  // namespace tutti::transport::fabrics
