// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of more than a slot: the root copies piece by piece into its ring of chunks, the others
// copy out behind it. On a tree an inner rank copies each piece on into its own ring.
//
// Bytes moved a rank: n in and n out at the root's and inner ranks' rings, n out elsewhere.
// Op.posted, Op.taken: rounds written to the own ring, rounds read from the source's.
#include "node/detail.h"

namespace tutti::node {
namespace {

// Whom this rank reads: the root is read by its children and, where it is not the tree's root, by
// that too.
Rank source_of(const Team& team, const Op& op) {
    if (team.layout.flat || team.rank == team.layout.root) return op.call.root;
    return team.layout.parent[team.rank];
}

bool has_readers(const Team& team, const Op& op) {
    if (team.rank == op.call.root) return true;
    return !team.layout.flat && !team.layout.children[team.rank].empty();
}

bool readers_consumed(Team& team, const Op& op, uint64_t target) {
    if (team.layout.flat) return all_consumed(team, target);
    for (const Rank child : team.layout.children[team.rank]) {
        if (child != op.call.root && !consumed_by(team, child, target)) return false;
    }
    if (team.rank != op.call.root || team.rank == team.layout.root) return true;
    return consumed_by(team, team.layout.root, target);
}

bool may_write(Team& team, const Op& op, uint64_t round) {
    const uint64_t target = reuse_target(team, op.chunks + round);
    if (round == 0 && !may_note(team, op)) return false;
    return is_reuse_within(team, round) ? readers_consumed(team, op, target)
                                        : all_consumed(team, target);
}

void post(Team& team, Op& op, const std::byte* data, size_t bytes) {
    if (op.posted == 0) note_chunks(team, op);
    copy_to_shared(team.tuning.way, team.slice.chunk(team.rank, op.chunks + op.posted), data,
                   bytes);
    ++op.posted;
    publish(team, op.events + op.posted);
}

}  // namespace

void plan_chunk_bcast(const Team& team, Op& op) { plan_pipeline(team, op, piece_room(team), 1); }

Step chunk_bcast(Team& team, Op& op) {
    const bool is_root = team.rank == op.call.root;
    const uint64_t round = is_root ? op.posted : op.taken;
    const size_t offset = round * op.piece_bytes;
    const size_t bytes = std::min(op.piece_bytes, op.call.bytes - offset);
    if (has_readers(team, op) && !may_write(team, op, round)) return Step::kBlocked;
    if (is_root) {
        post(team, op, op.call.recv + offset, bytes);
        return op.posted == op.rounds ? finish_large(team, op) : Step::kAdvanced;
    }
    const Rank source = source_of(team, op);
    if (!has_published(team, source, op.events + round + 1)) return blocked_on(op, source);
    if (round == 0 && !agrees(team, op, source)) return Step::kBlocked;
    copy_to_user(op.call.recv + offset, team.slice.chunk(source, op.chunks + round), bytes,
                 op.call.bytes);
    if (has_readers(team, op)) post(team, op, op.call.recv + offset, bytes);
    ++op.taken;
    if (op.taken == op.rounds) return finish_large(team, op);
    consume(team, op.chunks + op.taken);
    return Step::kAdvanced;
}

}  // namespace tutti::node
