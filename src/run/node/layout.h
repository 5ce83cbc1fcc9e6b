// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of one node meet: plain data, made by the engine from the topology.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tutti::node {

// A rank's number within its team.
using Rank = uint32_t;
inline constexpr Rank kNoRank = UINT32_MAX;

struct Tree {
    std::vector<Rank> parent;                 // by rank; kNoRank at the root
    std::vector<std::vector<Rank>> children;  // by rank, ascending
};
Tree tree_from(std::vector<Rank> parent);

// One rank's place. Flat: everybody is a child of nobody and reads everybody. Tree: parent and
// children as in the tree over shared caches, NUMA domains and sockets. Every rank of a team
// derives the same tree. Where flat there is none.
struct Layout : Tree {
    bool flat = true;
    Rank root = 0;  // of the tree

    // Ranks of an innermost group, of which none is nearer to anybody than the others are: they may
    // stand in for each other in the tree, and it crosses all levels as before.
    struct Seat {
        Rank first = 0;  // of the group, in `grouped`
        Rank count = 1;
        Rank index = 0;  // within the group
    };
    std::vector<Rank> grouped;  // group by group, each ascending
    std::vector<Seat> seats;    // by rank

    // What follows, for weighing (cost.cpp).
    uint32_t depth = 0;
    Rank children_max = 0;  // of a rank
    // So many trees, in which everybody leads about as often.
    Rank turns_max = 1;
    // Vectors that the busiest rank reads from children and copies on to them, of all trees
    // together: of the tree alone, and where leaders take turns.
    uint32_t load_alone = 0;
    uint32_t load_turns = 0;

    // By rank: how far its parent is, in levels of the machine that they are apart at; 0 at the
    // root. Empty where nothing is known of that.
    std::vector<uint32_t> distance;
    // Where the outermost level has two groups: the rank that leads the one without the tree's
    // root. Else kNoRank.
    Rank bridge = kNoRank;
    // Of barriers, and of broadcasts in slots, which fold nothing: as the flags want it
    // (quick_tree.h), with the same root. nullptr: the tree itself.
    std::shared_ptr<const Tree> quick;
};

// groups: by rank, of the innermost level; ranks of the same number are one.
Layout make_tree(std::span<const Rank> parents, std::span<const Rank> groups);
// By rank, as Layout::distance.
void set_distances(Layout& layout, std::span<const uint32_t> distances);

// In the tree of this turn, one of `turns`, each group's members have moved round by as many seats:
// who does what `role` does in the tree itself, and whose part `rank` has.
Rank actor_of(const Layout& layout, Rank role, Rank turn, Rank turns);
Rank role_of(const Layout& layout, Rank rank, Rank turn, Rank turns);

// Where a broadcast goes first from its root, unless the root is there: the leader of its half of
// the machine, which hands it to the tree's root and down its half, or the tree's root.
inline Rank landing(const Layout& layout, Rank root) {
    if (layout.bridge == kNoRank) return layout.root;
    for (; root != layout.root; root = layout.parent[root]) {
        if (root == layout.bridge) return root;
    }
    return root;
}

// What is told apart, at most: same innermost cache, outer cache, NUMA domain, socket, none of
// them.
inline constexpr uint32_t kDistancesMax = 5;

// How far two ranks are from each other, where that is known. Each group of ranks is a connected
// piece of the tree, so the way between them crosses the levels at which they are apart and no
// others.
inline uint32_t distance(const Layout& layout, Rank one, Rank other) {
    uint32_t most = 0;
    // To the root and there again; what they have in common lies on neither way.
    const auto depth = [&](Rank rank) {
        uint32_t steps = 0;
        for (; layout.parent[rank] != kNoRank; rank = layout.parent[rank]) ++steps;
        return steps;
    };
    const auto climb = [&](Rank& rank, uint32_t& height) {
        most = std::max(most, layout.distance[rank]);
        rank = layout.parent[rank];
        --height;
    };
    uint32_t height = depth(one);
    uint32_t other_height = depth(other);
    while (one != other) {
        height >= other_height ? climb(one, height) : climb(other, other_height);
    }
    return std::min(most, kDistancesMax - 1);
}

}  // namespace tutti::node
