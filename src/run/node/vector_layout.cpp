// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/vector_layout.h"

#include "base/collectives.h"
#include "run/node/detail.h"
#include "run/node/tuner.h"

namespace tutti::node {

// ---- blocks -------------------------------------------------------------------------------------

namespace {

// A call without lengths has equal blocks: costs are asked for such.
const tutti_blocks& lengths_of(const Call& call) {
    static constexpr tutti_blocks kEqual{};
    return call.blocks ? *call.blocks : kEqual;
}
size_t own_bytes(const Call& call) { return call.blocks ? call.own_bytes : call.bytes; }

// The block of `rank` in a buffer of many.
template <class Block, class Byte>
Block block_in(const Call& call, Byte* buffer, const uint64_t* bytes, const uint64_t* offsets,
               Rank rank) {
    const size_t length = bytes ? bytes[rank] : call.bytes;
    if (length == 0) return {};
    return {buffer ? buffer + (offsets ? offsets[rank] : rank * call.bytes) : nullptr, length};
}

}  // namespace

GivenBlock given_to(const Team& team, const Op& op, Rank to) {
    const Call& call = op.call;
    const tutti_blocks& blocks = lengths_of(call);
    switch (call.collective) {
        case TUTTI_GATHERV:
            return {call.send, to == call.root ? own_bytes(call) : 0};
        case TUTTI_SCATTERV:
            if (team.rank != call.root) return {};
            break;
        case TUTTI_ALLGATHERV: {
            if (call.send) return {call.send, own_bytes(call)};
            const auto own = block_in<TakenBlock>(call, call.recv, blocks.recv_bytes,
                                                  blocks.recv_offsets, team.rank);
            return {own.data, own.bytes};
        }
        default:
            break;
    }
    return block_in<GivenBlock>(call, call.send, blocks.send_bytes, blocks.send_offsets, to);
}

TakenBlock taken_from(const Team& team, const Op& op, Rank from) {
    const Call& call = op.call;
    const tutti_blocks& blocks = lengths_of(call);
    if (call.collective == TUTTI_SCATTERV) {
        return {call.recv, from == call.root ? own_bytes(call) : 0};
    }
    if (call.collective == TUTTI_GATHERV && team.rank != call.root) return {};
    return block_in<TakenBlock>(call, call.recv, blocks.recv_bytes, blocks.recv_offsets, from);
}

OwnBlock own_block(const Team& team, const Op& op) {
    const Call& call = op.call;
    const bool is_rooted = has_root(call.collective);
    if ((is_rooted && team.rank != call.root) || !call.recv || !call.send) return {};
    const TakenBlock taken = taken_from(team, op, team.rank);
    const GivenBlock given = given_to(team, op, team.rank);
    return {taken.data, given.data, std::min(taken.bytes, given.bytes)};
}

// ---- cells -------------------------------------------------------------------------------------

namespace {

// All ranks know alike what was measured, and whether there are contests. An offer takes a cell
// with a length.
size_t offered_from(const Team& team, const Op& op, size_t room) {
    const bool has_peers = team.single_copy.peers != nullptr && team.size <= kReadersMax;
    if (!has_peers || op.number >= kOfferNumberMax) return SIZE_MAX;
    uint64_t from = single_from(team.tuning, op.call.collective);
    if (team.tuner && team.tuner->may_try(team)) from = std::min(from, Contest::kBytesMin);
    return std::max<size_t>(from, room + 1);
}

}  // namespace

BlockCells cells_of(const Team& team, const Op& op) {
    const size_t most = team.slice.geometry.inline_max;
    if (!is_each_for_each(op)) {
        return {slot_lines(most), 1, most, offered_from(team, op, most)};
    }
    const size_t lines = slot_lines(most);
    const size_t others = team.size - 1;
    if (others <= lines) {
        const size_t each = lines / others;
        const size_t room = std::min(each * kLinePayloadBytes, most);
        return {each, 1, room, offered_from(team, op, room)};
    }
    constexpr size_t kWord = 8;
    const size_t per_line = (others + lines - 1) / lines;
    const size_t room = kLinePayloadBytes / per_line;
    return {1, per_line, room >= kWord ? room / kWord * kWord : room};
}

Slot cell_for(const Team& team, const Op& op, const BlockCells& cells, Rank giver, Rank taker) {
    if (op.call.collective == TUTTI_SCATTERV) return team.slice.inbox_slot(taker, op.slot, giver);
    Slot slot = team.slice.up_slot(giver, op.slot);
    if (is_each_for_each(op)) slot.lines += cell_index(giver, taker) * cells.lines * kLineBytes;
    return slot;
}

uint64_t cell_flag(const Op& op, const Slot& cell) {
    // An alltoallv uses no spare lines.
    std::byte* const begin = is_each_for_each(op) ? cell.lines : begin_of(cell, op.flag);
    return line_flag(begin).load(std::memory_order_acquire);
}

Told told_in_cell(const Team& team, const Op& op, const BlockCells& cells, Rank giver,
                  LongBlock& block) {
    const Slot cell = cell_for(team, op, cells, giver, team.rank);
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

BlockPiece piece_in(const Team& team, const Op& op, const BlockCells& cells, size_t bytes,
                    uint64_t round) {
    const bool is_late = round >= kOfferedRound;
    if (bytes <= cells.room || is_offered(cells, bytes) != is_late) return {};
    const size_t each = piece_bytes(team, op.piece_bytes, bytes);
    const size_t offset = std::min((is_late ? round - kOfferedRound : round) * each, bytes);
    return {offset, std::min(each, bytes - offset)};
}

}  // namespace tutti::node
