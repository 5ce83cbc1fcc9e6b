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
// A giver writes its short blocks before its first round. So a taker that waits for the one and
// sees the other knows that the two disagree.
//
// Messages a rank: a line for every 56 bytes of its short blocks at most; it reads the lines of
// those for it. Long blocks: as gather.cpp.
//
// Op.phase: bits, see below. Op.next: the next giver, counted from the own rank. Op.rounds,
// Op.to_take: rounds to write and to read. Op.posted, Op.taken: those done. Op.placed: bytes of the
// own block that are copied. Op.piece_bytes: of a chunk, for each taker.
#include "base/collectives.h"
#include "run/node/detail.h"
#include "run/node/vector_layout.h"

namespace tutti::node {
namespace {

// More than a call has: a block of 4 GiB, a line at a time. Counters of 64 bits last for 2^38 such
// calls.
constexpr uint64_t kRoundsMax = uint64_t{1} << 26;

enum BlockPhase : uint32_t {
    kIsPlanned = 1,
    kIsWritten = 2,  // the own short blocks
    kHasShort = 4    // those of others are read
};

// The next one whose block is taken, so that not all read the same rank at once.
Rank next_giver(const Team& team, const Op& op) {
    const Rank rank = team.rank + op.next;
    return rank < team.size ? rank : rank - team.size;
}

// ---- planning ----------------------------------------------------------------------------------

template <class Visit>
void for_others(const Team& team, const Op& op, Visit visit) {
    const Rank root = op.call.root;
    const bool is_rooted = has_root(op.call.collective);
    if (is_rooted && team.rank != root) return visit(root);
    for (Rank rank = 0; rank < team.size; ++rank) {
        if (rank != team.rank) visit(rank);
    }
}

// Both run the same call, and take the block between them for one of another length.
bool differs(Op& op, Rank giver) { return disagrees(op, giver, op.note); }

}  // namespace

void plan_blocks(const Team& team, Op& op) {
    const BlockCells cells = cells_of(team, op);
    const size_t share = share_of_chunk(team, op);
    TUTTI_ASSERT(!has_block_each(op) || share * (team.size - 1) <= team.slice.geometry.chunk_bytes,
                 "a chunk holds a line for every rank");
    const auto rounds = [&](size_t bytes) {
        return bytes > cells.room ? rounds_of(team, share, bytes) : 0;
    };
    size_t comes_in_all = 0;
    for_others(team, op, [&](Rank other) {
        const size_t comes = taken_from(team, op, other).bytes;
        op.rounds = std::max(op.rounds, rounds(given_to(team, op, other).bytes));
        op.to_take = std::max(op.to_take, rounds(comes));
        comes_in_all += comes;
    });
    op.piece_bytes = share;
    op.is_past_caches = comes_in_all >= team.copying.past_caches_bytes_min;
    // Of an allgatherv these are the rounds of all blocks. The longest need not have most, as its
    // pieces are longer.
    const uint64_t most = std::max(op.rounds, op.to_take);
    TUTTI_ASSERT(most <= kRoundsMax, "bases have room for a call");
    op.chunks_used = op.events_used = has_private_lengths(op.call.collective) ? kRoundsMax : most;
    op.next = 1;
    op.phase = kIsPlanned;
}

namespace {

// A call that was begun like a short one: planned now, at the bases that no later call has taken
// yet.
void plan_at_step(Team& team, Op& op) {
    team.is_timed = false;
    static_cast<Rounds&>(op) = Rounds{};
    op.events = team.bases.events;
    op.chunks = team.bases.chunks;
    plan_blocks(team, op);
    team.bases.events += op.events_used;
    team.bases.chunks += op.chunks_used;
}

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

// False while the slots of an earlier call may be needed.
bool write_short(Team& team, Op& op, const BlockCells& cells) {
    size_t longest = 0;
    const bool is_for_all = op.call.collective == TUTTI_ALLGATHERV;
    for_others(team, op, [&](Rank other) {
        const size_t bytes = given_to(team, op, other).bytes;
        if (is_short(cells, bytes)) longest = std::max(longest, bytes);
    });
    if (longest == 0) return true;
    // A spare line is one cell.
    if (!may_write(team, op, is_each_for_each(op) ? kInlineBytesMax : longest)) return false;
    if (cells.per_line > 1) {
        write_shared_lines(team, op, cells);
    } else if (is_for_all) {
        write_cell(team, op, cells, team.rank, given_to(team, op, team.rank));
    } else {
        for_others(team, op, [&](Rank other) {
            const GivenBlock block = given_to(team, op, other);
            if (is_short(cells, block.bytes)) write_cell(team, op, cells, other, block);
        });
    }
    return true;
}

// The block in a cell whose flag has its length, which may be less than there is room for.
bool take_cell(const Team& team, Op& op, const BlockCells& cells, Rank giver,
               const TakenBlock& block) {
    const Slot cell = cell_for(team, op, cells, giver, team.rank);
    const uint64_t wanted = with_size(op.flag, block.bytes);
    if (take_slot(block.data, cell, wanted, block.bytes, op.line)) return true;
    op.awaited = giver;
    const uint64_t there = cell_flag(op, cell);
    if (there == wanted || !is_same_number(there, op.flag)) return false;
    if (!is_same_kind(there, op.flag)) return disagrees(op, giver, 0);
    const size_t bytes = flag_bytes(there);
    if (bytes > block.bytes) return differs(op, giver);
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
    std::byte* const chunk = team.slice.chunk(team.rank, op.chunks + op.posted);
    const auto write = [&](std::byte* to, const GivenBlock& block) {
        const BlockPiece piece = piece_in(team, op, cells.room, block.bytes, op.posted);
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

// Where the block of a giver is of whom this rank expects a long one.
enum class Source { kNotYet, kCell, kRing };
Source look_for(const Team& team, const Op& op, const BlockCells& cells, Rank giver) {
    // In this order, as a cell is written before the first round.
    const bool has_round = has_published(team, giver, op.events + op.taken + 1);
    const bool has_cell =
        cells.per_line == 1 &&
        is_same_number(cell_flag(op, cell_for(team, op, cells, giver, team.rank)), op.flag);
    return has_cell ? Source::kCell : has_round ? Source::kRing : Source::kNotYet;
}
Source source_of(const Team& team, Op& op, const BlockCells& cells, Rank giver) {
    Source source = look_for(team, op, cells, giver);
    if (source != Source::kNotYet) return source;
    op.awaited = giver;
    if (!has_finished(team, op, giver)) return source;
    // What it wrote before it left is there now, or never will be.
    source = look_for(team, op, cells, giver);
    if (source == Source::kNotYet) differs(op, giver);
    return source;
}

// A piece for this rank; false where it is not there yet.
bool take_piece(Team& team, Op& op, const BlockCells& cells, Rank giver, const TakenBlock& block,
                const BlockPiece& piece) {
    const Source source = source_of(team, op, cells, giver);
    if (source == Source::kNotYet) return false;
    // It has sent less, all at once.
    if (source == Source::kCell) return op.taken > 0 || take_cell(team, op, cells, giver, block);
    if (op.taken == 0 && !agrees(team, op, giver)) return false;
    const std::byte* chunk = team.slice.chunk(giver, op.chunks + op.taken);
    if (has_block_each(op)) chunk += cell_index(giver, team.rank) * op.piece_bytes;
    place_result(team, op, block.data + piece.offset, chunk, piece.bytes);
    return true;
}

// False where a piece of the round is not there yet.
bool take_block_round(Team& team, Op& op, const BlockCells& cells) {
    for (; op.next < team.size; ++op.next) {
        const Rank giver = next_giver(team, op);
        const TakenBlock block = taken_from(team, op, giver);
        const BlockPiece piece = piece_in(team, op, cells.room, block.bytes, op.taken);
        if (piece.bytes > 0 && !take_piece(team, op, cells, giver, block, piece)) return false;
    }
    op.next = 1;
    ++op.taken;
    return true;
}

// Up to a round ahead of what is read here, so that a neighbour who is a little late does not stop
// the copying.
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

// What is left of a call whose short blocks are read.
Step go_on(Team& team, Op& op, const BlockCells& cells) {
    if (op.taken < op.to_take && take_block_round(team, op, cells)) {
        const bool has_all = op.taken == op.to_take;
        consume(team, op.chunks + (has_all ? op.chunks_used : op.taken));
        return Step::kAdvanced;
    }
    if (place_own_part(team, op)) return Step::kAdvanced;
    const bool is_over = op.taken == op.to_take && op.posted == op.rounds;
    return is_over && (op.phase & kIsWritten) != 0 ? finish_large(team, op) : Step::kBlocked;
}

}  // namespace

Step move_blocks(Team& team, Op& op) {
    const BlockCells cells = cells_of(team, op);
    if ((op.phase & kIsWritten) == 0 && write_short(team, op, cells)) op.phase |= kIsWritten;
    if (may_go_ahead(op) && may_post(team, op)) {
        write_round(team, op, cells);
        return Step::kAdvanced;
    }
    if ((op.phase & kHasShort) == 0) {
        if (!take_short(team, op, cells)) {
            return place_own_part(team, op) ? Step::kAdvanced : Step::kBlocked;
        }
        op.phase |= kHasShort;
        if (op.to_take == 0) consume(team, op.chunks + op.chunks_used);
    }
    return go_on(team, op, cells);
}

Step move_unplanned_blocks(Team& team, Op& op) {
    if (op.phase == 0) plan_at_step(team, op);
    return move_blocks(team, op);
}

// Of a team of one rank.
void place_own_block(const Team& team, Op& op) {
    const OwnBlock own = own_block(team, op);
    copy_bytes(own.to, own.from, own.bytes);
}

Cost blocks_cost(const Team& team, const Op& op) {
    Op planned = op;
    plan_blocks(team, planned);
    Cost cost;
    cost.rounds = std::max<uint64_t>({planned.rounds, planned.to_take, 1});
    const bool is_for_all = op.call.collective == TUTTI_ALLGATHERV;
    size_t longest = 0;
    for_others(team, op, [&](Rank other) {
        const size_t goes = given_to(team, op, other).bytes;
        const size_t comes = taken_from(team, op, other).bytes;
        cost.written_bytes = is_for_all ? goes : cost.written_bytes + goes;
        cost.read_bytes += comes;
        longest = std::max(longest, comes);
    });
    if (cost.written_bytes == 0) {
        cost.first_bytes =
            planned.to_take > 0 ? piece_bytes(team, planned.piece_bytes, longest) : longest;
    }
    if (!has_root(op.call.collective) || team.rank == op.call.root) {
        cost.own_bytes = given_to(team, op, team.rank).bytes;
    }
    return cost;
}

}  // namespace tutti::node
