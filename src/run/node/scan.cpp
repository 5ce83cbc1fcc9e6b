// SPDX-License-Identifier: BSD-3-Clause
// Scan and exscan: each rank gets the fold of the vectors of the ranks up to itself, or before it,
// from the left in the order of ranks.
//
// Up to 1 KiB each rank writes its vector into its slot, and reads those of the lower ranks
// ("small"): one hop. Beyond, the prefix goes along the ranks ("chain"): each takes a piece of it
// from the rank before, folds its own piece onto it, and hands that on through its ring. Every rank
// folds each piece once, and p - 1 + rounds steps wait for each other.
//
// Nobody hears of higher ranks. The last rank hands on nothing, and rank 0 of an exscan gets
// nothing: its `recv` is not touched.
//
// Op.next (small): the rank whose vector comes next. Op.phase (small): 0 own slot not yet written,
// 1 collecting. Op.posted, Op.taken (chain): rounds handed on, rounds done.
#include "run/node/detail.h"

namespace tutti::node {
namespace {

bool is_last(const Team& team) { return team.rank + 1 == team.size; }

// ---- chain --------------------------------------------------------------------------------------

// The own piece of rank 0, which is the prefix that it hands on.
void begin_prefix(const Team& team, const Op& op, std::byte* chunk, size_t offset, size_t bytes) {
    const std::byte* own = op.call.vector() + offset;
    copy_to_shared(team.tuning.way, chunk, own, bytes);
    if (!is_exclusive(op)) copy_bytes(op.call.recv + offset, own, bytes);
}

// From the prefix of the rank before: this rank's result, and in `chunk`, where there is one, what
// it hands on. In place the own piece stands where the result goes.
void extend_prefix(Team& team, const Op& op, const std::byte* prefix, std::byte* chunk,
                   size_t offset, size_t bytes) {
    std::byte* const result = op.call.recv + offset;
    team.local.operands[0] = prefix;
    team.local.operands[1] = op.call.vector() + offset;
    if (!is_exclusive(op)) {
        fold_first(team, op.call.reducer, 2, result, chunk, bytes);
        return;
    }
    if (chunk) fold_first(team, op.call.reducer, 2, nullptr, chunk, bytes);
    place_result(team, op, result, prefix, bytes);
}

}  // namespace

bool fold_slots(Team& team, Op& op, Rank from, Rank step, Rank count, std::byte* running) {
    for (; op.next < count; ++op.next) {
        const Rank rank = from + op.next * step;
        const Slot slot = team.slice.up_slot(rank, op.slot);
        if (op.next == 0) {
            if (!take_slot(running, slot, op.flag, op.call.bytes, op.line)) {
                return awaits(op, rank);
            }
            continue;
        }
        const std::byte* vector =
            take_payload(payload_space(team), slot, op.flag, op.call.bytes, op.line);
        if (!vector) return awaits(op, rank);
        fold_onto(team, op.call.reducer, running, running, vector, op.call.bytes);
    }
    op.next = 0;
    return true;
}

Step small_scan(Team& team, Op& op) {
    if (op.phase == 0) {
        if (!is_last(team)) {
            if (!may_write(team, op, op.call.bytes)) return Step::kBlocked;
            write_slot(op, team.slice.up_slot(team.rank, op.slot), op.call.vector(), op.call.bytes);
        }
        op.phase = 1;
    }
    // In place the own vector stands where the result goes, so a scan's result is made elsewhere.
    std::byte* const running = is_exclusive(op) ? op.call.recv : result_space(team);
    if (!fold_slots(team, op, 0, 1, team.rank, running)) return Step::kBlocked;
    if (!is_exclusive(op)) {
        if (team.rank == 0) {
            copy_bytes(op.call.recv, op.call.vector(), op.call.bytes);
        } else {
            fold_onto(team, op.call.reducer, op.call.recv, running, op.call.vector(),
                      op.call.bytes);
        }
    }
    return is_last(team) ? finish_small_synchronized(team, op) : finish_small(team, op);
}

void plan_chain_scan(const Team& team, Op& op) {
    plan_pipeline(team, op, piece_room(team), op.call.reducer.element_bytes);
}

Step chain_scan(Team& team, Op& op) {
    const uint64_t round = op.taken;
    const bool hands_on = !is_last(team);
    const Rank before = team.rank - 1;
    if (team.rank > 0) {
        if (round == 0 && !has_begun(team, op, before)) return Step::kBlocked;
        if (!has_published(team, before, op.events + round + 1)) return blocked_on(op, before);
    }
    if (hands_on && !may_post(team, op)) return Step::kBlocked;
    const size_t offset = round * op.piece_bytes;
    const size_t bytes = round_bytes(op, round);
    std::byte* const chunk = hands_on ? team.slice.chunk(team.rank, op.chunks + round) : nullptr;
    if (team.rank == 0) {
        begin_prefix(team, op, chunk, offset, bytes);
    } else {
        extend_prefix(team, op, team.slice.chunk(before, op.chunks + round), chunk, offset, bytes);
    }
    if (hands_on) publish_round(team, op);
    ++op.taken;
    if (op.taken == op.rounds) return finish_large(team, op);
    consume(team, op.chunks + op.taken);
    return Step::kAdvanced;
}

// Of the own place in the chain.
Cost scan_cost(const Team& team, const Op& op) {
    const uint64_t bytes = op.call.bytes;
    Cost cost;
    if (op.rounds == 0) {
        cost.rounds = 1;
        cost.written_bytes = is_last(team) ? 0 : bytes;
        cost.read_bytes = team.rank * bytes;
        const uint64_t vectors = is_exclusive(op) && team.rank > 0 ? team.rank - 1 : team.rank;
        cost.folded_bytes = vectors * bytes;
        return cost;
    }
    cost.rounds = op.rounds + team.size - 2;
    cost.written_bytes = is_last(team) ? 0 : bytes;
    cost.read_bytes = team.rank == 0 ? 0 : bytes;
    const bool folds = team.rank > 0 && !(is_exclusive(op) && is_last(team));
    cost.folded_bytes = folds ? bytes : 0;
    cost.own_bytes = team.rank == 0 && !is_exclusive(op) ? bytes : 0;
    return cost;
}

}  // namespace tutti::node
