// SPDX-License-Identifier: BSD-3-Clause
// The fabric that a cluster's tree of switches is.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/topo/fabric.h"
#include "base/topo/switch_tree.h"

namespace tutti::topo {

// What a description leaves out.
struct LinkDefaults {
    uint64_t bits_per_s = 100'000'000'000;  // of every link
    // From a host to another on the same switch, as Fabric has it; a link takes half of it.
    uint64_t latency_ns = 1000;
    uint64_t trunk_bits_per_s = 0;  // of each link between switches; 0: as of every link
    uint64_t trunk_latency_ns = 0;  // likewise, as Fabric has it
};

// Node n of the tree is switch n, host i of the tree is host i. Switches that are one node are one
// switch that holds nobody up; of several links of a host to its switch one counts. Nodes that the
// description does not have hang on the root by one link. An error where the fabric would have too
// many levels or links.
Result<Fabric> fabric_of(const SwitchTree& tree, const LinkDefaults& defaults);

// Whether the description leaves out the rate, or the latency, of a link.
bool lacks_rate(const SwitchTree& tree);
bool lacks_latency(const SwitchTree& tree);

}  // namespace tutti::topo
