// SPDX-License-Identifier: BSD-3-Clause
// Multicast by unreliable datagrams of the RDMA port, as a network of teams (docs/protocol/ud.md).
// The port is that of messages by RDMA.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "run/networks/message_network.h"
#include "run/networks/multicast_network.h"
#include "run/networks/rdma/rdma_network.h"
#include "run/networks/team_networks.h"
#include "run/transport/ud/ud_datagrams.h"
#include "run/transport/udp/endpoint.h"

namespace tutti::networks::ud_multicast {
namespace {

namespace carrier = transport::carrier;

class UdMulticast final : public MulticastNetwork {
  public:
    UdMulticast(Process& process, const Networks& networks)
        : process_(process), networks_(networks) {}

    Result<std::unique_ptr<carrier::Datagrams>> open() override {
        auto port = rdma::network_of(networks_).device();
        if (!port) return port.error();
        return transport::ud::open_datagrams(std::move(port.value()));
    }
    // Groups of ports have addresses as UDP's have.
    [[nodiscard]] Result<carrier::GroupAddress> draw_group(uint64_t random) const override {
        const std::string& address = process_.settings().mcast.address;
        if (address.empty()) return transport::ud::make_group_address(random);
        auto named = transport::udp::parse_group_address(address);
        if (!named) return named;
        if (named.value().kind != carrier::Kind::kUdp4) {
            return Error{ErrorCode::kArgument,
                         "groups of RDMA ports have IPv4 addresses, not " + address};
        }
        named.value().kind = carrier::Kind::kUd;
        return named;
    }
    // "239.192.4.7".
    [[nodiscard]] std::string text_of(const carrier::GroupAddress& group) const override {
        return transport::udp::to_text(transport::udp::Family::kIpv4, group.bytes);
    }

  private:
    const Process& process_;
    const Networks& networks_;
};

}  // namespace

std::unique_ptr<MulticastNetwork> make(Process& process, const Networks& networks) {
    return std::make_unique<UdMulticast>(process, networks);
}

}  // namespace tutti::networks::ud_multicast
