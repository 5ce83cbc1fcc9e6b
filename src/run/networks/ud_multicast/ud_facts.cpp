// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/ud_multicast/ud_facts.h"

#include "base/multicast_networks.h"
#include "run/transport/ud/promises.h"
#include "run/transport/ud/ud_datagrams.h"
#include "run/transport/verbs/ud.h"

namespace tutti::networks::ud_multicast {
namespace {

constexpr size_t kNumber = multicast_network_number("verbs");

}  // namespace

bool is_wanted(const McastSettings& settings) { return settings.over.first <= kNumber; }

std::string port_text(const std::shared_ptr<transport::verbs::Device>& port,
                      const McastSettings& settings) {
    const auto datagrams = transport::ud::open_datagrams(port);
    if (!datagrams) return "off: " + datagrams.error().message;
    if (!is_wanted(settings)) return "off, works with TUTTI_MCAST_OVER=verbs";
    if (!settings.over.takes_faster) return "where all hosts can";
    return "where all hosts can, unless UDP is predicted to be faster";
}

Registered registered_for(uint32_t mtu_bytes) {
    const transport::verbs::UdNeed need{transport::ud::kReceivesMax, transport::ud::kSends};
    return {transport::verbs::registered_bytes(need, mtu_bytes), need.receives, need.sends};
}

}  // namespace tutti::networks::ud_multicast
