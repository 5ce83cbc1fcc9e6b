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
// A giver writes its cells before its first round. So a taker that waits for the one and sees the
// other knows that the two disagree.
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
    kIsTooLong = 256   // a block needs more rounds than bases have room for: the call fails
};

// The next one whose block is taken, so that not all read the same rank at once.
Rank next_giver(const Team& team, const Op& op) {
    const Rank rank = team.rank + op.next;
    return rank < team.size ? rank : rank - team.size;
}

// ---- planning ----------------------------------------------------------------------------------

// Both run the same call, and take the block between them for one of another length.
bool differs(Op& op, Rank giver) { return disagrees(op, giver, op.note); }

}  // namespace

void plan_blocks(const Team& team, Op& op) {
    const BlockCells cells = cells_of(team, op);
    const size_t share = share_of_chunk(team, op);
    TUTTI_ASSERT(!has_block_each(op) || share * (team.size - 1) <= team.slice.geometry.chunk_bytes,
                 "a chunk holds a line for every rank");
    const auto count = [&](size_t bytes, uint64_t& rounds) {
        if (bytes > cells.room) rounds = std::max(rounds, rounds_of(team, share, bytes));
    };
    size_t comes_in_all = 0;
    bool takes_offered = false;
    for_others(team, op, [&](Rank other) {
        const size_t goes = given_to(team, op, other).bytes;
        const size_t comes = taken_from(team, op, other).bytes;
        count(goes, is_offered(cells, goes) ? op.lag : op.rounds);
        op.served += is_offered(cells, goes) ? 1 : 0;
        if (!is_offered(cells, comes)) count(comes, op.to_take);
        takes_offered |= is_offered(cells, comes);
        comes_in_all += comes;
    });
    op.piece_bytes = share;
    op.is_past_caches = comes_in_all >= team.copying.past_caches_bytes_min;
    // Of an allgatherv these are the rounds of all blocks. The longest need not have most, as its
    // pieces are longer.
    const uint64_t most = std::max(op.rounds, op.to_take);
    const bool is_too_long = std::max(most, op.lag) > kOfferedRound;
    const bool is_of_all =
        has_private_lengths(op.call.collective) || is_offered(cells, op.call.bytes);
    op.chunks_used = op.events_used = is_of_all || is_too_long ? kRoundsMax : most;
    op.next = 1;
    op.phase = kIsPlanned | (takes_offered ? 0u : uint32_t{kHasOffered}) |
               (is_too_long ? uint32_t{kIsTooLong} : 0u);
}

