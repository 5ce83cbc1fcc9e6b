// SPDX-License-Identifier: BSD-3-Clause
// Gatherv, scatterv, allgatherv, alltoallv and alltoallw: blocks that differ in length.
//
// The two ends of a block know its length, other ranks need not. So each block goes by its own
// length. A short one stands beside its flag, in a cell of its giver's slot. A longer one goes
// piece by piece through its giver's ring; how it is cut follows from its length alone.
//
// Rounds are counted as in other calls. Of an allgatherv all ranks know how many there are. In the
// other forms nobody knows how many others need, so a call takes kRoundsMax of the bases on every
// rank, whatever is moved. A rank that has no more to read says at once that it has read them all.
//
// Cells: a gatherv, scatterv or allgatherv has the whole slot for a block (in a scatterv the inbox
// of its taker). In an alltoallv the slot is cut alike for all others, in whole lines as long as
// these suffice. The flag of a cell has the length, and a taker goes on with less than it has room
// for. Several cells a line share a flag, which has none.
//
// Blocks that are long enough are read in place, where ranks can (vector_offers.h). Then the cell
// says where the block stands. Else it says where in the ring it begins (vector_ring.h).
//
// A giver writes its cells before its first round. So a taker that has waited long for the one and
// sees the other knows that the two disagree (lacks_block()).
//
// Messages a rank: a line for every 56 bytes of its short blocks at most; it reads the lines of
// those for it. Long blocks: as gather.cpp.
//
// Op.phase: bits, see below. Op.next: the next giver, counted from the own rank. Op.rounds,
// Op.to_take: rounds to write and to read. Op.posted, Op.taken: those done. Op.placed: bytes of the
// own block that are copied. Op.piece_bytes: of a chunk, for each taker. Op.served: takers of the
// own offered blocks. Op.lag: rounds that these need in the ring. Op.ringed: givers whose offered
// blocks come so.
#include "base/collectives.h"
#include "run/node/detail.h"
#include "run/node/vector_layout.h"
#include "run/node/vector_offers.h"
#include "run/node/vector_ring.h"

