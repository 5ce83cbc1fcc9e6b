// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of a team share a node and, where that is known, which nodes share a switch. Plain
// data that all members know alike; nodes are numbered in the order of their lowest ranks, or of
// the walk through the switches. 12 bytes a rank and 4 a node, two to four times where switches are
// known.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/topo/switch_order.h"
#include "base/topo/switch_tree.h"

namespace tutti::topo {

class OnSwitches;

class Placement {
  public:
    // node_of_rank: any value that is equal for two ranks exactly if they share a node.
    explicit Placement(std::span<const uint64_t> node_of_rank);
    // ranks / nodes consecutive ranks a node, the first nodes one more where that does not divide.
    static Placement blocks(uint32_t ranks, uint32_t nodes);
    // Rank r on node r modulo nodes.
    static Placement round_robin(uint32_t ranks, uint32_t nodes);

    [[nodiscard]] uint32_t ranks() const { return static_cast<uint32_t>(node_of_.size()); }
    [[nodiscard]] uint32_t nodes() const { return static_cast<uint32_t>(first_.size()) - 1; }
    [[nodiscard]] uint32_t node_of(uint32_t rank) const { return node_of_[rank]; }
    // A rank's number among the ranks of its node, which ascend.
    [[nodiscard]] uint32_t index_on_node(uint32_t rank) const { return index_[rank]; }
    [[nodiscard]] std::span<const uint32_t> members(uint32_t node) const {
        return std::span(members_).subspan(first_[node], first_[node + 1] - first_[node]);
    }
    // Ranks on all nodes with a lower number.
    [[nodiscard]] uint32_t members_before(uint32_t node) const { return first_[node]; }
    // Of its own tables: those of the walk through the switches are as large each.
    [[nodiscard]] size_t bytes() const {
        return (node_of_.size() + index_.size() + members_.size() + first_.size()) *
               sizeof(uint32_t);
    }
    // Every node's ranks are consecutive, and the order of nodes is the order of ranks.
    [[nodiscard]] bool is_contiguous() const { return is_contiguous_; }
    // Every node's ranks are consecutive, in whatever order the nodes are.
    [[nodiscard]] bool has_whole_nodes() const { return has_whole_nodes_; }
    [[nodiscard]] uint32_t members_max() const { return members_max_; }
    [[nodiscard]] uint32_t members_min() const { return members_min_; }

    // Node i is where tree.place_of_host[i] says. Nodes that are all on one switch are on none that
    // matters.
    void set_switches(SwitchTree tree);
    // nullptr: not known, or one alone.
    [[nodiscard]] const OnSwitches* switches() const { return switches_.get(); }
    // What set_switches() was told; nullptr: nothing.
    [[nodiscard]] const SwitchTree* switch_tree() const { return tree_.get(); }
    // On which there are nodes; 0: not known.
    [[nodiscard]] uint32_t switch_count() const { return switch_count_; }

  private:
    friend class OnSwitches;
    // order[i]: of the other one, the node that is number i here.
    Placement(const Placement& other, std::span<const uint32_t> order);
    void number_members(const std::vector<uint32_t>& sizes);

    std::vector<uint32_t> node_of_;  // by rank
    std::vector<uint32_t> index_;    // by rank
    std::vector<uint32_t> members_;  // ranks, node after node
    std::vector<uint32_t> first_;    // by node, and one more: where its members begin
    bool is_contiguous_ = true;
    bool has_whole_nodes_ = true;
    uint32_t members_max_ = 0;
    uint32_t members_min_ = 0;
    std::shared_ptr<const SwitchTree> tree_;
    std::shared_ptr<const OnSwitches> switches_;
    uint32_t switch_count_ = 0;
};

// The same ranks on the same nodes, but the nodes numbered by position. What few calls ask for is
// made when one does first, by whichever thread.
class OnSwitches {
  public:
    OnSwitches(const Placement& placement, SwitchOrder order);

    [[nodiscard]] const SwitchOrder& order() const { return order_; }
    [[nodiscard]] const Placement& placement() const { return placement_; }
    // By position dealt out, as cards are, to two halves, which are dealt out likewise: those that
    // are half of all apart in this order are neighbours in the walk, and neighbours here are half
    // of the walk apart.
    [[nodiscard]] const Placement& dealt() const;
    // Each rank as a node of its own, host after host by position, and the order of these.
    struct Ranks {
        SwitchOrder order;
        Placement placement;
    };
    [[nodiscard]] const Ranks& ranks() const;

  private:
    SwitchOrder order_;
    Placement placement_;
    mutable std::once_flag dealt_made_;
    mutable std::optional<Placement> dealt_;
    mutable std::once_flag ranks_made_;
    mutable std::optional<Ranks> ranks_;
};

// By rank: its host, each of `hosts` hosts having one at least. As Placement::blocks has it.
std::vector<uint64_t> hosts_in_blocks(uint32_t ranks, uint32_t hosts);
// As Placement::round_robin has it.
std::vector<uint64_t> hosts_by_turns(uint32_t ranks, uint32_t hosts);
// As many ranks a host as blocks, but any: each way of dealing them out is as likely.
std::vector<uint64_t> hosts_at_random(uint32_t ranks, uint32_t hosts, uint64_t seed);

}  // namespace tutti::topo
