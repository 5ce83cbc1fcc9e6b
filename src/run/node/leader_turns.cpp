// SPDX-License-Identifier: BSD-3-Clause
// Reduce and allreduce of more than a slot along the tree, whose leaders take turns ("turns").
//
// The vector is cut into as many shares as there are turns. In the tree of each turn the ranks of
// an innermost group have changed places (Layout::Seat), so each share has leaders of its own, and
// no tree crosses a level more often than the tree itself. Which elements go by which tree follows
// from the bytes and the tree alone: the order of the operands does not depend on what was
// measured.
//
// Round t is the next piece of share t modulo turns. Up: a rank folds the pieces of its children
// onto its own, and writes that into chunk t of its ring. Down (allreduce): a rank copies the
// result out, and for its children over what its parent has folded by then. A reduction's root
// takes the result where the turn's root has left it.
//
// Iteration t of every rank: up(t), then down(t - lag), so that pieces are on their way up and down
// at the same time. The events of a rank are published in that order:
//   up(t) -> 2t + 1,  down(t) -> 2(t + lag) + 2.
//
// Nobody waits in a circle: up(t) waits for up(t) of children and for readers of chunk
// t - chunk_count, who are done with it after iteration t - chunk_count + lag, and lag is half of
// chunk_count at most; down(t) waits for down(t) of the parent, in the same iteration.
//
// Per rank and n bytes, with p ranks and enough turns: about n (p-1)/p folded, n written, and for
// allreduce n (p-1)/p copied out, as in split.cpp; but each rank has to do with few others.
//
// Op.taken: t. Op.phase: 0 up, 1 down. Op.next: the child whose piece is awaited.
#include "run/node/detail.h"

