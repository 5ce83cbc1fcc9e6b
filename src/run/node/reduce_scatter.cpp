// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter, of equal blocks or of such whose lengths all know. Every rank gives a vector of a
// block for each rank, and folds its own block of all vectors, from the left in the order of ranks.
// A call has as many rounds as the longest block needs. A rank with a shorter block folds nothing
// in the last rounds.
//
// Up to 1 KiB of all blocks together each rank writes its vector into one slot ("small"). Beyond,
// the vectors go through the rings of chunks ("split"): a chunk holds a piece of the blocks of a
// group of ranks, of all ranks where so many elements fit, so that all fold at once.
//
// In place the result stands over block 0 of the input: each piece of that is written to the chunk
// before the result's is folded, since it is in the first group.
//
// Op.posted, Op.taken: rounds written, rounds passed. Op.next: the rank that comes next in a wait.
// Op.phase (small): 0 own slot not yet written, 1 collecting.
#include "run/node/detail.h"

namespace tutti::node {
namespace {

size_t block_bytes(const Call& call, Rank rank) {
    return call.blocks ? call.blocks->send_bytes[rank] : call.bytes;
}
size_t block_offset(const Call& call, Rank rank) {
    return call.blocks ? call.blocks->send_offsets[rank] : rank * call.bytes;
}
size_t block_bytes(const Op& op, Rank rank) { return block_bytes(op.call, rank); }
size_t block_offset(const Op& op, Rank rank) { return block_offset(op.call, rank); }
size_t vector_bytes(const Team& team, const Op& op) { return scattered_bytes(team, op.call); }

// ---- small -------------------------------------------------------------------------------------

// The own block of what `rank` gives, once that is there. Rank 0's is kept in a space of its own,
// since it is folded together with rank 1's.
const std::byte* own_block_of(const Team& team, Op& op, Rank rank) {
    const size_t offset = block_offset(op, team.rank);
    if (rank == team.rank) return op.call.vector() + offset;
    std::byte* space = rank == 0 ? result_space(team) : payload_space(team);
    const std::byte* vector = take_payload(space, team.slice.up_slot(rank, op.slot), op.flag,
                                           vector_bytes(team, op), op.line);
    if (vector) return vector + offset;
    op.awaited = rank;
    return nullptr;
}

// The same of rank 0, once it was there.
const std::byte* first_block(const Team& team, const Op& op) {
    const size_t offset = block_offset(op, team.rank);
    if (team.rank == 0) return op.call.vector();
    if (vector_bytes(team, op) > kLinePayloadBytes) return result_space(team) + offset;
    return begin_of(team.slice.up_slot(0, op.slot), op.flag) + offset;
}

// A short call whose vectors fit no slot.
Step go_on_in_chunks(Team& team, Op& op) {
    op.step = split_reduce_scatter;
    plan_now(team, op, plan_reduce_scatter);
    return Step::kAdvanced;
}

// ---- split -------------------------------------------------------------------------------------

// Blocks of which a chunk holds a piece.
Rank group_size(const Team& team, const Op& op) {
    const size_t fit = team.slice.geometry.chunk_bytes / op.piece_bytes;
    return static_cast<Rank>(std::min<size_t>(fit, team.size));
}
uint64_t rounds_of_group(const Op& op) {
    return (op.call.bytes + op.piece_bytes - 1) / op.piece_bytes;
}

struct Part {
    Rank first = 0;  // of the group
    Rank end = 0;
    size_t offset = 0;  // in each block
};
// Bytes of a block that lie in a part.
size_t bytes_in(const Op& op, const Part& part, Rank rank) {
    const size_t bytes = block_bytes(op, rank);
    return part.offset < bytes ? std::min(op.piece_bytes, bytes - part.offset) : 0;
}

Part part_of(const Team& team, const Op& op, uint64_t round) {
    const uint64_t rounds = rounds_of_group(op);
    const Rank size = group_size(team, op);
    Part part;
    part.first = static_cast<Rank>(round / rounds) * size;
    part.end = std::min(part.first + size, team.size);
    part.offset = round % rounds * op.piece_bytes;
    return part;
}

bool post_part(Team& team, Op& op) {
    if (!may_post(team, op)) return false;
    const Part part = part_of(team, op, op.posted);
    std::byte* piece = team.slice.chunk(team.rank, op.chunks + op.posted);
    for (Rank rank = part.first; rank < part.end; ++rank, piece += op.piece_bytes) {
        if (rank == team.rank) continue;
        copy_to_shared(team.tuning.way, piece,
                       op.call.vector() + block_offset(op, rank) + part.offset,
                       bytes_in(op, part, rank));
    }
    publish_round(team, op);
    return true;
}

// Folds the own piece of the current round; false where another rank's is not there yet.
bool fold_part(Team& team, Op& op) {
    const Part part = part_of(team, op, op.taken);
    if (team.rank < part.first || team.rank >= part.end) return true;
    for (; op.next < team.size; ++op.next) {
        if (op.next == team.rank) continue;
        if (!has_published(team, op.next, op.events + op.taken + 1)) return awaits(op, op.next);
        if (part.offset == 0 && !agrees(team, op, op.next)) return false;
    }
    op.next = 0;
    const size_t at = (team.rank - part.first) * op.piece_bytes;
    for (Rank rank = 0; rank < team.size; ++rank) {
        team.local.operands[rank] = rank == team.rank
                                        ? op.call.vector() + block_offset(op, rank) + part.offset
                                        : team.slice.chunk(rank, op.chunks + op.taken) + at;
    }
    const size_t bytes = bytes_in(op, part, team.rank);
    if (bytes > 0) fold_all(team, op.call.reducer, op.call.recv + part.offset, nullptr, bytes);
    return true;
}

}  // namespace

size_t scattered_bytes(const Team& team, const Call& call) {
    return block_offset(call, team.size - 1) + block_bytes(call, team.size - 1);
}

Step small_reduce_scatter(Team& team, Op& op) {
    const size_t bytes = vector_bytes(team, op);
    if (op.phase == 0) {
        if (bytes > team.slice.geometry.inline_max) return go_on_in_chunks(team, op);
        if (!may_write(team, op, bytes)) return Step::kBlocked;
        write_slot(op, team.slice.up_slot(team.rank, op.slot), op.call.vector(), bytes);
        op.phase = 1;
    }
    const size_t own = block_bytes(op, team.rank);
    for (; op.next < team.size; ++op.next) {
        const std::byte* block = own_block_of(team, op, op.next);
        if (!block) return Step::kBlocked;
        if (op.next == 0 || own == 0) continue;
        const std::byte* left = op.next == 1 ? first_block(team, op) : op.call.recv;
        fold_onto(team, op.call.reducer, op.call.recv, left, block, own);
    }
    return finish_small_synchronized(team, op);
}

// Whole elements; whole lines where these fit all ranks' pieces into a chunk.
void plan_reduce_scatter(const Team& team, Op& op) {
    const size_t element = op.call.reducer.element_bytes;
    const size_t chunk = team.slice.geometry.chunk_bytes;
    const size_t share = chunk / team.size;
    const bool is_lines = kLineBytes % element == 0 && share >= kLineBytes;
    const size_t unit = is_lines ? kLineBytes : element;
    op.piece_bytes = std::min(std::max(share / unit * unit, element), op.call.bytes);
    const Rank groups = (team.size + group_size(team, op) - 1) / group_size(team, op);
    op.rounds = groups * rounds_of_group(op);
    op.chunks_used = op.rounds;
    op.events_used = op.rounds;
}

// Posts up to half a ring ahead, so that ranks that take turns on a processor do much in each.
Step split_reduce_scatter(Team& team, Op& op) {
    const uint64_t ahead = chunks_ahead(team);
    if (op.posted < op.rounds && op.posted < op.taken + ahead && post_part(team, op)) {
        return Step::kAdvanced;
    }
    if (op.taken == op.posted || !fold_part(team, op)) return Step::kBlocked;
    ++op.taken;
    if (op.taken == op.rounds) return finish_large(team, op);
    consume(team, op.chunks + op.taken);
    return Step::kAdvanced;
}

Cost reduce_scatter_cost(const Team& team, const Op& op) {
    const uint64_t others = team.size - 1;
    const uint64_t own = block_bytes(op, team.rank);
    Cost cost;
    cost.rounds = std::max<uint64_t>(op.rounds, 1);
    // A slot holds the whole vector, and is read whole.
    cost.written_bytes = vector_bytes(team, op) - (op.rounds == 0 ? 0 : own);
    cost.read_bytes = others * (op.rounds == 0 ? vector_bytes(team, op) : own);
    cost.folded_bytes = others * own;
    return cost;
}

}  // namespace tutti::node
