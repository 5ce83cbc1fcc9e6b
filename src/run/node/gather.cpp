// SPDX-License-Identifier: BSD-3-Clause
// Gather, scatter, allgather and alltoall of more than a slot, piece by piece through the rings of
// chunks. In an alltoall every rank scatters.
//
// The own block is copied last, or while there is nothing else to do: nobody waits for it.
//
// Op.posted, Op.taken, Op.placed: rounds written, rounds read, rounds of the own block copied.
// Op.next: the rank whose piece comes next, counted from the own rank so that not all read the same
// ring at once.
#include "run/node/detail.h"

namespace tutti::node {

namespace {

// From the user's memory to the user's. What does not fit a second-level cache mostly fits the next
// one, where it need not be asked for ahead, and is written again sooner than past the caches.
void copy_own(const Team& team, const Op& op, std::byte* out, const std::byte* in, size_t bytes) {
    constexpr size_t kNextLevel = 2;
    if (op.is_past_caches &&
        result_bytes(team, op) >= kNextLevel * team.copying.past_caches_bytes_min) {
        copy_by_stream(out, in, bytes);
    } else {
        std::memcpy(out, in, bytes);
    }
}

}  // namespace

bool place_own_piece(const Team& team, Op& op, std::byte* block, const std::byte* own) {
    if (op.placed == op.rounds || !own || !block) return false;
    const size_t offset = op.placed * op.piece_bytes;
    copy_own(team, op, block + offset, own + offset, round_bytes(op, op.placed));
    ++op.placed;
    return true;
}

namespace {

// The farthest reader decides: its copies are the dearest to take back.
CopyWay way_of_piece(const Team& team, const Op& op) {
    const bool is_along_tree = op.call.collective == TUTTI_BCAST && team.children_distance;
    if (!is_along_tree) return team.tuning.way;
    const Rank extra = bcast_extra_reader(team, op);
    const uint32_t away = extra == kNoRank ? 0 : distance(team.layout, team.rank, extra);
    return team.tuning.way_to[std::max(*team.children_distance, away)];
}

// A piece for each of the others, in rank order without this rank.
void write_dealt(Team& team, const Op& op, std::byte* chunk) {
    const size_t offset = op.posted * op.piece_bytes;
    for (Rank rank = 0; rank < team.size; ++rank) {
        if (rank == team.rank) continue;
        copy_to_shared(team.tuning.way, chunk, op.call.send + rank * op.call.bytes + offset,
                       round_bytes(op, op.posted));
        chunk += op.piece_bytes;
    }
}

}  // namespace

const std::byte* given(const Team& team, const Op& op) {
    const Call& call = op.call;
    if (call.collective == TUTTI_BCAST) return call.recv;
    return buffers_of(call.collective, call.send, call.recv, team.rank, call.root,
                      call.own_offset(team.rank))
        .input;
}

const std::byte* given_to_itself(const Team& team, const Op& op) {
    return is_dealt(op.call.collective) ? op.call.send + team.rank * op.call.bytes : op.call.send;
}

void post_round(Team& team, Op& op) {
    std::byte* const chunk = team.slice.chunk(team.rank, op.chunks + op.posted);
    if (is_dealt(op.call.collective)) {
        write_dealt(team, op, chunk);
    } else {
        copy_to_shared(way_of_piece(team, op), chunk, given(team, op) + op.posted * op.piece_bytes,
                       round_bytes(op, op.posted));
    }
    publish_round(team, op);
}

const std::byte* piece_of(const Team& team, const Op& op, Rank giver) {
    const std::byte* chunk = team.slice.chunk(giver, op.chunks + op.taken);
    if (!is_dealt(op.call.collective)) return chunk;
    return chunk + cell_index(giver, team.rank) * op.piece_bytes;
}

bool has_begun(Team& team, Op& op, Rank rank) {
    if (!has_published(team, rank, op.events + 1)) return awaits(op, rank);
    return agrees(team, op, rank);
}

namespace {

// Copies the others' pieces of the current round; false where one is not there yet.
bool take_pieces(Team& team, Op& op) {
    const size_t offset = op.taken * op.piece_bytes;
    const size_t capacity = op.capacity != 0 ? op.capacity : op.call.bytes;
    for (; op.next < team.size; ++op.next) {
        const Rank rank = (team.rank + op.next) % team.size;
        if (op.taken == 0 && !has_begun(team, op, rank)) return false;
        if (!has_published(team, rank, op.events + op.taken + 1)) return awaits(op, rank);
        place_result(team, op, op.call.recv + rank * capacity + offset, piece_of(team, op, rank),
                     round_bytes(op, op.taken));
    }
    op.next = 1;
    ++op.taken;
    return true;
}

}  // namespace

void plan_pipeline(const Team& team, Op& op, size_t capacity, size_t unit) {
    const size_t bytes = op.call.bytes;
    const size_t share = (bytes + team.tuning.pieces.count - 1) / team.tuning.pieces.count;
    const size_t wanted = std::max<size_t>(team.tuning.pieces.bytes_min, share);
    const size_t lines = (wanted + kLineBytes - 1) / kLineBytes * kLineBytes;
    op.piece_bytes = std::max(unit, std::min(lines, capacity) / unit * unit);
    op.rounds = (bytes + op.piece_bytes - 1) / op.piece_bytes;
    op.chunks_used = op.rounds;
    op.events_used = op.rounds;
}

void plan_chunk_gather(const Team& team, Op& op) {
    plan_pipeline(team, op, piece_room(team), 1);
    op.next = 1;
}

Step chunk_gather(Team& team, Op& op) {
    if (team.rank != op.call.root) {
        if (!may_post(team, op)) return Step::kBlocked;
        post_round(team, op);
        return op.posted == op.rounds ? finish_large(team, op) : Step::kAdvanced;
    }
    if (op.taken < op.rounds && take_pieces(team, op)) {
        consume(team, op.chunks + op.taken);
        return Step::kAdvanced;
    }
    if (op.taken == 0 && op.next == 1) {
        const Rank first = (team.rank + 1) % team.size;
        if (adopt_size(team, op, first, team.slice.up_slot(first, op.slot))) {
            return Step::kAdvanced;
        }
    }
    if (place_own_piece(team, op, op.call.recv + team.rank * op.call.bytes, op.call.send)) {
        return Step::kAdvanced;
    }
    return op.taken == op.rounds ? finish_large(team, op) : Step::kBlocked;
}

// A chunk holds one piece for each of the others, in rank order without its writer.
void plan_chunk_scatter(const Team& team, Op& op) {
    const size_t wanted = piece_room(team) / (team.size - 1) / kLineBytes * kLineBytes;
    const size_t share = std::max(wanted, kLineBytes);
    TUTTI_ASSERT(share * (team.size - 1) <= team.slice.geometry.chunk_bytes,
                 "a chunk holds a line for every rank");
    plan_pipeline(team, op, share, 1);
}

Step chunk_scatter(Team& team, Op& op) {
    if (team.rank == op.call.root) {
        if (op.posted < op.rounds && may_post(team, op)) {
            post_round(team, op);
            return Step::kAdvanced;
        }
        if (place_own_piece(team, op, op.call.recv, given_to_itself(team, op))) {
            return Step::kAdvanced;
        }
        return op.posted == op.rounds ? finish_large(team, op) : Step::kBlocked;
    }
    const Rank root = op.call.root;
    const bool is_there = op.taken == 0 ? has_begun(team, op, root)
                                        : has_published(team, root, op.events + op.taken + 1);
    if (!is_there) {
        const Slot inbox = team.slice.inbox_slot(team.rank, op.slot, root);
        const bool is_new = op.taken == 0 && adopt_size(team, op, root, inbox);
        return is_new ? Step::kAdvanced : blocked_on(op, root);
    }
    place_result(team, op, op.call.recv + op.taken * op.piece_bytes, piece_of(team, op, root),
                 round_bytes(op, op.taken));
    ++op.taken;
    if (op.taken == op.rounds) return finish_large(team, op);
    consume(team, op.chunks + op.taken);
    return Step::kAdvanced;
}

void plan_chunk_allgather(const Team& team, Op& op) {
    op.piece_bytes = std::min(piece_room(team), op.call.bytes);
    op.rounds = (op.call.bytes + op.piece_bytes - 1) / op.piece_bytes;
    op.chunks_used = op.rounds;
    op.events_used = op.rounds;
    op.next = 1;
}

void plan_chunk_alltoall(const Team& team, Op& op) {
    plan_chunk_scatter(team, op);
    op.next = 1;
}

Step chunk_allgather(Team& team, Op& op) {
    if (op.posted < op.rounds && op.posted <= op.taken + rounds_ahead(team) && may_post(team, op)) {
        post_round(team, op);
        return Step::kAdvanced;
    }
    if (op.taken < op.posted && take_pieces(team, op)) {
        consume(team, op.chunks + op.taken);
        return Step::kAdvanced;
    }
    std::byte* const block = op.call.recv + team.rank * op.call.bytes;
    if (place_own_piece(team, op, block, given_to_itself(team, op))) return Step::kAdvanced;
    return op.taken == op.rounds ? finish_large(team, op) : Step::kBlocked;
}

}  // namespace tutti::node
