// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of one node meet: plain data, made by the engine from the topology.
#pragma once

#include <cstdint>
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
};

}  // namespace tutti::node
