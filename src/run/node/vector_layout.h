// SPDX-License-Identifier: BSD-3-Clause
// Of a vector form: the blocks between two ranks, and where they stand in slots and chunks.
// vector_blocks.cpp moves them. Inside node/ only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/collectives.h"
#include "run/node/node_team.h"

namespace tutti::node {

// A rank gives each of the others a block of its own.
inline bool has_block_each(const Op& op) { return is_dealt(op.call.collective); }
// And each rank does.
inline bool is_each_for_each(const Op& op) { return is_between_all(op.call.collective); }

// Whether it goes on by vector_blocks.cpp.
bool moves_blocks(const Op& op);
// For a rank that has waited long: says to the others that its cells are written, if they are.
void tell_cells(const Team& team, const Op& op);

// The blocks of this rank, and how its slots are cut. Nothing is offered yet, see offered_from().
// A call without lengths has equal blocks: so costs ask.
void set_table(const Team& team, const Call& call, BlockTable& table);

// Visits those of whom this rank has blocks, or for whom: the others, or the root.
template <class Visit>
void for_others(const Team& team, const Op& op, Visit visit) {
    const Rank root = op.call.root;
    const bool is_rooted = has_root(op.call.collective);
    if (is_rooted && team.rank != root) return visit(root);
    for (Rank rank = 0; rank < team.size; ++rank) {
        if (rank != team.rank) visit(rank);
    }
}

// From how many bytes on blocks are offered, which is more than `room`; SIZE_MAX: none is. An offer
// takes a cell with a length.
size_t offered_from(const Team& team, const Op& op, size_t room);
inline bool is_short(const BlockCells& cells, size_t bytes) {
    return bytes > 0 && bytes <= cells.room;
}
inline bool is_offered(const BlockCells& cells, size_t bytes) { return bytes >= cells.offered; }
// Its cell says where the block stands.
inline bool is_told(const BlockCells& cells, size_t bytes) {
    return cells.per_line == 1 && bytes > cells.room;
}

// What a cell has in place of a long block. Its flag has kSizeMax, as no payload has.
struct LongBlock {
    uint64_t data = 0;  // an address of the giver's; offered blocks alone
    uint64_t bytes = 0;
    uint64_t ring = 0;  // where the first piece is, or would be, as an index of the giver's chunks
};
static_assert(kSizeMax > kInlineBytesMax && sizeof(LongBlock) <= kLinePayloadBytes);

// Where a cell of whole lines is. In an allgatherv all take the same one.
Slot cell_for(const Team& team, const Op& op, Rank giver, Rank taker);
// Its flag, if it is written in this call; else anything.
uint64_t cell_flag(const Op& op, const Slot& cell);

// What the cell of a giver has, of whom this rank expects a long block.
enum class Told { kNotYet, kShort, kLong };
Told told_in_cell(const Team& team, const Op& op, Rank giver, LongBlock& block);

// Of a chunk, for each taker.
size_t share_of_chunk(const Team& team, const Op& op);
// How a long block is cut: both ends know it by the length.
size_t piece_bytes(const Team& team, size_t share, size_t bytes);
uint64_t rounds_of(const Team& team, size_t share, size_t bytes);
// The piece of a block in a round of a ring; no bytes: there is none.
struct BlockPiece {
    size_t offset = 0;
    size_t bytes = 0;
};
BlockPiece piece_in(const Team& team, const Op& op, size_t bytes, uint64_t round);

}  // namespace tutti::node
