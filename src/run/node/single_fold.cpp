// SPDX-License-Identifier: BSD-3-Clause
// Single copy of reductions of more than a slot: pieces of the others' vectors are read into the
// cache, then folded, in rank order from the left as everywhere.
//
// Reduce: the root folds alone, so it is for few ranks. It reads once all have offered; a vector
// that was withdrawn, or cannot be read, comes through its owner's ring from there on.
//
// Allreduce: each rank folds a share of the vector for all, in its own result; then everybody reads
// the others' shares there. In place that overwrites what others read, but only their own shares of
// it, which they have read before they say that they have folded. What an input may be overwritten
// by must not fail, so all first try to read from all, and say so: where one cannot, the call goes
// through rings, as "split". Nobody withdraws: everybody needs everybody.
//
// Events of a rank: 1 it has tried (whom it could not read, it has refused), 2 its share is folded,
// 3 it has read everything; then those of "split".
//
// Bytes moved a rank: reduce (p - 1) n read by the root; allreduce n (p - 1)/p read twice.
//
// Op.phase: see below. Op.taken (reduce): rounds folded. Op.line (allreduce): bytes of a share
// folded or read. Op.next: the rank that comes next.
#include "run/node/offer.h"

namespace tutti::node {
namespace {

// Read at a time and rank. All of a step's pieces are at most kReadBytesMax, and stay in a
// second-level cache.
constexpr size_t kPieceBytes = 64 * 1024;

// Bytes of one rank's piece, whole elements: of many ranks' large elements one is more than that.
size_t fold_piece_bytes(const Team& team, size_t element) {
    const size_t others = std::max(team.size, 2u) - 1;
    const size_t bytes = std::min(kPieceBytes, kReadBytesMax / others);
    return std::max(bytes / element, size_t{1}) * element;
}

// Room for a piece of every rank; false: no memory.
bool has_room(Team& team) {
    const size_t bytes = fold_piece_bytes(team, 1) + kFoldBytes;  // whatever the element
    return team.local.fold_buffer->reserve(team.size * bytes);
}

// Reads `bytes` at `offset` of every vector that is read (by_ring is 0) into its place, and folds
// all of them to `out`. What of the others stands elsewhere is in team.local.operands already.
// Returns the rank that could not be read, kNoRank where all is done. The caller holds the buffer.
// Begins with the neighbour, so that not all read the same memory at once.
Rank read_and_fold(Team& team, const Op& op, std::byte* out, size_t offset, size_t bytes) {
    team.local.operands[team.rank] = op.call.vector() + offset;
    for (Rank i = 1; i < team.size; ++i) {
        const Rank rank = (team.rank + i) % team.size;
        if (team.single_copy.by_ring[rank] != 0) continue;
        std::byte* const block = team.local.fold_buffer->data() + rank * bytes;
        if (!team.single_copy.peers->read(rank, block, team.slice.offer(rank).data + offset, bytes))
            return rank;
        team.local.operands[rank] = block;
    }
    fold_all(team, op.call.reducer, out, nullptr, bytes);
    return kNoRank;
}

// ---- reduce -------------------------------------------------------------------------------------

enum ReducePhase : uint32_t { kLooking, kFolding };

void take_by_ring(Team& team, Op& op, Rank rank) {
    team.single_copy.by_ring[rank] = 1;
    ++op.ringed;
}

// Nobody is held before all are there.
Step claim_all(Team& team, Op& op) {
    if (op.rival != kNoRank) return Step::kBlocked;  // what was claimed stays so to the end
    for (; op.next < team.size; ++op.next) {
        if (op.next == team.rank) continue;
        if (look_at_offer(team, op, op.next) == Offered::kNotYet) return blocked_on(op, op.next);
    }
    for (Rank rank = 0; rank < team.size; ++rank) {
        team.single_copy.by_ring[rank] = 0;
        if (rank == team.rank) continue;
        uint64_t note = 0;
        const Offered offered = claim(team, op, rank, note);
        TUTTI_ASSERT(offered != Offered::kFull, "the root alone reads");
        if (offered == Offered::kGone) take_by_ring(team, op, rank);
        if (offered == Offered::kDisagrees) {
            disagrees(op, rank, note);
            return Step::kBlocked;
        }
        if (offered == Offered::kOpen && !has_room(team)) {
            give_back(team, rank);
            take_by_ring(team, op, rank);
        }
    }
    op.phase = kFolding;
    op.next = 0;
    return Step::kAdvanced;
}

// Of those whose vectors come through rings, the round that is next.
bool find_round(Team& team, Op& op) {
    for (Rank rank = 0; rank < team.size; ++rank) {
        if (rank == team.rank || team.single_copy.by_ring[rank] == 0) continue;
        if (!has_begun(team, op, rank)) return false;
        if (!has_published(team, rank, op.events + op.taken + 1)) return awaits(op, rank);
        team.local.operands[rank] = team.slice.chunk(rank, op.chunks + op.taken);
    }
    return true;
}

Step fold_on(Team& team, Op& op) {
    if (op.ringed > 0 && !find_round(team, op)) return Step::kBlocked;
    const size_t many = fold_piece_bytes(team, op.call.reducer.element_bytes) / op.piece_bytes;
    const uint64_t rounds = op.ringed > 0 ? 1 : std::max<uint64_t>(many, 1);
    const size_t offset = op.taken * op.piece_bytes;
    const size_t bytes = std::min(rounds * op.piece_bytes, op.call.bytes - offset);
    const FoldBuffer::Hold hold = team.local.fold_buffer->try_hold();
    if (!hold) return Step::kBlocked;
    const Rank unread = read_and_fold(team, op, op.call.recv + offset, offset, bytes);
    if (unread != kNoRank) {
        give_back(team, unread);
        take_by_ring(team, op, unread);
        return Step::kAdvanced;
    }
    op.taken = std::min(op.taken + rounds, op.rounds);
    consume(team, op.chunks + op.taken);
    if (op.taken < op.rounds) return Step::kAdvanced;
    for (Rank rank = 0; rank < team.size; ++rank) {
        if (rank != team.rank && team.single_copy.by_ring[rank] == 0) release_claim(team, rank);
    }
    return finish_large(team, op);
}

// ---- allreduce ----------------------------------------------------------------------------------

enum AllreducePhase : uint32_t { kOffering, kTrying, kHearing, kSharing, kReading, kLeaving };
constexpr uint64_t kTried = 1;
constexpr uint64_t kFolded = 2;
constexpr uint64_t kReadAll = 3;
constexpr uint64_t kEvents = 3;

Step to(Op& op, AllreducePhase phase) {
    op.phase = phase;
    op.next = 0;
    op.line = 0;
    return Step::kAdvanced;
}

bool all_have_come(Team& team, Op& op, uint64_t event) {
    for (; op.next < team.size; ++op.next) {
        if (op.next == team.rank) continue;
        if (!has_published(team, op.next, op.events + event)) return awaits(op, op.next);
    }
    return true;
}

// Both ends of its vector and of its result.
bool can_read(Team& team, const Op& op, Rank rank) {
    const OfferWords& theirs = team.slice.offer(rank);
    for (const uint64_t address : {theirs.data, theirs.result}) {
        for (const size_t offset : {size_t{0}, op.call.bytes - 1}) {
            std::byte tried{};
            if (!team.single_copy.peers->read(rank, &tried, address + offset, 1)) return false;
        }
    }
    return true;
}

Step try_all(Team& team, Op& op) {
    for (; op.next < team.size; ++op.next) {
        team.single_copy.by_ring[op.next] = 0;
        if (op.next == team.rank) continue;
        // It stands until this rank has said that it has read everything.
        if (look_at_offer(team, op, op.next) != Offered::kOpen) return blocked_on(op, op.next);
        const uint64_t note = team.slice.offer(op.next).note;
        if (note != op.note) {
            disagrees(op, op.next, note);
            return Step::kBlocked;
        }
        if (!has_room(team) || !can_read(team, op, op.next)) refuse(team, op.next);
    }
    publish(team, op.events + kTried);
    return to(op, kHearing);
}

// All refusals were made before their ranks' events, and no offer changes before all have been
// here: so all see the same of them.
Step hear_all(Team& team, Op& op) {
    if (!all_have_come(team, op, kTried)) return Step::kBlocked;
    for (Rank rank = 0; rank < team.size; ++rank) {
        const uint64_t word = team.slice.offer(rank).state.load(std::memory_order_acquire);
        if ((word & kRefused) == 0) continue;
        op.events += kEvents;
        op.step = split_reduce;
        return to(op, kOffering);  // phase 0 of "split"
    }
    return to(op, kSharing);
}

Step lose(Op& op, Rank rank) {
    op.is_lost = true;
    return blocked_on(op, rank);
}

Step fold_share(Team& team, Op& op) {
    const Span mine = slice_of(team, op, op.call.bytes, team.rank);
    const size_t bytes =
        std::min(fold_piece_bytes(team, op.call.reducer.element_bytes), mine.bytes - op.line);
    if (bytes > 0) {
        const FoldBuffer::Hold hold = team.local.fold_buffer->try_hold();
        if (!hold) return Step::kBlocked;
        const size_t offset = mine.offset + op.line;
        const Rank unread = read_and_fold(team, op, op.call.recv + offset, offset, bytes);
        if (unread != kNoRank) return lose(op, unread);
        op.line += bytes;
        if (op.line < mine.bytes) return Step::kAdvanced;
    }
    publish(team, op.events + kFolded);
    to(op, kReading);
    op.next = 1;
    return Step::kAdvanced;
}

// The others' shares, beginning with the neighbour's.
Step read_shares(Team& team, Op& op) {
    if (op.next == team.size) {
        publish(team, op.events + kReadAll);
        return to(op, kLeaving);
    }
    const Rank rank = (team.rank + op.next) % team.size;
    if (!has_published(team, rank, op.events + kFolded)) return blocked_on(op, rank);
    const Span theirs = slice_of(team, op, op.call.bytes, rank);
    const size_t offset = theirs.offset + op.line;
    const size_t bytes = std::min(kReadBytesMax, theirs.bytes - op.line);
    const uint64_t from = team.slice.offer(rank).result + offset;
    if (bytes > 0 && !team.single_copy.peers->read(rank, op.call.recv + offset, from, bytes)) {
        return lose(op, rank);
    }
    op.line += bytes;
    if (op.line == theirs.bytes) {
        op.line = 0;
        ++op.next;
    }
    return Step::kAdvanced;
}

}  // namespace

Step single_reduce(Team& team, Op& op) {
    if (team.rank != op.call.root) return give(team, op);
    return op.phase == kLooking ? claim_all(team, op) : fold_on(team, op);
}

void plan_single_reduce(const Team& team, Op& op) {
    const size_t element = op.call.reducer.element_bytes;
    plan_pipeline(team, op, std::min(piece_room(team), fold_piece_bytes(team, element)), element);
}

void plan_single_allreduce(const Team& team, Op& op) {
    plan_split_reduce(team, op);
    op.events_used += kEvents;
}

Step single_allreduce(Team& team, Op& op) {
    if (op.is_lost) return Step::kBlocked;
    switch (op.phase) {
        case kOffering:
            open_offer(team, op, op.call.vector(), op.call.recv);
            return to(op, kTrying);
        case kTrying:
            return try_all(team, op);
        case kHearing:
            return hear_all(team, op);
        case kSharing:
            return fold_share(team, op);
        case kReading:
            return read_shares(team, op);
        default:
            return all_have_come(team, op, kReadAll) ? finish_large(team, op) : Step::kBlocked;
    }
}

Cost single_allreduce_cost(const Team& team, const Op& op) {
    const size_t share = slice_of(team, op, op.call.bytes, team.rank).bytes;
    Cost cost;
    cost.rounds = kEvents + 1;
    cost.folded_bytes = (team.size - 1) * share;
    cost.read_bytes = cost.folded_bytes + op.call.bytes - share;
    return cost;
}

}  // namespace tutti::node
