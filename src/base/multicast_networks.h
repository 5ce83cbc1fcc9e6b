// SPDX-License-Identifier: BSD-3-Clause
// The networks of multicast_networks.inc by number.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tutti {

struct MulticastNetworkName {
    std::string_view word;   // in the setting and in reports: "udp"
    std::string_view title;  // for people: "UDP"
};
inline constexpr auto kMulticastNetworks = std::to_array<MulticastNetworkName>({
#define TUTTI_MULTICAST_NETWORK(name, word, title) {word, title},
#include "base/multicast_networks.inc"
#undef TUTTI_MULTICAST_NETWORK
});

// kMulticastNetworks.size(): there is none of this word.
constexpr size_t multicast_network_number(std::string_view word) {
    size_t number = 0;
    while (number < kMulticastNetworks.size() && kMulticastNetworks[number].word != word) ++number;
    return number;
}

}  // namespace tutti
