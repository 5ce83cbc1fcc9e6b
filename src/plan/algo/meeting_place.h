// SPDX-License-Identifier: BSD-3-Clause
// The place of a participant in the tree of those that meet. Inside algo/ only.
//
// Ranks of several nodes (Shape::ranks_on): a tree of the nodes, and on each node one of its ranks,
// whose top stands for the node in the other. So a node is a connected part of the tree, with one
// edge to each node next to it. Counted node after node, a participant's subtree is an interval
// that begins with its own number, as run/adapt/fold_tree.h wants it.
#pragma once

#include <algorithm>
#include <optional>

#include "plan/algo/algorithms.h"
#include "run/adapt/fold_tree.h"

namespace tutti::algo {

// A round's operations, less the parent's and the participant's own.
inline constexpr uint32_t kMeetingFanInMax = sched::kRoundOpsMax - 2;

// A node's top has so many on its node and so many nodes.
inline uint32_t fan_in_on(const Shape& shape, uint32_t fan_in) {
    const bool has_both = shape.ranks_on != nullptr && shape.ranks_on->members_max() > 1;
    return has_both ? std::min(fan_in, kMeetingFanInMax / 2) : fan_in;
}

class MeetingPlace {
  public:
    MeetingPlace(const Shape& shape, uint32_t fan_in, Rank rank)
        : on_(shape.ranks_on),
          rank_(rank),
          fan_in_(fan_in_on(shape, fan_in)),
          among_nodes_(adapt::place_in_tree(on_ != nullptr ? on_->nodes() : shape.ranks, fan_in_,
                                            on_ != nullptr ? on_->node_of(rank) : rank)),
          on_node_(adapt::place_in_tree(members(among_nodes_.member), fan_in_,
                                        on_ != nullptr ? on_->index_on_node(rank) : 0)) {}

    [[nodiscard]] Rank rank() const { return rank_; }
    [[nodiscard]] bool has_parent() const { return on_node_.parent || among_nodes_.parent; }
    // The index on its node of a neighbour that is on the same one.
    [[nodiscard]] std::optional<uint32_t> near(uint32_t number) const {
        if (!is_top()) return on_node_.neighbour(number);
        const uint32_t parents = among_nodes_.parent ? 1 : 0;
        if (number < parents || number >= parents + on_node_.children) return {};
        return on_node_.neighbour(number - parents);
    }
    // The parent is neighbour 0 where there is one; then those on the same node.
    [[nodiscard]] uint32_t neighbours() const {
        return on_node_.neighbours() + (is_top() ? among_nodes_.neighbours() : 0);
    }
    [[nodiscard]] Rank neighbour(uint32_t number) const {
        if (const auto index = near(number)) return on_->members(among_nodes_.member)[*index];
        const bool is_parent = among_nodes_.parent && number == 0;
        return top_of(among_nodes_.neighbour(is_parent ? 0 : number - on_node_.children));
    }

  private:
    // Of its node.
    [[nodiscard]] bool is_top() const { return !on_node_.parent; }
    [[nodiscard]] uint32_t members(uint32_t node) const {
        return on_ != nullptr ? static_cast<uint32_t>(on_->members(node).size()) : 1;
    }
    [[nodiscard]] Rank top_of(uint32_t node) const {
        return on_ != nullptr ? on_->members(node).front() : node;
    }

    const topo::Placement* on_;
    Rank rank_;
    uint32_t fan_in_;
    adapt::Place among_nodes_;
    adapt::Place on_node_;
};

// That any participant has, at most.
uint32_t most_neighbours(const Shape& shape, uint32_t fan_in);
// From the top to the farthest participant, at most.
uint64_t meeting_depth(const Shape& shape, uint32_t fan_in);

}  // namespace tutti::algo