namespace {

// ---- short blocks ------------------------------------------------------------------------------

// Of an alltoallv with several cells a line.
void write_shared_lines(const Team& team, const Op& op, const BlockCells& cells) {
    std::byte* const slot = team.slice.up_slot(team.rank, op.slot).lines;
    const size_t others = team.size - 1;
    for (size_t first = 0; first < others; first += cells.per_line) {
        std::byte* const line = slot + first / cells.per_line * kLineBytes;
        bool has_any = false;
        for (size_t i = first; i < std::min(first + cells.per_line, others); ++i) {
            const GivenBlock block =
                given_to(team, op, static_cast<Rank>(i < team.rank ? i : i + 1));
            if (!is_short(cells, block.bytes)) continue;
            copy_bytes(line + (i - first) * cells.room, block.data, block.bytes);
            has_any = true;
        }
        if (has_any) line_flag(line).store(op.flag, std::memory_order_release);
    }
}

void write_cell(const Team& team, const Op& op, const BlockCells& cells, Rank taker,
                const GivenBlock& block) {
    const Slot cell = cell_for(team, op, cells, team.rank, taker);
    write_lines(op.is_spare ? cell.spare : cell.lines, with_size(op.flag, block.bytes), block.data,
                block.bytes);
}

// Tells where a long block stands.
void write_long(const Team& team, const Op& op, const BlockCells& cells, Rank taker,
                const GivenBlock& block) {
    const Slot cell = cell_for(team, op, cells, team.rank, taker);
    const bool is_ours = is_offered(cells, block.bytes);
    const LongBlock told{is_ours ? reinterpret_cast<uint64_t>(block.data) : 0, block.bytes,
                         ring_place(team, is_ours)};
    write_lines(op.is_spare ? cell.spare : cell.lines, with_size(op.flag, kSizeMax),
                reinterpret_cast<const std::byte*>(&told), sizeof told);
}

// What a cell holds of a block; 0: nothing.
size_t bytes_in_cell(const BlockCells& cells, size_t bytes) {
    if (is_short(cells, bytes)) return bytes;
    return is_told(cells, bytes) ? sizeof(LongBlock) : 0;
}

// False while the slots of an earlier call may be needed.
bool write_cells(Team& team, Op& op, const BlockCells& cells) {
    size_t longest = 0;
    uint64_t offered = 0;
    const bool is_for_all = op.call.collective == TUTTI_ALLGATHERV;
    for_others(team, op, [&](Rank other) {
        const size_t bytes = given_to(team, op, other).bytes;
        longest = std::max(longest, bytes_in_cell(cells, bytes));
        if (is_offered(cells, bytes)) offered += bytes;
    });
    if ((op.phase & kIsEntered) == 0) enter_ring(team, op, cells.per_line == 1);
    op.phase |= kIsEntered;
    if (longest == 0) return true;
    // An alltoallv uses no spare lines, which are one cell; so its payload is said to be long.
    if (!may_write(team, op, is_each_for_each(op) ? kInlineBytesMax : longest)) return false;
    if (op.served > 0) offer_blocks(team, op, offered);
    const auto write = [&](Rank taker) {
        const GivenBlock block = given_to(team, op, taker);
        if (is_told(cells, block.bytes)) write_long(team, op, cells, taker, block);
        if (is_short(cells, block.bytes)) write_cell(team, op, cells, taker, block);
    };
    if (cells.per_line > 1) {
        write_shared_lines(team, op, cells);
    } else if (is_for_all) {
        write(team.rank);
    } else {
        for_others(team, op, write);
    }
    return true;
}

// The block in a cell whose flag has its length, which may be less than there is room for.
bool take_cell(const Team& team, Op& op, const BlockCells& cells, Rank giver,
               const TakenBlock& block) {
    const Slot cell = cell_for(team, op, cells, giver, team.rank);
    const uint64_t wanted = with_size(op.flag, block.bytes);
    const bool is_whole = is_short(cells, block.bytes);
    if (is_whole && take_slot(block.data, cell, wanted, block.bytes, op.line)) return true;
    op.awaited = giver;
    const uint64_t there = cell_flag(op, cell);
    if ((is_whole && there == wanted) || !is_same_number(there, op.flag)) return false;
    if (!is_same_kind(there, op.flag)) return disagrees(op, giver, 0);
    const size_t bytes = flag_bytes(there);
    if (bytes == kSizeMax || bytes > block.bytes) return differs(op, giver);
    return take_slot(block.data, cell, there, bytes, op.line);
}

bool take_from_line(const Team& team, Op& op, const BlockCells& cells, Rank giver,
                    const TakenBlock& block) {
    const size_t index = cell_index(giver, team.rank);
    std::byte* const line =
        team.slice.up_slot(giver, op.slot).lines + index / cells.per_line * kLineBytes;
    if (line_flag(line).load(std::memory_order_acquire) != op.flag) return awaits(op, giver);
    copy_bytes(block.data, line + index % cells.per_line * cells.room, block.bytes);
    return true;
}

bool take_short_of(const Team& team, Op& op, const BlockCells& cells, Rank giver,
                   const TakenBlock& block) {
    const auto take = cells.per_line > 1 ? take_from_line : take_cell;
    if (take(team, op, cells, giver, block)) return true;
    if (op.rival != kNoRank) return false;
    const bool is_past = has_published(team, giver, op.events + 1) || has_finished(team, op, giver);
    if (!is_past) return false;
    // What it wrote before that is there now, or never will be.
    return take(team, op, cells, giver, block) || (op.rival == kNoRank && differs(op, giver));
}

// False where one is not there yet.
bool take_short(const Team& team, Op& op, const BlockCells& cells) {
    for (; op.next < team.size; ++op.next) {
        const Rank giver = next_giver(team, op);
        const TakenBlock block = taken_from(team, op, giver);
        if (!is_short(cells, block.bytes)) continue;
        if (!take_short_of(team, op, cells, giver, block)) return false;
    }
    op.next = 1;
    return true;
}

// ---- long blocks -------------------------------------------------------------------------------

void write_round(Team& team, Op& op, const BlockCells& cells) {
    std::byte* const chunk = next_chunk(team, op);
    const auto write = [&](std::byte* to, const GivenBlock& block) {
        const BlockPiece piece = piece_in(team, op, cells, block.bytes, op.posted);
        if (piece.bytes == 0) return;
        copy_to_shared(team.tuning.way, to, block.data + piece.offset, piece.bytes);
    };
    if (has_block_each(op)) {
        for_others(team, op, [&](Rank other) {
            write(chunk + cell_index(team.rank, other) * op.piece_bytes, given_to(team, op, other));
        });
    } else {
        write(chunk, given_to(team, op, op.call.root));
    }
    publish_round(team, op);
}

// A cell is written before the first round, and before its writer leaves.
Told told_by(const Team& team, Op& op, const BlockCells& cells, Rank giver, LongBlock& block) {
    const bool is_past = has_published(team, giver, op.events + 1) || has_finished(team, op, giver);
    const Told told = told_in_cell(team, op, cells, giver, block);
    if (told != Told::kNotYet) return told;
    op.awaited = giver;
    if (is_past) differs(op, giver);
    return told;
}

bool has_round(const Team& team, Op& op, Rank giver) {
    return has_published(team, giver, op.events + op.taken + 1) || awaits(op, giver);
}

// A piece for this rank; false where it is not there yet.
bool take_piece(Team& team, Op& op, const BlockCells& cells, Rank giver, TakenBlock block) {
    uint64_t place = op.chunks + op.taken;
    if (cells.per_line == 1) {
        LongBlock told;
        switch (told_by(team, op, cells, giver, told)) {
            case Told::kNotYet:
                return false;
            case Told::kShort:  // it has sent less, all at once
                return op.taken > 0 || take_cell(team, op, cells, giver, block);
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
    const BlockPiece piece = piece_in(team, op, cells, block.bytes, op.taken);
    if (piece.bytes == 0) return true;
    if (!has_round(team, op, giver)) {
        return has_finished(team, op, giver) && !has_round(team, op, giver) && differs(op, giver);
    }
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
bool take_block_round(Team& team, Op& op, const BlockCells& cells) {
    for (; op.next < team.size; ++op.next) {
        const Rank giver = next_giver(team, op);
        const TakenBlock block = taken_from(team, op, giver);
        if (piece_in(team, op, cells, block.bytes, op.taken).bytes == 0) continue;
        if (!is_in_round(team, op, giver)) continue;
        if (!take_piece(team, op, cells, giver, block)) return false;
    }
    op.next = 1;
    ++op.taken;
    return true;
}

// ---- blocks that are read in place --------------------------------------------------------------

// Reads on in the block of a giver; true when it is done with that.
bool read_block(Team& team, Op& op, const BlockCells& cells, Rank giver, bool& has_advanced) {
    TakenBlock block = taken_from(team, op, giver);
    LongBlock offered;
    switch (told_by(team, op, cells, giver, offered)) {
        case Told::kNotYet:
            return false;
        case Told::kShort:  // less was sent
            return take_cell(team, op, cells, giver, block);
        case Told::kLong:
            break;
    }
    // This rank has said already that it has read all that is not offered.
    const bool is_in_rounds_before = !is_offered(cells, offered.bytes);
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
bool read_blocks(Team& team, Op& op, const BlockCells& cells) {
    bool has_advanced = false;
    for (; op.next < team.size; ++op.next) {
        const Rank giver = next_giver(team, op);
        if (!is_offered(cells, taken_from(team, op, giver).bytes)) continue;
        team.single_copy.by_ring[giver] = 0;
        if (!read_block(team, op, cells, giver, has_advanced)) return has_advanced;
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
        const size_t bytes = taken_from(team, op, giver).bytes;
        if (!is_offered(cells, bytes) || team.single_copy.by_ring[giver] == 0) return;
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

// A rank writes at most a round more than it has read. So it goes on copying while a neighbour is a
// little late.
bool may_go_ahead(const Op& op) {
    const bool is_written = (op.phase & kIsWritten) != 0;
    const bool is_near = op.posted <= op.taken + 1 || op.taken == op.to_take;
    return is_written && op.posted < op.rounds && is_near;
}

bool place_own_part(const Team& team, Op& op) {
    constexpr size_t kBytesAtOnce = size_t{64} << 10;
    const OwnBlock own = own_block(team, op);
    if (op.placed >= own.bytes) return false;
    const size_t bytes = std::min<size_t>(kBytesAtOnce, own.bytes - op.placed);
    copy_bytes(own.to + op.placed, own.from + op.placed, bytes);
    op.placed += bytes;
    return true;
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
Step go_on(Team& team, Op& op, const BlockCells& cells) {
    if (op.taken < op.to_take) {
        if (take_block_round(team, op, cells)) {
            consume_rounds(team, op);
            return Step::kAdvanced;
        }
    } else if ((op.phase & kHasOffered) == 0 && read_blocks(team, op, cells)) {
        return Step::kAdvanced;
    }
    if (tend_own(team, op) || place_own_part(team, op)) return Step::kAdvanced;
    return is_done(op) ? finish_large(team, op) : Step::kBlocked;
}

}  // namespace

Step move_blocks(Team& team, Op& op) {
    const BlockCells cells = cells_of(team, op);
    if ((op.phase & kIsWritten) == 0) {
        if ((op.phase & kIsTooLong) != 0) return Step::kFailed;
        if (write_cells(team, op, cells)) op.phase |= kIsWritten;
    }
    if (may_go_ahead(op) && may_write_round(team, op)) {
        write_round(team, op, cells);
        return Step::kAdvanced;
    }
    if ((op.phase & kHasShort) == 0) {
        if (!take_short(team, op, cells)) {
            const bool has_done = tend_own(team, op) || place_own_part(team, op);
            return has_done ? Step::kAdvanced : Step::kBlocked;
        }
        op.phase |= kHasShort;
        if (op.to_take == 0) consume_rounds(team, op);
    }
    return go_on(team, op, cells);
}

Step move_unplanned_blocks(Team& team, Op& op) {
    if (op.phase == 0) plan_now(team, op, plan_blocks);
    return move_blocks(team, op);
}

// Of a team of one rank.
void place_own_block(const Team& team, Op& op) {
    const OwnBlock own = own_block(team, op);
    copy_bytes(own.to, own.from, own.bytes);
}

}  // namespace tutti::node
