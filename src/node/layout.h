// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of one node meet: plain data, made by the engine from the topology.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::node {

// A rank's number within its team.
using Rank = uint32_t;
inline constexpr Rank kNoRank = UINT32_MAX;

// One rank's place. Flat: everybody is a child of nobody and reads everybody. Tree: parent and
// children as in the tree over shared caches, NUMA domains and sockets. Every rank of a team
// derives the same tree.
struct Layout {
    bool flat = true;
    Rank root = 0;                            // of the tree
    std::vector<Rank> parent;                 // by rank; kNoRank at the root. Empty where flat.
    std::vector<std::vector<Rank>> children;  // by rank, ascending. Empty where flat.

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
};

// groups: by rank, of the innermost level; ranks of the same number are one.
Layout make_tree(std::span<const Rank> parents, std::span<const Rank> groups);

// In the tree of this turn, one of `turns`, each group's members have moved round by as many seats:
// who does what `role` does in the tree itself, and whose part `rank` has.
Rank actor_of(const Layout& layout, Rank role, Rank turn, Rank turns);
Rank role_of(const Layout& layout, Rank rank, Rank turn, Rank turns);

}  // namespace tutti::node
