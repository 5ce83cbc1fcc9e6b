// SPDX-License-Identifier: BSD-3-Clause
// Reduce and allreduce of more than a slot, where every reader folds whole vectors ("direct"): one
// synchronization. Work of a folding rank: (p - 1) n operations, so it is for few ranks or few
// bytes; split.cpp shares the work.
//
// Op.posted, Op.taken: rounds written, rounds folded. Op.next: the rank whose piece comes next.
#include "run/node/detail.h"

namespace tutti::node {
namespace {

bool post_vector(Team& team, Op& op) {
    if (!may_post(team, op)) return false;
    post_round(team, op);
    return true;
}

bool all_published(Team& team, Op& op) {
    for (; op.next < team.size; ++op.next) {
        if (op.next == team.rank) continue;
        if (!has_published(team, op.next, op.events + op.taken + 1)) return awaits(op, op.next);
        if (op.taken == 0 && !agrees(team, op, op.next)) return false;
    }
    op.next = 0;
    return true;
}

// Folds the current round into recv. `own` is this rank's operand.
void fold_round(Team& team, Op& op, const std::byte* own) {
    const size_t offset = op.taken * op.piece_bytes;
    for (Rank rank = 0; rank < team.size; ++rank) {
        team.local.operands[rank] =
            rank == team.rank ? own : team.slice.chunk(rank, op.chunks + op.taken);
    }
    fold_all(team, op.call.reducer, op.call.recv + offset, nullptr, round_bytes(op, op.taken));
    ++op.taken;
}

}  // namespace

void plan_chunk_reduce(const Team& team, Op& op) {
    plan_pipeline(team, op, piece_room(team), op.call.reducer.element_bytes);
}

Step chunk_reduce(Team& team, Op& op) {
    if (team.rank != op.call.root) {
        if (!post_vector(team, op)) return Step::kBlocked;
        return op.posted == op.rounds ? finish_large(team, op) : Step::kAdvanced;
    }
    if (!all_published(team, op)) return Step::kBlocked;
    fold_round(team, op, op.call.vector() + op.taken * op.piece_bytes);
    if (op.taken == op.rounds) return finish_large(team, op);
    consume(team, op.chunks + op.taken);
    return Step::kAdvanced;
}

void plan_chunk_allreduce(const Team& team, Op& op) {
    TUTTI_ASSERT(op.call.bytes <= team.slice.geometry.chunk_bytes, "direct allreduce: one chunk");
    op.piece_bytes = op.call.bytes;
    op.rounds = 1;
    op.chunks_used = 1;
    op.events_used = 1;
}

Step chunk_allreduce(Team& team, Op& op) {
    if (op.posted == 0 && !post_vector(team, op)) return Step::kBlocked;
    if (!all_published(team, op)) return Step::kBlocked;
    fold_round(team, op, op.call.vector());
    return finish_large(team, op);
}

}  // namespace tutti::node
