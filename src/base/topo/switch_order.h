// SPDX-License-Identifier: BSD-3-Clause
// The nodes of a team in the order of a depth-first walk through the tree of switches, and which of
// them hang together.
//
// Source: Patarasuk, Yuan 2007, section 3.2: in a ring in the order in which such a walk meets the
// machines, each link carries one message a step each way (lemma 4), whatever the tree. Kandalla,
// Subramoni, Panda, section 3: messages between switches go between their leaders.
//
// A *position* is a number in this order. What hangs below a switch is an interval of positions,
// and so is what several neighbouring children of a switch hold; an algorithm that halves intervals
// at such borders keeps each message that needs not pass a switch from passing it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/topo/switch_tree.h"

namespace tutti::topo {

class SwitchOrder {
  public:
    // Node i of the team is where tree.place_of_host[i] says; at least one. Of what hangs on one
    // switch, hosts or switches, that with the lowest node comes first, so where the order of nodes
    // is such a walk, it stays. Switches of one chassis, of several that hang on one switch, are
    // together, as if they hung on one of their own. O(n log n) for n nodes and switches.
    explicit SwitchOrder(const SwitchTree& tree);
    // One level further down: what the nodes hold, `sizes` of it by position and one at least, as
    // if each node were a switch. `things`: its numbers, node after node by position. O(n).
    SwitchOrder(const SwitchOrder& of_nodes, std::span<const uint32_t> sizes,
                std::span<const uint32_t> things);

    // By position: the node.
    [[nodiscard]] std::span<const uint32_t> nodes() const { return nodes_; }
    // Switches of the tree that have nodes themselves.
    [[nodiscard]] uint32_t leaves() const { return leaves_; }
    // The most nodes on one of them, and the least.
    [[nodiscard]] uint32_t nodes_max() const { return nodes_max_; }
    [[nodiscard]] uint32_t nodes_min() const { return nodes_min_; }
    // The order of nodes is that of positions.
    [[nodiscard]] bool is_identity() const { return is_identity_; }

    // Where [begin, end) is cut in two, begin + 1 < end. The interval is all that some neighbouring
    // children of one switch hold, hosts or switches; so are both parts. Of the borders between
    // these children it is the one nearest to the middle, the later of two. O(levels + log n).
    [[nodiscard]] uint32_t middle(uint32_t begin, uint32_t end) const;
    // The lowest switch that has all of [begin, end) below, not empty: a number that is the same
    // for the same switch. O(levels).
    [[nodiscard]] uint32_t switch_of(uint32_t begin, uint32_t end) const;

  private:
    // What hangs on one switch, or on those of a chassis.
    struct Group {
        uint32_t parent = kNoNode;
        uint32_t depth = 0;
        uint32_t first = 0;  // in starts_: of its children, in their order
        uint32_t end = 0;
    };
    // By switch: its group.
    std::vector<uint32_t> make_groups(const SwitchTree& tree);
    void count_leaves(std::span<const uint32_t> nodes_of_group);

    std::vector<uint32_t> nodes_;
    std::vector<uint32_t> group_of_;  // by position: what its node hangs on
    std::vector<Group> groups_;
    std::vector<uint32_t> starts_;  // positions where children begin, ascending in a group
    uint32_t leaves_ = 0;
    uint32_t nodes_max_ = 0;
    uint32_t nodes_min_ = 0;
    bool is_identity_ = true;
};

}  // namespace tutti::topo
