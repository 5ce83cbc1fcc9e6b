// SPDX-License-Identifier: BSD-3-Clause
// The records of the node algorithms, a row a collective. Inside node/ only; which of a row runs a
// call is decided in node_algorithms.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/node/node_algorithms.h"

namespace tutti::node {

// Largest p * n at which every rank folds all vectors itself ("direct"): one synchronization
// instead of two, p times the work. Measured with 2 ranks on 2 cores, see docs/node.md.
inline constexpr size_t kDirectBytesMax = 32 * 1024;
// Ranks up to which the root of a reduce folds alone: the others only copy, so the split pays only
// when (p - 1) folds take longer than copy in, fold and copy out of a share.
inline constexpr Rank kRootFoldsRanksMax = 3;

// What of a rank stands in its slot: a block or vector, the blocks of all ranks, those of others.
enum class SlotHolds : uint8_t { kOne, kAll, kOthers };

// Of a collective; nullptr: there is none, the next one runs.
struct Row {
    const Algorithm* tree;     // up to 1 KiB, where there is a tree
    bool tree_folds;           // it is for predefined operators in any order
    const Algorithm* small;    // up to 1 KiB
    const Algorithm* signal;   // the same of a barrier's half, in which nothing is folded
    const Algorithm* direct;   // beyond, few bytes of all ranks together
    const Algorithm* by_root;  // beyond, few ranks
    const Algorithm* large;
    const Algorithm* single = nullptr;  // beyond, where it was measured to win
    SlotHolds slot_holds = SlotHolds::kOne;
    const Algorithm* turns = nullptr;  // beyond, along a tree, where it weighs less than the others
};

const Row& row_of(tutti_collective collective);
// Of a team of one rank.
const Algorithm& alone();

}  // namespace tutti::node
