// SPDX-License-Identifier: BSD-3-Clause
// What a vector form knows of its blocks from its beginning to its end. Plain data without padding:
// the exhaustive test copies and compares it.
// Inside node/ only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/node/layout.h"

namespace tutti::node {

// No bytes: nothing is given, or taken.
struct GivenBlock {
    const std::byte* data = nullptr;
    size_t bytes = 0;
};
struct TakenBlock {
    std::byte* data = nullptr;
    size_t bytes = 0;
};

// One side of a call on this rank: a block for each rank, one for all, or one for `only` one.
template <class Block, class Byte>
struct BlockSide {
    Byte* base = nullptr;               // null: costs are asked
    const uint64_t* bytes = nullptr;    // of each block; null: all have `length`
    const uint64_t* offsets = nullptr;  // null: `stride` apart
    size_t length = 0;
    size_t stride = 0;
    size_t only = kNoRank;  // a rank

    [[nodiscard]] Block of(Rank rank) const {
        if (only != kNoRank && rank != only) return {};
        const size_t all = bytes ? bytes[rank] : length;
        if (all == 0 || !base) return {nullptr, all};
        return {base + (offsets ? offsets[rank] : rank * stride), all};
    }
};

// How a slot is cut: in whole lines, or several cells a line. And which blocks are read in place.
struct BlockCells {
    size_t lines = 1;            // of a cell
    size_t per_line = 1;         // cells; more than 1: their flags have no length
    size_t room = 0;             // bytes of a cell
    size_t offered = SIZE_MAX;   // blocks of so many bytes and more are offered; none
    size_t longest = 0;          // bytes of the longest payload in the own cells
    uint64_t offered_bytes = 0;  // of the own blocks that are offered
};

// A block of this rank for itself; no bytes: there is none, or it is in its place already.
struct OwnBlock {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    size_t bytes = 0;
};

struct BlockTable {
    BlockSide<GivenBlock, const std::byte> given;
    BlockSide<TakenBlock, std::byte> taken;
    OwnBlock own;
    BlockCells cells;
};

}  // namespace tutti::node