namespace tutti::node {
namespace {

// This rank's place in the tree of a round.
struct Place {
    Rank turn = 0;
    Rank role = 0;  // what it does in the tree itself
    bool is_top = false;
};

Place place_in(const Team& team, const Op& op, uint64_t round) {
    const auto turn = static_cast<Rank>(round % op.turns);
    const Rank role = role_of(team.layout, team.rank, turn, op.turns);
    return {turn, role, role == team.layout.root};
}

Rank actor(const Team& team, const Op& op, const Place& place, Rank role) {
    return actor_of(team.layout, role, place.turn, op.turns);
}

const std::vector<Rank>& child_roles(const Team& team, const Place& place) {
    return team.layout.children[place.role];
}

uint64_t up_event(const Op& op, uint64_t round) { return op.events + 2 * round + 1; }
uint64_t down_event(const Op& op, uint64_t round) { return op.events + 2 * (round + op.lag) + 2; }

Span turn_piece(const Op& op, uint64_t round) {
    const Span share = part_of(op, op.call.bytes, op.turns, static_cast<Rank>(round % op.turns));
    const size_t offset = std::min(round / op.turns * op.piece_bytes, share.bytes);
    return {share.offset + offset, std::min(op.piece_bytes, share.bytes - offset)};
}

bool passes_down(const Op& op) { return op.call.collective == TUTTI_ALLREDUCE; }

// Who reads what this rank writes in a round.
bool has_readers(const Team& team, const Op& op, const Place& place) {
    return !place.is_top || passes_down(op) || team.rank != op.call.root;
}

bool turn_consumed(const Team& team, const Op& op, uint64_t round, uint64_t target) {
    const Place place = place_in(team, op, round);
    if (!place.is_top) {
        const Rank parent = actor(team, op, place, team.layout.parent[place.role]);
        if (!consumed_by(team, parent, target)) return false;
    }
    if (!passes_down(op)) {
        const bool is_moved = place.is_top && team.rank != op.call.root;
        return !is_moved || consumed_by(team, op.call.root, target);
    }
    for (const Rank role : child_roles(team, place)) {
        if (!consumed_by(team, actor(team, op, place, role), target)) return false;
    }
    return true;
}

bool may_write_turn(Team& team, const Op& op, uint64_t round) {
    const uint64_t target = reuse_target(team, op.chunks + round);
    if (is_reuse_within(team, round)) {
        return turn_consumed(team, op, round - team.slice.geometry.chunk_count, target);
    }
    return all_consumed(team, target) && (round > 0 || may_note(team, op));
}

// In the first round of each turn a rank may meet others than before.
bool is_there(Team& team, Op& op, Rank rank, uint64_t event, uint64_t round) {
    if (!has_published(team, rank, event)) return awaits(op, rank);
    return round >= op.turns || agrees(team, op, rank);
}

Step step_up(Team& team, Op& op) {
    const uint64_t round = op.taken;
    if (round >= op.rounds) {
        op.phase = 1;
        return Step::kAdvanced;
    }
    if (op.next == 0 &&
        (!may_write_turn(team, op, round) || !has_place(team, op, op.chunks + round))) {
        return Step::kBlocked;
    }
    const Place place = place_in(team, op, round);
    const std::vector<Rank>& roles = child_roles(team, place);
    for (; op.next < roles.size(); ++op.next) {
        const Rank child = actor(team, op, place, roles[op.next]);
        if (!is_there(team, op, child, up_event(op, round), round)) return Step::kBlocked;
    }
    if (round == 0) note_chunks(team, op);
    const Span piece = turn_piece(op, round);
    std::byte* chunk = team.slice.chunk(team.rank, op.chunks + round);
    const std::byte* own = op.call.vector() + piece.offset;
    if (roles.empty()) {
        copy_to_shared(team.tuning.way, chunk, own, piece.bytes);
    } else {
        team.local.operands[0] = own;
        for (Rank i = 0; i < roles.size(); ++i) {
            const Rank child = actor(team, op, place, roles[i]);
            team.local.operands[i + 1] = team.slice.chunk(child, op.chunks + round);
        }
        const bool is_receiver = passes_down(op) || team.rank == op.call.root;
        std::byte* out = place.is_top && is_receiver ? op.call.recv + piece.offset : nullptr;
        std::byte* shared = has_readers(team, op, place) ? chunk : nullptr;
        fold_first(team, op.call.reducer, static_cast<Rank>(roles.size() + 1), out, shared,
                   piece.bytes);
    }
    publish(team, up_event(op, round));
    op.next = 0;
    op.phase = 1;
    return Step::kAdvanced;
}

// The result of a round, for whom it has not come up to. False where it is not there yet.
bool take_result(Team& team, Op& op, uint64_t round) {
    const Place place = place_in(team, op, round);
    if (place.is_top || !(passes_down(op) || team.rank == op.call.root)) return true;
    // What the top of the tree has folded stands in its chunk at once.
    const Rank above = passes_down(op) ? team.layout.parent[place.role] : team.layout.root;
    const uint64_t event = above == team.layout.root ? up_event(op, round) : down_event(op, round);
    const Rank source = actor(team, op, place, above);
    if (!is_there(team, op, source, event, round)) return false;
    const Span piece = turn_piece(op, round);
    std::byte* result = op.call.recv + piece.offset;
    place_result(team, op, result, team.slice.chunk(source, op.chunks + round), piece.bytes);
    if (!passes_down(op) || child_roles(team, place).empty()) return true;
    copy_to_shared(team.tuning.way, team.slice.chunk(team.rank, op.chunks + round), result,
                   piece.bytes);
    publish(team, down_event(op, round));
    return true;
}

Step step_down(Team& team, Op& op) {
    if (op.taken >= op.lag) {
        const uint64_t round = op.taken - op.lag;
        if (!take_result(team, op, round)) return Step::kBlocked;
        if (round + 1 == op.rounds) return finish_large(team, op);
        consume(team, op.chunks + round + 1);
    }
    ++op.taken;
    op.phase = 0;
    return Step::kAdvanced;
}

}  // namespace

void plan_turn_reduce(const Team& team, Op& op) {
    op.turns = turns_for(team.layout, op.call.bytes);
    plan_pipeline(team, op, piece_room(team), op.call.reducer.element_bytes);
    const size_t share = part_of(op, op.call.bytes, op.turns, 0).bytes;  // the longest
    op.piece_bytes = std::min(op.piece_bytes, share);
    op.rounds = (share + op.piece_bytes - 1) / op.piece_bytes * op.turns;
    op.lag = std::min(op.rounds, chunks_ahead(team));
    op.chunks_used = op.rounds;
    op.events_used = 2 * (op.rounds + op.lag);
}

Step turn_reduce(Team& team, Op& op) {
    return op.phase == 0 ? step_up(team, op) : step_down(team, op);
}

}  // namespace tutti::node