namespace tutti::node {
namespace {

enum BlockPhase : uint32_t {
    kIsPlanned = 1,
    kIsWritten = 2,    // the own cells
    kHasShort = 4,     // short blocks of others are read
    kHasOffered = 8,   // so are their offered ones, or they are in rings
    kIsClaimed = 16,   // this rank reads in place
    kIsRinged = 32,    // the own offered blocks go through the ring
    kIsOver = 64,      // the own offer
    kIsEntered = 128,  // the ring
    kIsTooLong = 256,  // a block needs more rounds than bases have room for: the call fails
    kHasTable = 512    // Team::blocks is of this call
};

// The next one whose block is taken, so that not all read the same rank at once.
Rank next_giver(const Team& team, const Op& op) {
    const Rank rank = team.rank + op.next;
    return rank < team.size ? rank : rank - team.size;
}

// Both run the same call, and take the block between them for one of another length.
bool differs(Op& op, Rank giver) { return disagrees(op, giver, op.note); }

// What a cell holds of a block; 0: nothing.
size_t bytes_in_cell(const BlockCells& cells, size_t bytes) {
    if (is_short(cells, bytes)) return bytes;
    return is_told(cells, bytes) ? sizeof(LongBlock) : 0;
}

// Of a call in which this rank gives or takes a block that is not short.
void plan_long_blocks(const Team& team, Op& op, BlockTable& table) {
    BlockCells& cells = table.cells;
    const size_t share = share_of_chunk(team, op);
    TUTTI_ASSERT(!has_block_each(op) || share * (team.size - 1) <= team.slice.geometry.chunk_bytes,
                 "a chunk holds a line for every rank");
    if (cells.per_line == 1) cells.offered = offered_from(team, op, cells.room);
    cells.longest = 0;
    const auto count = [&](size_t bytes, uint64_t& rounds) {
        if (bytes > cells.room) rounds = std::max(rounds, rounds_of(team, share, bytes));
    };
    size_t comes_in_all = 0;
    for_others(team, op, [&](Rank other) {
        const size_t goes = table.given.of(other).bytes;
        const size_t comes = table.taken.of(other).bytes;
        cells.longest = std::max(cells.longest, bytes_in_cell(cells, goes));
        count(goes, is_offered(cells, goes) ? op.lag : op.rounds);
        if (is_offered(cells, goes)) {
            ++op.served;
            cells.offered_bytes += goes;
        }
        if (is_offered(cells, comes)) {
            op.phase &= ~uint32_t{kHasOffered};
        } else {
            count(comes, op.to_take);
        }
        comes_in_all += comes;
    });
    op.piece_bytes = share;
    op.is_past_caches = comes_in_all >= team.copying.past_caches_bytes_min;
    if (std::max({op.rounds, op.to_take, op.lag}) > kOfferedRound) op.phase |= kIsTooLong;
}

}  // namespace

void plan_table(const Team& team, Op& op, BlockTable& table) {
    set_table(team, op.call, table);
    op.phase = kIsPlanned | kHasOffered;
    op.next = 1;
    size_t longest = 0;
    for_others(team, op, [&](Rank other) {
        table.cells.longest = std::max(table.cells.longest, table.given.of(other).bytes);
        longest = std::max(longest, table.taken.of(other).bytes);
    });
    if (std::max(table.cells.longest, longest) > table.cells.room) {
        plan_long_blocks(team, op, table);
    }
    // Of an allgatherv these are the rounds of all blocks. The longest need not have most, as its
    // pieces are longer.
    const bool is_of_all = has_private_lengths(op.call.collective) ||
                           is_offered(table.cells, op.call.bytes) || (op.phase & kIsTooLong) != 0;
    op.chunks_used = op.events_used = is_of_all ? kRoundsMax : std::max(op.rounds, op.to_take);
}

void plan_blocks(const Team& team, Op& op) {
    BlockTable table;
    plan_table(team, op, table);
}

namespace {

// ---- short blocks ------------------------------------------------------------------------------

// Of an alltoallv with several cells a line.
void write_shared_lines(const Team& team, const Op& op) {
    std::byte* const slot = team.slice.up_slot(team.rank, op.slot).lines;
    const size_t others = team.size - 1;
    for (size_t first = 0; first < others; first += team.blocks.cells.per_line) {
        std::byte* const line = slot + first / team.blocks.cells.per_line * kLineBytes;
        bool has_any = false;
        for (size_t i = first; i < std::min(first + team.blocks.cells.per_line, others); ++i) {
            const GivenBlock block =
                team.blocks.given.of(static_cast<Rank>(i < team.rank ? i : i + 1));
            if (!is_short(team.blocks.cells, block.bytes)) continue;
            copy_bytes(line + (i - first) * team.blocks.cells.room, block.data, block.bytes);
            has_any = true;
        }
        if (has_any) line_flag(line).store(op.flag, std::memory_order_release);
    }
}

void write_cell(const Team& team, const Op& op, Rank taker, const GivenBlock& block) {
    const Slot cell = cell_for(team, op, team.rank, taker);
    write_lines(op.is_spare ? cell.spare : cell.lines, with_size(op.flag, block.bytes), block.data,
                block.bytes);
}

// Tells where a long block stands.
void write_long(const Team& team, const Op& op, Rank taker, const GivenBlock& block) {
    const Slot cell = cell_for(team, op, team.rank, taker);
    const bool is_ours = is_offered(team.blocks.cells, block.bytes);
    const LongBlock told{is_ours ? reinterpret_cast<uint64_t>(block.data) : 0, block.bytes,
                         ring_place(team, is_ours)};
    write_lines(op.is_spare ? cell.spare : cell.lines, with_size(op.flag, kSizeMax),
                reinterpret_cast<const std::byte*>(&told), sizeof told);
}

// False while the slots of an earlier call may be needed.
bool write_cells(Team& team, Op& op) {
    if ((op.phase & kIsEntered) == 0) enter_ring(team, op, team.blocks.cells.per_line == 1);
    op.phase |= kIsEntered;
    if (team.blocks.cells.longest == 0) return true;
    // An alltoallv uses no spare lines, which are one cell; so its payload is said to be long.
    if (!may_write(team, op, is_each_for_each(op) ? kInlineBytesMax : team.blocks.cells.longest)) {
        return false;
    }
    if (op.served > 0) offer_blocks(team, op, team.blocks.cells.offered_bytes);
    const auto write = [&](Rank taker) {
        const GivenBlock block = team.blocks.given.of(taker);
        if (is_told(team.blocks.cells, block.bytes)) write_long(team, op, taker, block);
        if (is_short(team.blocks.cells, block.bytes)) write_cell(team, op, taker, block);
    };
    if (team.blocks.cells.per_line > 1) {
        write_shared_lines(team, op);
    } else if (op.call.collective == TUTTI_ALLGATHERV) {
        write(team.rank);
    } else {
        for_others(team, op, write);
    }
    return true;
}

// The block in a cell whose flag has its length, which may be less than there is room for.
bool take_cell(const Team& team, Op& op, Rank giver, const TakenBlock& block) {
    const Slot cell = cell_for(team, op, giver, team.rank);
    const uint64_t wanted = with_size(op.flag, block.bytes);
    const bool is_whole = is_short(team.blocks.cells, block.bytes);
    if (is_whole && take_slot(block.data, cell, wanted, block.bytes, op.line)) return true;
    op.awaited = giver;
    const uint64_t there = cell_flag(op, cell);
    if ((is_whole && there == wanted) || !is_same_number(there, op.flag)) return false;
    if (!is_same_kind(there, op.flag)) return disagrees(op, giver, 0);
    const size_t bytes = flag_bytes(there);
    if (bytes == kSizeMax || bytes > block.bytes) return differs(op, giver);
    return take_slot(block.data, cell, there, bytes, op.line);
}

// The line that has the cell of this rank among others.
std::byte* shared_line(const Team& team, const Op& op, Rank giver) {
    const size_t line = cell_index(giver, team.rank) / team.blocks.cells.per_line;
    return team.slice.up_slot(giver, op.slot).lines + line * kLineBytes;
}

// Whether it is written.
bool has_cell(const Team& team, const Op& op, Rank giver) {
    if (team.blocks.cells.per_line == 1) {
        return is_same_number(cell_flag(op, cell_for(team, op, giver, team.rank)), op.flag);
    }
    const auto flag = line_flag(shared_line(team, op, giver)).load(std::memory_order_acquire);
    return flag == op.flag;
}

bool take_from_line(const Team& team, Op& op, Rank giver, const TakenBlock& block) {
    if (!has_cell(team, op, giver)) return awaits(op, giver);
    const BlockCells& cells = team.blocks.cells;
    const size_t place = cell_index(giver, team.rank) % cells.per_line * cells.room;
    copy_bytes(block.data, shared_line(team, op, giver) + place, block.bytes);
    return true;
}

// False where one is not there yet.
bool take_short(const Team& team, Op& op) {
    const auto take = team.blocks.cells.per_line > 1 ? take_from_line : take_cell;
    for (; op.next < team.size; ++op.next) {
        const Rank giver = next_giver(team, op);
        const TakenBlock block = team.blocks.taken.of(giver);
        if (!is_short(team.blocks.cells, block.bytes)) continue;
        if (!take(team, op, giver, block)) return false;
    }
    op.next = 1;
    return true;
}

// ---- long blocks -------------------------------------------------------------------------------

void write_round(Team& team, Op& op) {
    std::byte* const chunk = next_chunk(team, op);
    const auto write = [&](std::byte* to, const GivenBlock& block) {
        const BlockPiece piece = piece_in(team, op, block.bytes, op.posted);
        if (piece.bytes == 0) return;
        copy_to_shared(team.tuning.way, to, block.data + piece.offset, piece.bytes);
    };
    if (has_block_each(op)) {
        for_others(team, op, [&](Rank other) {
            write(chunk + cell_index(team.rank, other) * op.piece_bytes,
                  team.blocks.given.of(other));
        });
    } else {
        write(chunk, team.blocks.given.of(op.call.root));
    }
    publish_round(team, op);
}

Told told_by(const Team& team, Op& op, Rank giver, LongBlock& block) {
    const Told told = told_in_cell(team, op, giver, block);
    if (told == Told::kNotYet) op.awaited = giver;
    return told;
}

bool has_round(const Team& team, Op& op, Rank giver) {
    return has_published(team, giver, op.events + op.taken + 1) || awaits(op, giver);
}

// A piece for this rank; false where it is not there yet.
bool take_piece(Team& team, Op& op, Rank giver, TakenBlock block) {
    uint64_t place = op.chunks + op.taken;
    if (team.blocks.cells.per_line == 1) {
        LongBlock told;
        switch (told_by(team, op, giver, told)) {
            case Told::kNotYet:
                return false;
            case Told::kShort:  // it has sent less, all at once
                return op.taken > 0 || take_cell(team, op, giver, block);
            case Told::kLong:
                break;
        }
        // A shorter one may be cut into more pieces than this rank looks for.
        const uint64_t rounds = rounds_of(team, op.piece_bytes, told.bytes);
        if (told.bytes > block.bytes || rounds > rounds_of(team, op.piece_bytes, block.bytes)) {
            return differs(op, giver);
        }
        block.bytes = told.bytes;
        place = told.ring + op.taken % kOfferedRound;
    }
    const BlockPiece piece = piece_in(team, op, block.bytes, op.taken);
    if (piece.bytes == 0) return true;
    if (!has_round(team, op, giver)) return false;
    if (op.taken == 0 && !agrees(team, op, giver)) return false;
    const std::byte* chunk = team.slice.chunk(giver, place);
    if (has_block_each(op)) chunk += cell_index(giver, team.rank) * op.piece_bytes;
    place_result(team, op, block.data + piece.offset, chunk, piece.bytes);
    return true;
}

// Whether this round has something of that giver's for this rank.
bool is_in_round(const Team& team, const Op& op, Rank giver) {
    return op.taken < kOfferedRound || team.single_copy.by_ring[giver] != 0;
}

// False where a piece of the round is not there yet.
bool take_block_round(Team& team, Op& op) {
    for (; op.next < team.size; ++op.next) {
        const Rank giver = next_giver(team, op);
        const TakenBlock block = team.blocks.taken.of(giver);
        if (piece_in(team, op, block.bytes, op.taken).bytes == 0) continue;
        if (!is_in_round(team, op, giver)) continue;
        if (!take_piece(team, op, giver, block)) return false;
    }
    op.next = 1;
    ++op.taken;
    return true;
}

// ---- blocks that are read in place --------------------------------------------------------------

// Reads on in the block of a giver; true when it is done with that.
bool read_block(Team& team, Op& op, Rank giver, bool& has_advanced) {
    TakenBlock block = team.blocks.taken.of(giver);
    LongBlock offered;
    switch (told_by(team, op, giver, offered)) {
        case Told::kNotYet:
            return false;
        case Told::kShort:  // less was sent
            return take_cell(team, op, giver, block);
        case Told::kLong:
            break;
    }
    // This rank has said already that it has read all that is not offered.
    const bool is_in_rounds_before = !is_offered(team.blocks.cells, offered.bytes);
    if (offered.bytes > block.bytes || is_in_rounds_before) return differs(op, giver);
    block.bytes = offered.bytes;
    bool is_claimed = (op.phase & kIsClaimed) != 0;
    const OfferedRead read = read_offered(team, op, giver, offered, block, is_claimed);
    op.phase = is_claimed ? op.phase | kIsClaimed : op.phase & ~uint32_t{kIsClaimed};
    has_advanced |= read != OfferedRead::kNotYet;
    if (read == OfferedRead::kNotYet || read == OfferedRead::kAdvanced) return false;
    const bool is_in_ring = read == OfferedRead::kInRing;
    team.single_copy.by_ring[giver] = is_in_ring ? 1 : 0;
    op.ringed += is_in_ring ? 1 : 0;
    return true;
}

// All that others have offered. True where something was done.
bool read_blocks(Team& team, Op& op) {
    bool has_advanced = false;
    for (; op.next < team.size; ++op.next) {
        const Rank giver = next_giver(team, op);
        if (!is_offered(team.blocks.cells, team.blocks.taken.of(giver).bytes)) continue;
        team.single_copy.by_ring[giver] = 0;
        if (!read_block(team, op, giver, has_advanced)) return has_advanced;
        has_advanced = true;
    }
    op.next = 1;
    op.phase |= kHasOffered;
    if (op.ringed == 0) {
        consume(team, op.chunks + op.chunks_used);
        return true;
    }
    op.taken = op.to_take = kOfferedRound;
    for_others(team, op, [&](Rank giver) {
        const size_t bytes = team.blocks.taken.of(giver).bytes;
        if (!is_offered(team.blocks.cells, bytes) || team.single_copy.by_ring[giver] == 0) return;
        const uint64_t rounds = rounds_of(team, op.piece_bytes, bytes);
        op.to_take = std::max(op.to_take, kOfferedRound + rounds);
    });
    return true;
}

// The own offer. True where something was done.
bool tend_own(Team& team, Op& op) {
    if (op.served == 0 || (op.phase & kIsWritten) == 0 || (op.phase & kIsOver) != 0) return false;
    const OfferState state = tend_blocks(team, op);
    if (state == OfferState::kStands) return false;
    if (state == OfferState::kOver) {
        op.phase |= kIsOver;
        return true;
    }
    if (op.posted < op.rounds) return state == OfferState::kWithdraws;
    if ((op.phase & kIsRinged) == 0) {
        op.posted = kOfferedRound;
        op.rounds = kOfferedRound + op.lag;
        op.phase |= kIsRinged;
        return true;
    }
    if (state != OfferState::kUnread) return false;
    op.phase |= kIsOver;
    return true;
}

// ---- a call -------------------------------------------------------------------------------------

bool may_go_ahead(const Team& team, const Op& op) {
    const bool is_written = (op.phase & kIsWritten) != 0;
    const bool is_near = op.posted <= op.taken + rounds_ahead(team) || op.taken == op.to_take;
    return is_written && op.posted < op.rounds && is_near;
}

// Of the block for itself. True where some of it is left.
bool place_own_part(const Team& team, Op& op) {
    constexpr size_t kBytesAtOnce = size_t{64} << 10;
    const OwnBlock& own = team.blocks.own;
    if (op.placed >= own.bytes) return false;
    const size_t bytes = std::min<size_t>(kBytesAtOnce, own.bytes - op.placed);
    copy_bytes(own.to + op.placed, own.from + op.placed, bytes);
    op.placed += bytes;
    return op.placed < own.bytes;
}

// This rank reads no chunk of an earlier round again.
void consume_rounds(Team& team, const Op& op) {
    if (op.taken < op.to_take) return consume(team, op.chunks + op.taken);
    const bool has_all = (op.phase & kHasOffered) != 0;
    consume(team, op.chunks + (has_all ? op.chunks_used : kOfferedRound));
}

bool is_done(const Op& op) {
    const bool has_all = op.taken == op.to_take && (op.phase & kHasOffered) != 0;
    const bool is_read = op.served == 0 || (op.phase & kIsOver) != 0;
    return has_all && is_read && op.posted == op.rounds && (op.phase & kIsWritten) != 0;
}

// The call goes on once this rank has read the short blocks.
Step go_on(Team& team, Op& op) {
    if (op.taken < op.to_take) {
        if (take_block_round(team, op)) {
            consume_rounds(team, op);
            return Step::kAdvanced;
        }
    } else if ((op.phase & kHasOffered) == 0 && read_blocks(team, op)) {
        return Step::kAdvanced;
    }
    if (tend_own(team, op) || place_own_part(team, op)) return Step::kAdvanced;
    return is_done(op) ? finish_large(team, op) : Step::kBlocked;
}

}  // namespace

Step move_blocks(Team& team, Op& op) {
    op.awaited = kNoRank;  // of an earlier round, who may have gone since (lacks_block())
    if ((op.phase & kHasTable) == 0) {  // start() has planned the call, and cannot keep the table
        Op again = op;
        plan_table(team, again, team.blocks);
        op.phase |= kHasTable;
    }
    if ((op.phase & kIsWritten) == 0) {
        if ((op.phase & kIsTooLong) != 0) return Step::kFailed;
        if (write_cells(team, op)) op.phase |= kIsWritten;
    }
    if (may_go_ahead(team, op) && may_write_round(team, op)) {
        write_round(team, op);
        return Step::kAdvanced;
    }
    if ((op.phase & kHasShort) == 0) {
        if (!take_short(team, op)) {
            const bool has_done = tend_own(team, op) || place_own_part(team, op);
            return has_done ? Step::kAdvanced : Step::kBlocked;
        }
        op.phase |= kHasShort;
        if (op.to_take == 0) consume_rounds(team, op);
    }
    return go_on(team, op);
}

Step move_unplanned_blocks(Team& team, Op& op) {
    if (op.phase == 0) {
        plan_now(team, op, [](Team& of, Op& begun) { plan_table(of, begun, of.blocks); });
        op.phase |= kHasTable;
    }
    return move_blocks(team, op);
}

void tell_cells(const Team& team, const Op& op) {
    if (!moves_blocks(op) || (op.phase & kIsWritten) == 0) return;
    team.slice.done(team.rank).cells_written.store(op.number, std::memory_order_release);
}

// A cell is written before the first round, and rounds before their writer leaves. Polls do not ask
// for this: they would keep the giver from its words, which it writes in each call. A giver that
// waits itself, before its first round, says what it has written.
bool lacks_block(const Team& team, const Op& op) {
    const Rank giver = op.awaited;
    if (!moves_blocks(op) || giver == kNoRank || (op.phase & kHasTable) == 0) return false;
    const bool has_left = has_finished(team, op, giver);
    const auto& words = team.slice.done(giver);
    const bool has_begun = has_left || has_published(team, giver, op.events + 1) ||
                           words.cells_written.load(std::memory_order_acquire) >= op.number;
    const bool has_flags = team.blocks.cells.per_line == 1 || (op.phase & kHasShort) == 0;
    if (has_flags && has_begun && !has_cell(team, op, giver)) return true;
    const bool is_in_rounds = (op.phase & kHasShort) != 0 && op.taken < op.to_take;
    return is_in_rounds && has_left && !has_published(team, giver, op.events + op.taken + 1);
}

}  // namespace tutti::node
