// SPDX-License-Identifier: BSD-3-Clause
// The tree over nested groups.
//
// A group is put together from its parts (the groups of the next level inside it; at the innermost
// level, single ranks), each already a tree whose root is its lowest rank. The part with the lowest
// rank stays at the top; the others, tallest first, are hung by their roots under the shallowest
// rank that has a place left (the one with the fewest children so far among equals). So each group
// is one connected piece with its lowest rank on top, whatever the fan-in, and one edge leaves each
// group but the first.
//
// The lowest rank of a group leads it at several levels at once. Edges of outer levels carry larger
// subtrees and are worth more near the top, so the leader keeps places for them (`reserve`) while
// its inner groups are built; these then get a little deeper instead.
//
// Invariants (tests/unit/base/topo/rank_tree_test.cpp): every rank hangs under rank 0 in the end;
// each group is connected and led by its lowest rank; at most fan_in_max children.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/topo/node_topology.h"

namespace tutti::topo {
namespace {

struct Part {
    std::vector<uint32_t> ranks;  // the first is the root
    uint32_t height = 0;
};

class Builder {
  public:
    Builder(const Groups& groups, uint32_t ranks, uint32_t fan_in_max)
        : groups_(groups),
          fan_in_max_(fan_in_max),
          parent_(ranks, UINT32_MAX),
          depth_(ranks, 0),
          children_(ranks, 0) {}

    // members: ascending. reserve: places that members[0] needs for the groups it leads further
    // out.
    Part build(size_t level, const std::vector<uint32_t>& members, uint32_t reserve) {
        if (members.size() == 1) return {.ranks = members, .height = 0};
        std::vector<Part> parts;
        if (level == groups_.level.size()) {
            for (const uint32_t rank : members) parts.push_back({.ranks = {rank}, .height = 0});
        } else {
            const std::vector<std::vector<uint32_t>> inner = divide(level, members);
            const auto siblings = static_cast<uint32_t>(inner.size() - 1);
            for (size_t i = 0; i < inner.size(); ++i) {
                parts.push_back(build(level + 1, inner[i], i == 0 ? reserve + siblings : 0));
            }
        }
        return join(std::move(parts), reserve);
    }

    std::vector<uint32_t> take_parents() { return std::move(parent_); }

  private:
    // The groups of this level among the members, in the order of their lowest ranks.
    [[nodiscard]] std::vector<std::vector<uint32_t>> divide(
        size_t level, const std::vector<uint32_t>& members) const {
        std::vector<std::vector<uint32_t>> inner;
        std::vector<uint32_t> position(parent_.size(), UINT32_MAX);
        for (const uint32_t rank : members) {
            const uint32_t group = groups_.level[level][rank];
            TUTTI_ASSERT(group < position.size(), "group numbers are dense");
            if (position[group] == UINT32_MAX) {
                position[group] = static_cast<uint32_t>(inner.size());
                inner.emplace_back();
            }
            inner[position[group]].push_back(rank);
        }
        return inner;
    }

    Part join(std::vector<Part> parts, uint32_t reserve) {
        Part whole = std::move(parts.front());
        const uint32_t leader = whole.ranks.front();
        std::sort(parts.begin() + 1, parts.end(), [](const Part& a, const Part& b) {
            if (a.height != b.height) return a.height > b.height;
            return a.ranks.front() < b.ranks.front();
        });
        for (size_t i = 1; i < parts.size(); ++i) {
            const Part& part = parts[i];
            const uint32_t under = shallowest_place(whole.ranks, leader, reserve, part);
            parent_[part.ranks.front()] = under;
            ++children_[under];
            for (const uint32_t rank : part.ranks) depth_[rank] += depth_[under] + 1;
            whole.height = std::max(whole.height, depth_[under] + 1 + part.height);
            whole.ranks.insert(whole.ranks.end(), part.ranks.begin(), part.ranks.end());
        }
        return whole;
    }

    [[nodiscard]] uint32_t shallowest_place(const std::vector<uint32_t>& ranks, uint32_t leader,
                                            uint32_t reserve, const Part& part) const {
        // One place remains even where the reserve takes all: n ranks have n - 1 edges among them,
        // so with a place each at least one is free.
        const uint32_t leader_limit = reserve < fan_in_max_ ? fan_in_max_ - reserve : 1;
        const auto order = [this](uint32_t rank) {
            return std::tuple(depth_[rank], children_[rank], rank);
        };
        uint32_t best = UINT32_MAX;
        for (const uint32_t rank : ranks) {
            if (children_[rank] >= (rank == leader ? leader_limit : fan_in_max_)) continue;
            if (best == UINT32_MAX || order(rank) < order(best)) best = rank;
        }
        TUTTI_ASSERT(best != UINT32_MAX, "n ranks have n - 1 edges, so a place is free");
        TUTTI_ASSERT(part.ranks.front() > leader, "the lowest rank of a group leads it");
        return best;
    }

    const Groups& groups_;
    uint32_t fan_in_max_;
    std::vector<uint32_t> parent_;
    std::vector<uint32_t> depth_;  // below the root of the part that the rank is in by now
    std::vector<uint32_t> children_;
};

}  // namespace

Tree build_tree(const Groups& groups, uint32_t ranks, uint32_t fan_in_max) {
    TUTTI_ASSERT(ranks >= 1, "a tree has a rank");
    TUTTI_ASSERT(fan_in_max >= 1, "a rank may have a child");
    for (const std::vector<uint32_t>& level : groups.level) {
        TUTTI_ASSERT(level.size() == ranks, "every level groups every rank");
    }
    std::vector<uint32_t> everybody(ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank) everybody[rank] = rank;
    Builder builder(groups, ranks, fan_in_max);
    builder.build(0, everybody, 0);
    return {.root = 0, .parent = builder.take_parents()};
}

}  // namespace tutti::topo
