// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of a team share a node. Plain data that all members know alike; nodes are numbered in
// the order of their lowest ranks. 12 bytes a rank and 4 a node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::topo {

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
    // Every node's ranks are consecutive, so that the order of nodes is the order of ranks.
    [[nodiscard]] bool is_contiguous() const { return is_contiguous_; }
    [[nodiscard]] uint32_t members_max() const { return members_max_; }
    [[nodiscard]] uint32_t members_min() const { return members_min_; }

  private:
    std::vector<uint32_t> node_of_;  // by rank
    std::vector<uint32_t> index_;    // by rank
    std::vector<uint32_t> members_;  // ranks, node after node
    std::vector<uint32_t> first_;    // by node, and one more: where its members begin
    bool is_contiguous_ = true;
    uint32_t members_max_ = 0;
    uint32_t members_min_ = 0;
};

}  // namespace tutti::topo
