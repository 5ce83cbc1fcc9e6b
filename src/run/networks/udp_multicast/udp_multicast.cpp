// SPDX-License-Identifier: BSD-3-Clause
// Multicast by UDP, as a network of teams: it needs an interface, and no device.
#include <cstdint>
#include <memory>
#include <string>

#include "run/networks/message_network.h"
#include "run/networks/multicast_network.h"
#include "run/networks/team_networks.h"
#include "run/transport/udp/endpoint.h"
#include "run/transport/udp/udp_datagrams.h"

namespace tutti::networks::udp_multicast {
namespace {

namespace carrier = transport::carrier;
namespace udp = transport::udp;

class UdpMulticast final : public MulticastNetwork {
  public:
    explicit UdpMulticast(Process& process) : process_(process) {}

    Result<std::unique_ptr<carrier::Datagrams>> open() override {
        udp::DatagramsParams params;
        params.family = family();
        params.interface = settings().interface;
        params.port = static_cast<uint16_t>(settings().port);
        params.ttl = static_cast<uint32_t>(settings().ttl);
        return udp::open_datagrams(params);
    }
    [[nodiscard]] Result<carrier::GroupAddress> draw_group(uint64_t random) const override {
        if (settings().address.empty()) return udp::make_group_address(family(), random);
        return udp::parse_group_address(settings().address);
    }
    // "239.192.4.7 port 17717".
    [[nodiscard]] std::string text_of(const carrier::GroupAddress& group) const override {
        return udp::to_text(static_cast<udp::Family>(group.kind), group.bytes) + " port " +
               std::to_string(settings().port);
    }

  private:
    [[nodiscard]] const McastSettings& settings() const { return process_.settings().mcast; }
    // IPv6 where an address among the settings is one.
    [[nodiscard]] udp::Family family() const {
        const bool is_ipv6 = settings().address.find(':') != std::string::npos ||
                             settings().interface.find(':') != std::string::npos;
        return is_ipv6 ? udp::Family::kIpv6 : udp::Family::kIpv4;
    }

    const Process& process_;
};

}  // namespace

std::unique_ptr<MulticastNetwork> make(Process& process, const Networks&) {
    return std::make_unique<UdpMulticast>(process);
}

}  // namespace tutti::networks::udp_multicast
