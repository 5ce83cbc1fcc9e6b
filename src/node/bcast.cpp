// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of more than a slot: the root copies piece by piece into its ring of chunks, the others
// copy out behind it. On a tree an inner rank copies each piece on into its own ring.
//
// Bytes moved a rank: n in and n out at the root's and inner ranks' rings, n out elsewhere.
// Op.posted, Op.taken: rounds written to the own ring, rounds read from the source's.
#include "node/detail.h"

namespace tutti::node {

// The root is read by its children and, where it is not the tree's root, by that too.
Rank bcast_source(const Team& team, const Op& op) {
    if (team.layout.flat || team.rank == team.layout.root) return op.call.root;
    return team.layout.parent[team.rank];
}

Rank bcast_readers(const Team& team, const Op& op) {
    const bool is_root = team.rank == op.call.root;
    if (team.layout.flat) return is_root ? team.size - 1 : 0;
    Rank readers = is_root && team.rank != team.layout.root ? 1 : 0;
    for (const Rank child : team.layout.children[team.rank]) {
        if (child != op.call.root) ++readers;
    }
    return readers;
}

bool bcast_consumed(Team& team, const Op& op, uint64_t target) {
    if (team.layout.flat) return all_consumed(team, target);
    for (const Rank child : team.layout.children[team.rank]) {
        if (child != op.call.root && !consumed_by(team, child, target)) return false;
    }
    if (team.rank != op.call.root || team.rank == team.layout.root) return true;
    return consumed_by(team, team.layout.root, target);
}

void plan_chunk_bcast(const Team& team, Op& op) { plan_pipeline(team, op, piece_room(team), 1); }

Step chunk_bcast(Team& team, Op& op) {
    const bool is_root = team.rank == op.call.root;
    const uint64_t round = is_root ? op.posted : op.taken;
    const bool has_readers = bcast_readers(team, op) > 0;
    if (has_readers && !may_post(team, op)) return Step::kBlocked;
    if (is_root) {
        post_piece(team, op, op.call.recv);
        return op.posted == op.rounds ? finish_large(team, op) : Step::kAdvanced;
    }
    const Rank source = bcast_source(team, op);
    if (!has_published(team, source, op.events + round + 1)) return blocked_on(op, source);
    if (round == 0 && !agrees(team, op, source)) return Step::kBlocked;
    place_result(team, op, op.call.recv + round * op.piece_bytes,
                 team.slice.chunk(source, op.chunks + round), round_bytes(op, round));
    if (has_readers) post_piece(team, op, op.call.recv);
    ++op.taken;
    if (op.taken == op.rounds) return finish_large(team, op);
    consume(team, op.chunks + op.taken);
    return Step::kAdvanced;
}

}  // namespace tutti::node
