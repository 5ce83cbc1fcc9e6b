// SPDX-License-Identifier: BSD-3-Clause
// Two ranks of a team alone, for measuring (meter.h): the giver puts a block into its ring, or says
// in no bytes that it is there; the taker copies out behind it. The others are done at once. It has
// a call of the team of its own, with a broadcast's word, so bases and counters are a broadcast's.
//
// Op.posted, Op.taken: rounds written and read. Op.next: the taker; Op.call.root is the giver.
#include "run/node/detail.h"
#include "run/node/node_algorithms.h"

namespace tutti::node {
namespace {

void plan_pair(const Team& team, Op& op) {
    plan_chunk_bcast(team, op);
    if (op.rounds > 0) return;
    op.piece_bytes = 0;
    op.rounds = op.events_used = op.chunks_used = 1;
}

bool may_give(Team& team, const Op& op) {
    TUTTI_ASSERT(team.lean.pool == nullptr, "lean teams measure nothing");
    const uint64_t target = reuse_target(team, op.chunks + op.posted);
    if (is_reuse_within(team, op.posted)) return consumed_by(team, op.next, target);
    return all_consumed(team, target) && (op.posted > 0 || may_note(team, op));
}

Step give_one(Team& team, Op& op) {
    if (!may_give(team, op)) return Step::kBlocked;
    post_round(team, op);
    return op.posted == op.rounds ? finish_large(team, op) : Step::kAdvanced;
}

Step take_one(Team& team, Op& op) {
    const Rank giver = op.call.root;
    if (!has_published(team, giver, op.events + op.taken + 1)) return blocked_on(op, giver);
    if (op.taken == 0 && !agrees(team, op, giver)) return Step::kBlocked;
    place_result(team, op, op.call.recv + op.taken * op.piece_bytes,
                 team.slice.chunk(giver, op.chunks + op.taken), round_bytes(op, op.taken));
    ++op.taken;
    if (op.taken == op.rounds) return finish_large(team, op);
    consume(team, op.chunks + op.taken);
    return Step::kAdvanced;
}

Step pair_move(Team& team, Op& op) {
    if (team.rank == op.call.root) return give_one(team, op);
    return team.rank == op.next ? take_one(team, op) : finish_large(team, op);
}

std::string_view only_by_name(const Team&, const Call&) { return "is for measuring"; }

constexpr Algorithm kPairMove{"pair",       pair_move,      plan_pair,   no_cost,
                              Wakes::kSome, "two measured", only_by_name};

}  // namespace

void start_pair(Team& team, Op& op, std::byte* block, size_t bytes, Rank giver, Rank taker) {
    op.call = Call{};
    op.call.collective = TUTTI_BCAST;
    op.call.root = giver;
    op.call.recv = block;
    op.call.bytes = bytes;
    start(team, op, kPairMove);
    op.next = taker;
}

}  // namespace tutti::node
