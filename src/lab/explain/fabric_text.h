// SPDX-License-Identifier: BSD-3-Clause
// A cluster's tree as lines of text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/topo/switch_tree.h"

namespace tutti::explain {

// A tree and the hosts on it: those of a topology, or some of them and others.
struct FabricView {
    const topo::Topology& topology;
    topo::SwitchTree tree;
    std::vector<std::string> names;  // of the hosts, by number in the tree
    std::vector<uint32_t> adapters;  // likewise; 0: not known
    // Who is there: likewise, "ranks 0-3,8"; or none.
    std::vector<std::string> ranks = {};
};
// Ascending; "rank 3", "ranks 0-3,8".
std::string ranks_text(std::span<const uint32_t> ranks);
// All hosts.
FabricView whole_view(const topo::Topology& topology, topo::SwitchTree tree);
// These hosts, found[i] being number i's of the topology, or topo::kNoNode.
FabricView view_at(const topo::Topology& topology, const topo::SwitchTree& tree,
                   const std::vector<std::string>& hosts, const std::vector<uint32_t>& found);
// By name; `unknown` becomes those that the topology does not have. A host that is named twice,
// by whatever names, is an error.
Result<FabricView> view_of(const topo::Topology& topology, const topo::SwitchTree& tree,
                           const std::vector<std::string>& hosts,
                           std::vector<std::string>& unknown);

// "1 host", "2 hosts".
std::string counted(uint64_t count, std::string_view one, std::string_view many);
// "spine[1-4]", or what stands for a node without switches.
std::string name_of_node(const FabricView& view, uint32_t node);
// "4 links of 100 Gbit/s, 500 ns"; as far as known, else "1 link".
std::string text_of(const topo::Trunk& trunk);
// One a node, indented by depth up to a bound, and its hosts below it.
std::string fabric_text(const FabricView& view);

}  // namespace tutti::explain
