// SPDX-License-Identifier: BSD-3-Clause
// The networks of networks.inc by number, and sets of them: of those whose messages a team has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tutti {

struct NetworkName {
    std::string_view name;   // in rules: "rdma"
    std::string_view title;  // for people: "RDMA"
};
inline constexpr auto kNetworks = std::to_array<NetworkName>({
#define TUTTI_NETWORK(name, title, group, variable, option, text) {#name, title},
#include "base/networks.inc"
#undef TUTTI_NETWORK
});

// kNetworks.size(): there is none of this name.
constexpr size_t network_number(std::string_view name) {
    size_t number = 0;
    while (number < kNetworks.size() && kNetworks[number].name != name) ++number;
    return number;
}

// Of networks by number.
class NetworkSet {
  public:
    [[nodiscard]] constexpr bool has(size_t number) const { return (bits_ >> number & 1u) != 0; }
    constexpr void add(size_t number) { bits_ |= uint32_t{1} << number; }
    constexpr bool operator==(const NetworkSet&) const = default;

  private:
    static_assert(kNetworks.size() <= 32);
    uint32_t bits_ = 0;
};

}  // namespace tutti
