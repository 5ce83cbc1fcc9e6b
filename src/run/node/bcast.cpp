// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of more than a slot: the root copies piece by piece into its ring of chunks, the others
// copy out behind it. On a tree an inner rank copies each piece on into its own ring.
//
// On a tree the root's payload goes to its landing first, from there to the tree's root, and down
// the tree. Where two sockets are told apart, the landing is in the root's, so that nothing crosses
// the link between them twice.
//
// Bytes moved a rank: n in and n out at the root's and inner ranks' rings, n out elsewhere.
// Op.posted, Op.taken: rounds written to the own ring, rounds read from the source's.
#include "run/node/detail.h"

namespace tutti::node {
namespace {

// Who reads this rank besides children; kNoRank: nobody. The root is read by the landing, and that
// by the tree's root.
Rank extra_reader(const Team& team, const Op& op, Rank landing) {
    const Layout& layout = team.layout;
    if (team.rank == landing) return landing == layout.root ? kNoRank : layout.root;
    return team.rank == op.call.root ? landing : kNoRank;
}

bool reads_parent(const Op& op, Rank child, Rank landing) {
    return child != op.call.root && child != landing;
}

}  // namespace

Rank bcast_source(const Team& team, const Op& op) {
    const Layout& layout = team.layout;
    if (layout.flat) return op.call.root;
    const Rank from = landing(layout, op.call.root);
    if (team.rank == from) return op.call.root;
    return team.rank == layout.root ? from : tree_of(team, op).parent[team.rank];
}

Rank bcast_extra_reader(const Team& team, const Op& op) {
    if (team.layout.flat) return kNoRank;
    return extra_reader(team, op, landing(team.layout, op.call.root));
}

Rank bcast_readers(const Team& team, const Op& op) {
    if (team.layout.flat) return team.rank == op.call.root ? team.size - 1 : 0;
    const Rank from = landing(team.layout, op.call.root);
    Rank readers = extra_reader(team, op, from) == kNoRank ? 0 : 1;
    for (const Rank child : tree_of(team, op).children[team.rank]) {
        if (reads_parent(op, child, from)) ++readers;
    }
    return readers;
}

bool bcast_consumed(Team& team, const Op& op, uint64_t target) {
    if (team.layout.flat) return all_consumed(team, target);
    const Rank from = landing(team.layout, op.call.root);
    for (const Rank child : tree_of(team, op).children[team.rank]) {
        if (reads_parent(op, child, from) && !consumed_by(team, child, target)) return false;
    }
    const Rank extra = extra_reader(team, op, from);
    return extra == kNoRank || consumed_by(team, extra, target);
}

void plan_chunk_bcast(const Team& team, Op& op) { plan_pipeline(team, op, piece_room(team), 1); }

Step chunk_bcast(Team& team, Op& op) {
    const bool is_root = team.rank == op.call.root;
    const uint64_t round = is_root ? op.posted : op.taken;
    const bool has_readers = bcast_readers(team, op) > 0;
    if (has_readers && !may_post(team, op)) return Step::kBlocked;
    if (is_root) {
        post_round(team, op);
        return op.posted == op.rounds ? finish_large(team, op) : Step::kAdvanced;
    }
    const Rank source = bcast_source(team, op);
    if (!has_published(team, source, op.events + round + 1)) return blocked_on(op, source);
    if (round == 0 && !agrees(team, op, source)) return Step::kBlocked;
    place_result(team, op, op.call.recv + round * op.piece_bytes,
                 team.slice.chunk(source, op.chunks + round), round_bytes(op, round));
    if (has_readers) post_round(team, op);
    ++op.taken;
    if (op.taken == op.rounds) return finish_large(team, op);
    consume(team, op.chunks + op.taken);
    return Step::kAdvanced;
}

}  // namespace tutti::node
