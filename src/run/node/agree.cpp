// SPDX-License-Identifier: BSD-3-Clause
// Ranks that do not run the same call: those whose sizes may differ go on, the others are found
// out.
//
// A gather may send less than its root has room for, a scatter less than its receivers have. What
// is sent decides: the root of the gather, or the receiver of the scatter, takes the size from the
// sender's flag or note and goes on as if it had been its own, so the counters of all ranks stay
// the same. Senders of a gather that differ among themselves can be served where all their payloads
// fit in slots, which have no counters.
#include "base/collectives.h"
#include "run/node/detail.h"
#include "run/node/offer.h"
#include "run/node/vector_offers.h"

namespace tutti::node {
namespace {

bool may_tolerate(const Team& team, const Op& op) { return team.tolerates && !op.call.is_whole; }

bool is_gather_root(const Team& team, const Op& op) {
    return op.call.collective == TUTTI_GATHER && team.rank == op.call.root;
}

// The call goes on as one of `bytes`, of the same number. is_offered: the sender lets it be read.
void become(Team& team, Op& op, size_t bytes, bool is_offered) {
    if (is_gather_root(team, op)) {
        op.capacity = op.call.bytes;
        if (op.call.send) {
            copy_bytes(op.call.recv + team.rank * op.capacity, op.call.send, op.capacity);
        }
        op.call.send = nullptr;
    }
    op.call.bytes = bytes;
    op.note = CallNote::of(op.number, op.call.collective, op.call.root, bytes).pack();
    op.flag = with_size(op.flag, bytes);
    op.is_past_caches = goes_past_caches(team, op);
    team.is_timed = false;
    op.next = 0;
    op.events_used = op.chunks_used = 0;
    const bool is_gather = op.call.collective == TUTTI_GATHER;
    if (bytes <= team.slice.geometry.inline_max) {
        op.step = is_gather ? small_gather : small_scatter;
    } else {
        const StepFunction pipeline = is_gather ? chunk_gather : chunk_scatter;
        op.step = is_offered ? single_move : pipeline;
        plan_single_move(team, op);  // as the pipeline's
    }
    team.bases.events = op.events + op.events_used;
    team.bases.chunks = op.chunks + op.chunks_used;
}

// Of a rank that has published: whether it offered its data first.
bool has_offered(const Team& team, const Op& op, Rank rank) {
    const uint64_t word = team.slice.offer(rank).state.load(std::memory_order_acquire);
    return op.step == single_move && offer_number(word) >= op.number;
}

// Whether a call of that other rank, of the same number, may go on beside this rank's.
bool is_tolerable(const Team& team, const Op& op, Rank other, const CallNote& theirs) {
    const CallNote mine = CallNote::unpack(op.note);
    if (theirs == mine) return true;
    const bool is_block = has_rooted_blocks(static_cast<tutti_collective>(mine.collective));
    const bool is_part = team.bases.whole != 0 &&
                         op.call.collective == static_cast<tutti_collective>(mine.collective);
    const bool has_bytes = mine.bytes > 0 && theirs.bytes > 0;
    if (!is_block || !theirs.is_kind_of(mine)) return false;
    if (!team.tolerates && !(is_part && has_bytes)) return false;
    const bool is_sender = (mine.collective == TUTTI_GATHER) == (other != op.call.root);
    if (team.rank != op.call.root && other != op.call.root) return true;  // the root will know
    if (!is_sender) return theirs.bytes >= mine.bytes;
    if (!team.tolerates) return false;  // whoever runs the whole call may know what to do
    const size_t capacity = op.capacity != 0 ? op.capacity : op.call.bytes;
    if (op.call.is_whole || theirs.bytes > capacity) return false;
    const bool is_small = op.step == small_gather || op.step == small_scatter;
    return is_small ? theirs.bytes <= team.slice.geometry.inline_max
                    : op.taken == 0 && op.capacity == 0;
}

// Whether the note of `rank` in the place of this call's may be another one's: of a call before it,
// which has as low bits in its number, or of a later one.
bool is_note_of_another(const Team& team, const Op& op, Rank rank) {
    const uint64_t done = team.slice.done(rank).calls_done.load(std::memory_order_acquire);
    return done + 1 < op.number || done >= op.number + team.slice.geometry.note_mask;
}

}  // namespace

bool take_less(const Team& team, Op& op, Rank sender, const Slot& slot, std::byte* out,
               size_t capacity) {
    op.awaited = sender;
    const uint64_t there = line_flag(begin_of(slot, op.flag)).load(std::memory_order_acquire);
    if (there == op.flag || !is_same_number(there, op.flag)) return false;
    const size_t bytes = flag_bytes(there);
    if (!may_tolerate(team, op) || !is_same_kind(there, op.flag) || bytes > capacity) {
        return disagrees(op, sender, 0);
    }
    return take_slot(out, slot, there, bytes, op.line);
}

bool adopt_size(Team& team, Op& op, Rank sender, const Slot& slot) {
    if (!may_tolerate(team, op) || op.capacity != 0) return false;
    const CallNote mine = CallNote::unpack(op.note);
    const uint64_t there = line_flag(begin_of(slot, op.flag)).load(std::memory_order_acquire);
    CallNote theirs = mine;
    if (is_same_kind(there, op.flag)) {
        theirs.bytes = flag_bytes(there);
    } else if (has_published(team, sender, op.events + 1)) {
        theirs =
            CallNote::unpack(team.slice.ready(sender).chunk_notes[op.number % kChunkNotes].load(
                std::memory_order_relaxed));
    }
    if (!theirs.is_kind_of(mine) || theirs.bytes >= mine.bytes) return false;
    op.rival = kNoRank;
    become(team, op, theirs.bytes, has_offered(team, op, sender));
    return true;
}

bool adopt_offered_size(Team& team, Op& op, Rank sender, uint64_t note) {
    const CallNote mine = CallNote::unpack(op.note);
    const CallNote theirs = CallNote::unpack(note);
    const bool is_less = theirs.is_kind_of(mine) && theirs.bytes < mine.bytes;
    if (!may_tolerate(team, op) || op.capacity != 0 || !is_less) return disagrees(op, sender, note);
    become(team, op, theirs.bytes, true);
    return true;
}

bool has_finished(const Team& team, const Op& op, Rank other) {
    return team.slice.done(other).calls_done.load(std::memory_order_acquire) >= op.number;
}

Disagreement find_disagreement(const Team& team, const Op& op) {
    tell_cells(team, op);
    const CallNote mine = CallNote::unpack(op.note);
    for (Rank rank = 0; rank < team.size; ++rank) {
        if (rank == team.rank) continue;
        const uint64_t noted = team.slice.note(rank, op.number).load(std::memory_order_acquire);
        if (noted == 0) continue;
        const CallNote theirs = CallNote::unpack(noted);
        if (theirs.number != mine.number || is_tolerable(team, op, rank, theirs)) continue;
        // Calls of no bytes wait for nobody, so ranks may be very far apart.
        if (is_note_of_another(team, op, rank)) continue;
        return {rank, true, theirs};
    }
    if (op.rival != kNoRank) {
        if (op.rival_note == op.note) return {op.rival, false, mine, Disagreement::InLength::kSent};
        // Of a part of a larger call: whoever has written anything in this part has noted its call.
        const NoteWord& noted = team.slice.note(op.rival, op.number);
        const bool is_part = op.rival_note == 0 && team.bases.whole != 0;
        const uint64_t word = is_part ? noted.load(std::memory_order_acquire) : op.rival_note;
        const CallNote theirs = CallNote::unpack(word);
        const bool is_of_this = theirs.number == mine.number || team.bases.whole != 0;
        return {op.rival, word != 0 && is_of_this && !(theirs == mine), theirs};
    }
    using InLength = Disagreement::InLength;
    if (lacks_block(team, op)) return {op.awaited, false, mine, InLength::kSent};
    const PassedOver passed = passed_over(team, op);
    if (passed.rank == kNoRank) return {};
    const InLength taken = passed.is_known ? InLength::kTaken : InLength::kTakenByOne;
    return {passed.rank, false, mine, taken};
}

}  // namespace tutti::node
