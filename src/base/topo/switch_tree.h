// SPDX-License-Identifier: BSD-3-Clause
// A topology as the tree that algorithms want: every switch below one other, every host on one.
//
// How a graph becomes a tree (docs/formats/topology.md says it for people):
//   R1  Parallel links are one edge that counts them. Of a host's links only those to one switch
//       count, its first in the part of the network that most hosts are on (a second rail is not
//       part of the tree).
//   R2  An edge between switches without which they fell apart (a bridge) stays as it is. So what
//       is a tree already stays as it is.
//   R3  Within each piece that is left, of switches that no single edge holds together: the level
//       of a switch is its distance from the nearest leaf, leaves being of level 1. Switches of
//       level l that hang together in the piece by switches of levels up to l become one node,
//       above the nodes of lower levels that hang together with them. But a switch with hosts, all
//       of whose edges there lead to the node below that holds one such set together, is hung below
//       that node: a leaf that is not filled, not a part of what is above. A leaf is a switch that
//       has hosts; or only one that has at least half as many as the median of those, where that
//       gives more nodes, R4's not counted: a few hosts on a spine do not make a leaf of it.
//   R4  Where such a node has several switches, one that has hosts gets a node of its own below it.
//   R5  The root is the middle: the node from which the farthest host is nearest; of several, the
//       one with the most neighbours, then the first. What has no host below it is left out.
//
// Properties (tests/unit/base/topo/switch_tree_test.cpp, on random fat trees and random graphs):
//   P1  Two hosts share a node exactly if they share a switch.
//   P2  A tree stays the same tree, but for switches without hosts behind them.
//   P3  On a fat tree, whole or with cables missing as long as every pod hangs together without any
//       one of its cables, R3 merges exactly the switches of a level that connect the same set
//       below: the nodes are the pods. A few hosts on upper switches change nothing but what R4
//       adds, and leaves with few hosts are leaves all the same.
//   P4  Every link between switches of different nodes is counted by the edges that it crosses, so
//       the links of an edge are the cut between what is below it and the rest of its piece.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/topo/topology.h"
#include "base/topo/trunk.h"

namespace tutti::topo {

inline constexpr uint32_t kNoNode = UINT32_MAX;

struct SwitchTree {
    struct Node {
        uint32_t parent = kNoNode;       // a lower number; kNoNode at the root, which is node 0
        Trunk up;                        // to the parent
        std::vector<uint32_t> switches;  // of the topology, ascending; several are merged
        uint32_t chassis = kNoNode;      // a number, in which all of them are; kNoNode: not known
    };
    struct Place {
        uint32_t node = 0;
        Trunk up;
    };
    // Depth first, children by their first hosts; at least one.
    std::vector<Node> nodes;
    std::vector<Place> place_of_host;  // by host of the topology

    [[nodiscard]] uint32_t depth_of(uint32_t node) const;
};

// Of a topology that TopologyBuilder made. An error names the host that cannot be placed: one whose
// only links lead to another part of the network than those of most hosts.
Result<SwitchTree> make_switch_tree(const Topology& topology);

// The part of the tree that these hosts need, in their order: entry i is the number of a host of
// the topology, or kNoNode for a host that the topology does not have, which gets a node of its own
// below the root. `switches` of such a node is empty.
SwitchTree restrict_tree(const SwitchTree& tree, std::span<const uint32_t> hosts);

// By name: the whole one, or, where no host has that, the part before the first dot on both sides
// where that fits one host only. kNoNode where there is none.
std::vector<uint32_t> find_hosts(const Topology& topology, std::span<const std::string> names);

}  // namespace tutti::topo
