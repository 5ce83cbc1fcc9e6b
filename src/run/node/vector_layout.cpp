// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/vector_layout.h"

#include "base/collectives.h"
#include "run/node/detail.h"
#include "run/node/tuner.h"

namespace tutti::node {

// ---- blocks -------------------------------------------------------------------------------------

namespace {

using GivenSide = BlockSide<GivenBlock, const std::byte>;

size_t own_bytes(const Call& call) { return call.blocks ? call.own_bytes : call.bytes; }

// In place an allgatherv's own block stands among the others.
void set_sides(const Team& team, const Call& call, BlockTable& table) {
    static constexpr tutti_blocks kEqual{};
    const tutti_blocks& blocks = call.blocks ? *call.blocks : kEqual;
    const bool is_root = team.rank == call.root;
    table.given = {call.send, blocks.send_bytes, blocks.send_offsets, call.bytes, call.bytes};
    table.taken = {call.recv, blocks.recv_bytes, blocks.recv_offsets, call.bytes, call.bytes};
    if (call.collective == TUTTI_GATHERV) {
        table.given = {.base = call.send, .length = own_bytes(call), .only = call.root};
        if (!is_root) table.taken = {};
    } else if (call.collective == TUTTI_SCATTERV) {
        table.taken = {.base = call.recv, .length = own_bytes(call), .only = call.root};
        if (!is_root) table.given = {};
    } else if (call.collective == TUTTI_ALLGATHERV) {
        const TakenBlock block = table.taken.of(team.rank);
        table.given = call.send ? GivenSide{.base = call.send, .length = own_bytes(call)}
                                : GivenSide{.base = block.data, .length = block.bytes};
    }
}

OwnBlock own_block(const Team& team, const Call& call, const BlockTable& table) {
    const bool is_rooted = has_root(call.collective);
    if ((is_rooted && team.rank != call.root) || !call.recv || !call.send) return {};
    const TakenBlock taken = table.taken.of(team.rank);
    const GivenBlock given = table.given.of(team.rank);
    return {taken.data, given.data, std::min(taken.bytes, given.bytes)};
}

BlockCells cells_of(const Team& team, const Call& call) {
    const size_t most = team.slice.geometry.inline_max;
    const size_t lines = slot_lines(most);
    if (!is_between_all(call.collective)) return {.lines = lines, .room = most};
    const size_t others = team.size - 1;
    if (others <= lines) {
        const size_t each = lines / others;
        return {.lines = each, .room = std::min(each * kLinePayloadBytes, most)};
    }
    constexpr size_t kWord = 8;
    const size_t per_line = (others + lines - 1) / lines;
    const size_t room = kLinePayloadBytes / per_line;
    return {.per_line = per_line, .room = room >= kWord ? room / kWord * kWord : room};
}

}  // namespace

void set_table(const Team& team, const Call& call, BlockTable& table) {
    set_sides(team, call, table);
    table.own = own_block(team, call, table);
    if (team.size > 1) table.cells = cells_of(team, call);
}

// ---- cells -------------------------------------------------------------------------------------

// All ranks know alike what was measured, and whether there are contests.
size_t offered_from(const Team& team, const Op& op, size_t room) {
    const bool has_peers = team.single_copy.peers != nullptr && team.size <= kReadersMax;
    if (!has_peers || op.number >= kOfferNumberMax) return SIZE_MAX;
    uint64_t from = single_from(team.tuning, op.call.collective);
    if (team.tuner && team.tuner->may_try(team)) from = std::min(from, Contest::kBytesMin);
    return std::max<size_t>(from, room + 1);
}

bool moves_blocks(const Op& op) {
    return op.step == move_blocks || op.step == move_unplanned_blocks;
}

// Of a team of one rank.
void place_own_block(Team& team, Op& op) {
    set_table(team, op.call, team.blocks);
    const OwnBlock& own = team.blocks.own;
    copy_bytes(own.to, own.from, own.bytes);
}

Slot cell_for(const Team& team, const Op& op, Rank giver, Rank taker) {
    if (op.call.collective == TUTTI_SCATTERV) return team.slice.inbox_slot(taker, op.slot, giver);
    Slot slot = team.slice.up_slot(giver, op.slot);
    if (is_each_for_each(op))
        slot.lines += cell_index(giver, taker) * team.blocks.cells.lines * kLineBytes;
    return slot;
}

uint64_t cell_flag(const Op& op, const Slot& cell) {
    // An alltoallv uses no spare lines.
    std::byte* const begin = is_each_for_each(op) ? cell.lines : begin_of(cell, op.flag);
    return line_flag(begin).load(std::memory_order_acquire);
}

Told told_in_cell(const Team& team, const Op& op, Rank giver, LongBlock& block) {
    const Slot cell = cell_for(team, op, giver, team.rank);
    const uint64_t there = cell_flag(op, cell);
    if (!is_same_number(there, op.flag)) return Told::kNotYet;
    const uint64_t wanted = with_size(op.flag, kSizeMax);
    if (there != wanted) return Told::kShort;
    uint64_t line = 0;
    const bool is_whole =
        take_slot(reinterpret_cast<std::byte*>(&block), cell, wanted, sizeof block, line);
    TUTTI_ASSERT(is_whole, "a line comes as a whole");
    return Told::kLong;
}

// ---- pieces ------------------------------------------------------------------------------------

size_t share_of_chunk(const Team& team, const Op& op) {
    const size_t room = piece_room(team);
    if (!has_block_each(op)) return room;
    return std::max(room / (team.size - 1) / kLineBytes * kLineBytes, kLineBytes);
}

size_t piece_bytes(const Team& team, size_t share, size_t bytes) {
    const size_t wanted =
        std::max<size_t>(team.tuning.pieces.bytes_min,
                         (bytes + team.tuning.pieces.count - 1) / team.tuning.pieces.count);
    return std::min((wanted + kLineBytes - 1) / kLineBytes * kLineBytes, share);
}

uint64_t rounds_of(const Team& team, size_t share, size_t bytes) {
    const size_t piece = piece_bytes(team, share, bytes);
    return (bytes + piece - 1) / piece;
}

BlockPiece piece_in(const Team& team, const Op& op, size_t bytes, uint64_t round) {
    const bool is_late = round >= kOfferedRound;
    if (bytes <= team.blocks.cells.room || is_offered(team.blocks.cells, bytes) != is_late)
        return {};
    const size_t each = piece_bytes(team, op.piece_bytes, bytes);
    const size_t offset = std::min((is_late ? round - kOfferedRound : round) * each, bytes);
    return {offset, std::min(each, bytes - offset)};
}

}  // namespace tutti::node
