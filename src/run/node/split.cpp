// SPDX-License-Identifier: BSD-3-Clause
// Reduce and allreduce of large vectors: in every round each rank folds one slice of the piece for
// all, then everybody (or the root) copies the slices together: reduce-scatter and allgather
// through shared memory. Per rank and n bytes: n (p-1)/p copied in, n folded, n (p-1)/p copied out.
//
// Iteration t of every rank: in(t), fold(t - 1), out(t - 2), so that nobody waits for a neighbour
// who is a little late. The events of a rank are published in that order:
//   in(t) -> 2t + 1,  fold(t) -> 2t + 4.
//
// In-place results: slice `rank` of the own chunk is never an input (the own operand is read from
// the user's buffer), so the folded slice is written there.
//
// Why in(t) may overwrite chunk t - chunk_count without a look: fold(t - 2) of this rank waited for
// in(t - 2) of all, which follows out(t - 5) of all. chunk_count >= 5 is enough, for reduce too.
//
// Op.phase: 0 in, 1 fold, 2 out. Op.taken: t. Op.next: the rank that comes next in fold's or out's
// wait.
#include "run/node/detail.h"

namespace tutti::node {
namespace {

static_assert(kChunkCountMin >= 5);

uint64_t in_event(const Op& op, uint64_t round) { return op.events + 2 * round + 1; }
uint64_t fold_event(const Op& op, uint64_t round) { return op.events + 2 * round + 4; }

Span piece_of(const Op& op, uint64_t round) {
    const size_t offset = round * op.piece_bytes;
    return {offset, std::min(op.piece_bytes, op.call.bytes - offset)};
}

}  // namespace

Span part_of(const Op& op, size_t bytes, Rank parts, Rank part) {
    const size_t element = op.call.reducer.element_bytes;
    const size_t unit = kLineBytes % element == 0 ? kLineBytes : element;
    const size_t units = (bytes + unit - 1) / unit;
    const size_t each = (units + parts - 1) / parts * unit;
    const size_t offset = std::min(part * each, bytes);
    return {offset, std::min(each, bytes - offset)};
}

Span slice_of(const Team& team, const Op& op, size_t piece_bytes, Rank rank) {
    return part_of(op, piece_bytes, team.size, rank);
}

namespace {

bool is_receiver(const Team& team, const Op& op) {
    return op.call.collective == TUTTI_ALLREDUCE || team.rank == op.call.root;
}

Step step_in(Team& team, Op& op) {
    const uint64_t round = op.taken;
    op.phase = 1;
    op.next = 0;
    if (round >= op.rounds) return Step::kAdvanced;
    const bool may_write =
        is_reuse_within(team, round) || all_consumed(team, reuse_target(team, op.chunks + round));
    if (!may_write || (round == 0 && !may_note(team, op)) ||
        !has_place(team, op, op.chunks + round)) {
        op.phase = 0;
        return Step::kBlocked;
    }
    if (round == 0) note_chunks(team, op);
    const Span piece = piece_of(op, round);
    const Span own = slice_of(team, op, piece.bytes, team.rank);
    std::byte* chunk = team.slice.chunk(team.rank, op.chunks + round);
    const std::byte* data = op.call.vector() + piece.offset;
    const size_t behind = own.offset + own.bytes;
    copy_to_shared(team.tuning.way, chunk, data, own.offset);
    copy_to_shared(team.tuning.way, chunk + behind, data + behind, piece.bytes - behind);
    publish(team, in_event(op, round));
    return Step::kAdvanced;
}

Step step_fold(Team& team, Op& op) {
    if (op.taken == 0 || op.taken > op.rounds) {
        op.phase = 2;
        op.next = 1;
        return Step::kAdvanced;
    }
    const uint64_t round = op.taken - 1;
    for (; op.next < team.size; ++op.next) {
        if (op.next == team.rank) continue;
        if (!has_published(team, op.next, in_event(op, round))) return blocked_on(op, op.next);
        if (round == 0 && !agrees(team, op, op.next)) return Step::kBlocked;
    }
    const Span piece = piece_of(op, round);
    const Span own = slice_of(team, op, piece.bytes, team.rank);
    for (Rank rank = 0; rank < team.size; ++rank) {
        team.local.operands[rank] = rank == team.rank
                                        ? op.call.vector() + piece.offset + own.offset
                                        : team.slice.chunk(rank, op.chunks + round) + own.offset;
    }
    // In the user's own memory, or a piece at a time in ours: what others have read is better
    // written by copying than by folding.
    std::byte* out = is_receiver(team, op) ? op.call.recv + piece.offset + own.offset : nullptr;
    std::byte* shared = team.slice.chunk(team.rank, op.chunks + round) + own.offset;
    fold_all(team, op.call.reducer, out, shared, own.bytes);
    publish(team, fold_event(op, round));
    op.phase = 2;
    op.next = 1;
    return Step::kAdvanced;
}

// Copies the others' slices, starting with the neighbour's so that not all read the same one.
Step step_out(Team& team, Op& op) {
    if (op.taken >= 2 && is_receiver(team, op)) {
        const uint64_t round = op.taken - 2;
        const Span piece = piece_of(op, round);
        for (; op.next < team.size; ++op.next) {
            const Rank rank = (team.rank + op.next) % team.size;
            if (!has_published(team, rank, fold_event(op, round))) return blocked_on(op, rank);
            const Span theirs = slice_of(team, op, piece.bytes, rank);
            place_result(team, op, op.call.recv + piece.offset + theirs.offset,
                         team.slice.chunk(rank, op.chunks + round) + theirs.offset, theirs.bytes);
        }
    }
    ++op.taken;
    op.phase = 0;
    return op.taken == op.rounds + 2 ? finish_large(team, op) : Step::kAdvanced;
}

}  // namespace

void plan_split_reduce(const Team& team, Op& op) {
    const size_t element = op.call.reducer.element_bytes;
    op.piece_bytes = std::min(piece_room(team) / element * element, op.call.bytes);
    op.rounds = (op.call.bytes + op.piece_bytes - 1) / op.piece_bytes;
    op.chunks_used = op.rounds;
    op.events_used = 2 * op.rounds + 2;
}

size_t split_share_bytes(const Team& team, const Op& op, Rank rank) {
    size_t bytes = 0;
    for (uint64_t round = 0; round < op.rounds; ++round) {
        bytes += slice_of(team, op, piece_of(op, round).bytes, rank).bytes;
    }
    return bytes;
}

Step split_reduce(Team& team, Op& op) {
    switch (op.phase) {
        case 0:
            return step_in(team, op);
        case 1:
            return step_fold(team, op);
        default:
            return step_out(team, op);
    }
}

}  // namespace tutti::node
