// SPDX-License-Identifier: BSD-3-Clause
// Small calls, flat: every rank writes its payload beside a flag, and each rank that needs it reads
// it there.
//
// One write and one cache miss on the critical path; the slots of kSlotCount calls are in rotation,
// and of short payloads spare lines of kSpareCount, so that a rank may run ahead. Messages a rank:
// at most one line written for every 56 bytes, and team.size - 1 slots read.
//
// Op.phase: 0 own slot not yet written, 1 collecting. Op.next: the rank whose slot comes next.
#include "run/node/detail.h"

namespace tutti::node {
namespace {

// Writes this rank's slot once that is allowed.
inline bool post_own(Team& team, Op& op, const std::byte* data) {
    if (!may_write(team, op, op.call.bytes)) return false;
    write_slot(op, team.slice.up_slot(team.rank, op.slot), data, op.call.bytes);
    // The next call's slot, while we wait for this one's.
    prefetch_lines(
        team.slice.up_slot(team.rank, team.slice.geometry.slot_place(op.number + 1)).lines,
        op.call.bytes + 1);
    op.phase = 1;
    return true;
}

// Takes the payload of `rank`, as far as it is there.
inline bool take_from(const Team& team, Op& op, Rank rank, std::byte* out) {
    return take_slot(out, team.slice.up_slot(rank, op.slot), op.flag, op.call.bytes, op.line) ||
           awaits(op, rank);
}

// Own block of a gather or allgather into its place, unless it is there already.
inline void place_own(const Team& team, const Op& op) {
    if (op.call.send) {
        copy_bytes(op.call.recv + team.rank * op.call.bytes, op.call.send, op.call.bytes);
    }
}

}  // namespace

Step small_barrier(Team& team, Op& op) {
    if (op.phase == 0 && !post_own(team, op, nullptr)) return Step::kBlocked;
    for (; op.next < team.size; ++op.next) {
        if (op.next == team.rank) continue;
        if (!take_from(team, op, op.next, nullptr)) return Step::kBlocked;
    }
    return finish_small_synchronized(team, op);
}

Step small_bcast(Team& team, Op& op) {
    if (team.rank == op.call.root) {
        if (!may_write(team, op, op.call.bytes)) return Step::kBlocked;
        write_slot(op, team.slice.up_slot(team.rank, op.slot), op.call.recv, op.call.bytes);
        return finish_small(team, op);
    }
    if (!take_from(team, op, op.call.root, op.call.recv)) return Step::kBlocked;
    return finish_small_heard(team, op);
}

namespace {

// Whether this rank's own operand may be read where the user has it, in the running fold. In place
// it stands in recv, which from the second fold on holds the running result.
bool is_own_at_hand(const Team& team, const Op& op) {
    return team.rank <= 1 || op.call.send != nullptr;
}

// The operand of `rank` once it is all there, else nullptr. The first one is kept in a space of its
// own, since it is folded together with the second.
const std::byte* operand_of(const Team& team, Op& op, Rank rank) {
    if (rank == team.rank && is_own_at_hand(team, op)) return op.call.vector();
    std::byte* space = rank == 0 ? result_space(team) : payload_space(team);
    const std::byte* operand =
        take_payload(space, team.slice.up_slot(rank, op.slot), op.flag, op.call.bytes, op.line);
    if (!operand) op.awaited = rank;
    return operand;
}

// The same for the first rank's, once it was there.
const std::byte* first_operand(const Team& team, const Op& op) {
    if (team.rank == 0) return op.call.vector();
    if (op.call.bytes > kLinePayloadBytes) return result_space(team);
    return begin_of(team.slice.up_slot(0, op.slot), op.flag);
}

}  // namespace

// Reduce and allreduce: folds in rank order as the ranks' payloads come in, so that the operand
// order is the same on all ranks and for all sizes. The running result stands in recv.
Step small_reduce(Team& team, Op& op) {
    if (op.phase == 0) {
        const bool is_all = op.call.collective == TUTTI_ALLREDUCE;
        const bool is_root = team.rank == op.call.root;
        if (is_all || !is_root || !is_own_at_hand(team, op)) {
            if (!post_own(team, op, op.call.vector())) return Step::kBlocked;
        }
        if (!is_all && !is_root) return finish_small(team, op);
        op.phase = 1;
    }
    for (; op.next < team.size; ++op.next) {
        const std::byte* operand = operand_of(team, op, op.next);
        if (!operand) return Step::kBlocked;
        if (op.next == 0) continue;
        const std::byte* left = op.next == 1 ? first_operand(team, op) : op.call.recv;
        fold_onto(team, op.call.reducer, op.call.recv, left, operand, op.call.bytes);
    }
    return finish_small_synchronized(team, op);
}

Step small_gather(Team& team, Op& op) {
    if (team.rank != op.call.root) {
        return post_own(team, op, op.call.send) ? finish_small(team, op) : Step::kBlocked;
    }
    if (op.phase == 0) {
        place_own(team, op);
        op.phase = 1;
    }
    for (; op.next < team.size; ++op.next) {
        if (op.next == team.rank) continue;
        const size_t capacity = op.capacity != 0 ? op.capacity : op.call.bytes;
        const Slot slot = team.slice.up_slot(op.next, op.slot);
        std::byte* block = op.call.recv + op.next * capacity;
        if (!take_slot(block, slot, op.flag, op.call.bytes, op.line) &&
            !take_less(team, op, op.next, slot, block, capacity)) {
            return Step::kBlocked;
        }
    }
    return finish_small_synchronized(team, op);
}

// The root writes into each rank's inbox, so that everybody polls memory of its own, and of lines
// that are written in each call none has more than one reader.
Step small_scatter(Team& team, Op& op) {
    const size_t bytes = op.call.bytes;
    if (team.rank == op.call.root) {
        if (!may_write(team, op, op.call.bytes)) return Step::kBlocked;
        for (Rank rank = 0; rank < team.size; ++rank) {
            if (rank == team.rank) continue;
            write_slot(op, team.slice.inbox_slot(rank, op.slot, team.rank),
                       op.call.send + rank * bytes, bytes);
        }
        if (op.call.recv) copy_bytes(op.call.recv, op.call.send + team.rank * bytes, bytes);
        return finish_small(team, op);
    }
    const Slot slot = team.slice.inbox_slot(team.rank, op.slot, op.call.root);
    if (!take_slot(op.call.recv, slot, op.flag, bytes, op.line) &&
        !take_less(team, op, op.call.root, slot, op.call.recv, bytes)) {
        return Step::kBlocked;
    }
    return finish_small_heard(team, op);
}

Step small_allgather(Team& team, Op& op) {
    const size_t bytes = op.call.bytes;
    if (op.phase == 0) {
        if (!post_own(team, op, op.call.block(team.rank))) return Step::kBlocked;
        place_own(team, op);
    }
    for (; op.next < team.size; ++op.next) {
        if (op.next == team.rank) continue;
        if (!take_from(team, op, op.next, op.call.recv + op.next * bytes)) return Step::kBlocked;
    }
    return finish_small_synchronized(team, op);
}

}  // namespace tutti::node
