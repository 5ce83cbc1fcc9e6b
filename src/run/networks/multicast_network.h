// SPDX-License-Identifier: BSD-3-Clause
// A network that carries multicast between hosts: the interface that it implements, of which there
// is one object a process (docs/networks.md). What a team has of it is a carrier::Way. How teams
// get it, choose it and lose it is alike for all (run/multicast). Nobody above asks which one it
// is; the row of base/multicast_networks.inc names it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/transport/carrier/datagrams.h"

namespace tutti::networks {

// Several threads may make teams at once.
class MulticastNetwork {
  public:
    MulticastNetwork() = default;
    MulticastNetwork(const MulticastNetwork&) = delete;
    MulticastNetwork& operator=(const MulticastNetwork&) = delete;
    virtual ~MulticastNetwork() = default;

    // Finds the device, and opens what carries the packets of all groups of the process. Errors:
    // why this process has none; it is not asked again.
    virtual Result<std::unique_ptr<transport::carrier::Datagrams>> open() = 0;
    // Of a new group, by a process that need not carry packets. Errors: the address that the
    // settings name is none of a group there.
    [[nodiscard]] virtual Result<transport::carrier::GroupAddress> draw_group(
        uint64_t random) const = 0;
    // For reports, as that network has it.
    [[nodiscard]] virtual std::string text_of(
        const transport::carrier::GroupAddress& group) const = 0;
};

// Of a process, by number (base/multicast_networks.h).
using MulticastNetworks = std::vector<std::unique_ptr<MulticastNetwork>>;

}  // namespace tutti::networks
