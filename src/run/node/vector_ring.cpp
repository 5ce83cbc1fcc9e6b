// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/vector_ring.h"

namespace tutti::node {
namespace {

// What others say in `chunks_consumed` once they have read the piece that a call has put there.
uint64_t consumed_past(const RingCall& call, uint64_t place) {
    const uint64_t round = place - call.first;
    return call.base + 1 + (round < call.early ? round : kOfferedRound + round - call.early);
}

bool follows(const BlockRing& ring) {
    return ring.now.number == ring.before.number + 1 &&
           ring.now.base == ring.before.base + kRoundsMax;
}

}  // namespace

// The pool of a lean team finds places by their numbers. So do the calls after one that takes less
// of the bases: they wait for as little.
void enter_ring(Team& team, const Op& op, bool tells_places) {
    BlockRing& ring = team.block_ring;
    const bool may_go_on =
        tells_places && !team.slice.geometry.is_lean && op.chunks_used == kRoundsMax;
    ring.before = ring.now;
    ring.now = {op.number, op.chunks, op.chunks, op.rounds, 0, may_go_on ? 0u : 1u};
    if (may_go_on && follows(ring)) ring.now.first = ring.before.first + ring.before.written;
}

uint64_t ring_place(const Team& team, bool is_offered) {
    const RingCall& now = team.block_ring.now;
    return now.first + (is_offered ? (now.is_by_number != 0 ? kOfferedRound : now.early) : 0);
}

// The calls before the last one are not remembered: all have read them when all have begun it.
bool may_write_round(Team& team, Op& op) {
    const BlockRing& ring = team.block_ring;
    if (ring.now.is_by_number != 0) return may_post(team, op);
    const uint64_t place = ring.now.first + ring.now.written;
    const uint64_t count = team.slice.geometry.chunk_count;
    const Rank reader = only_reader(team, op);
    bool may_write = place < count;
    if (!may_write && place - count >= ring.now.first) {
        const uint64_t target = consumed_past(ring.now, place - count);
        may_write =
            reader != kNoRank ? consumed_by(team, reader, target) : all_consumed(team, target);
    } else if (!may_write && ring.now.first == ring.now.base) {
        may_write = all_consumed(team, reuse_target(team, place));
    } else if (!may_write) {
        const bool is_of_before = place - count >= ring.before.first;
        may_write = all_consumed(
            team, is_of_before ? consumed_past(ring.before, place - count) : ring.before.base);
    }
    return may_write && (op.posted > 0 || may_note(team, op));
}

std::byte* next_chunk(Team& team, const Op& op) {
    RingCall& now = team.block_ring.now;
    const uint64_t place = now.is_by_number != 0 ? op.chunks + op.posted : now.first + now.written;
    ++now.written;
    return team.slice.chunk(team.rank, place);
}

}  // namespace tutti::node
