// SPDX-License-Identifier: BSD-3-Clause
// A cluster of many hosts in a few numbers, and small ones of the same structure.
//
// All that is above the switches with hosts becomes one switch, to which each has the way that the
// farthest have to each other; of its rate every host below has the share that it has where that is
// least. So what all hosts send at once waits for links as it does there, and is as long under way.
#pragma once

#include <cstdint>
#include <vector>

#include "base/topo/fabric.h"
#include "plan/price/network.h"

namespace tutti::price {

struct Outline {
    uint32_t hosts = 0;
    uint32_t leaves = 0;  // switches with hosts
    // By switch: its place among the leaves, those with most hosts first.
    std::vector<uint32_t> leaf_of_switch;
    uint64_t host_bits_per_s = 0;  // the slowest
    uint64_t host_up_ns = 0;
    uint64_t host_down_ns = 0;
    // Several leaves: between them, up and down.
    uint64_t trunk_up_ns = 0;
    uint64_t trunk_down_ns = 0;
    uint64_t share_bits_per_s = 0;  // of a host
    uint64_t flow_bits_per_s = 0;   // of one link: what one message has at most

    // Hosts of each leaf, so many at least, so that one message alone is as fast as among all.
    [[nodiscard]] uint32_t hosts_of_leaf_min() const;
};

// All hosts of the fabric take part.
Outline outline_of(const topo::Fabric& fabric);

// Host i is on leaf i / hosts_of_leaf.
topo::Fabric small_fabric(const Outline& outline, uint32_t hosts_of_leaf, uint32_t leaves);

}  // namespace tutti::price
