// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/fabrics/fabrics.h"

#include "run/transport/ud/ud_datagrams.h"
#include "run/transport/udp/endpoint.h"
#include "run/transport/udp/udp_datagrams.h"

namespace tutti::transport::fabrics {
namespace {

// IPv6 where an address among the settings is one.
udp::Family family_of(const McastSettings& settings) {
    const bool is_ipv6 = settings.address.find(':') != std::string::npos ||
                         settings.interface.find(':') != std::string::npos;
    return is_ipv6 ? udp::Family::kIpv6 : udp::Family::kIpv4;
}

}  // namespace

Result<std::unique_ptr<carrier::Datagrams>> open_datagrams(Fabric fabric,
                                                           const McastSettings& settings,
                                                           const FindPort& find_port) {
    if (fabric == Fabric::kVerbs) {
        auto port = find_port();
        if (!port) return port.error();
        return ud::open_datagrams(std::move(port.value()));
    }
    udp::DatagramsParams params;
    params.family = family_of(settings);
    params.interface = settings.interface;
    params.port = static_cast<uint16_t>(settings.port);
    params.ttl = static_cast<uint32_t>(settings.ttl);
    return udp::open_datagrams(params);
}

Result<carrier::GroupAddress> draw_group(Fabric fabric, const McastSettings& settings,
                                         uint64_t random) {
    if (settings.address.empty()) {
        return fabric == Fabric::kVerbs ? ud::make_group_address(random)
                                        : udp::make_group_address(family_of(settings), random);
    }
    auto named = udp::parse_group_address(settings.address);
    if (!named || fabric == Fabric::kUdp) return named;
    if (named.value().kind != carrier::Kind::kUdp4) {
        return Error{ErrorCode::kArgument,
                     "groups of RDMA ports have IPv4 addresses, not " + settings.address};
    }
    named.value().kind = carrier::Kind::kUd;
    return named;
}

std::string to_text(const carrier::GroupAddress& group, const McastSettings& settings) {
    if (group.kind == carrier::Kind::kUd) return udp::to_text(udp::Family::kIpv4, group.bytes);
    return udp::to_text(static_cast<udp::Family>(group.kind), group.bytes) + " port " +
           std::to_string(settings.port);
}

}  // namespace tutti::transport::fabrics
