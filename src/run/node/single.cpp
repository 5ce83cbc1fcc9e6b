// SPDX-License-Identifier: BSD-3-Clause
// Single copy of broadcast, gather, scatter, allgather and alltoall of more than a slot: each rank
// that needs data reads it where its giver has it (offer.h, peer_memory.h). Crosses once what a
// ring crosses twice, at the cost of a system call.
//
// Nobody is held longer than through rings: a giver whose readers do not come withdraws, puts its
// data into its ring and goes, as far as the ring holds it. So does one whose memory a reader
// cannot read. Such readers go on as the pipeline's do, round by round, over those givers alone.
// Readers who wait for their turn (Tuning::readers_max) are not late. Bases and counters are the
// pipeline's, whichever way the data came.
//
// Bytes moved a rank: n read for each giver; through rings as in bcast.cpp and gather.cpp.
//
// Op.phase: bits, see below. Op.next: the giver that comes next, from 1. Op.line: bytes of its data
// read. Op.posted, Op.taken, Op.placed: rounds written to the own ring, rounds read from rings,
// rounds of the own block copied.
#include <utility>

#include "base/collectives.h"
#include "run/node/offer.h"

namespace tutti::node {
namespace {

enum Phase : uint32_t {
    kIsOpen = 1,       // the own offer stands, or is withdrawn
    kIsOver = 2,       // of the own offer: nobody reads there any more
    kIsClaimed = 4,    // this rank reads what the giver `next` offers
    kHasRead = 8,      // all offers have been read, or were gone
    kIsWithheld = 16,  // nobody is to read what this rank offers
    kIsByGivers = 32   // each says whether to read or to use its ring
};

bool has_one_giver(const Op& op) {
    return op.call.collective == TUTTI_BCAST || op.call.collective == TUTTI_SCATTER;
}
// How many read what this rank offers; 0: it offers nothing. Along a tree whoever has read a
// broadcast offers it to its children.
Rank readers(const Team& team, const Op& op) {
    const bool is_root = team.rank == op.call.root;
    switch (op.call.collective) {
        case TUTTI_BCAST:
            return bcast_readers(team, op);
        case TUTTI_SCATTER:
            return is_root ? team.size - 1 : 0;
        case TUTTI_GATHER:
            return is_root ? 0 : 1;
        default:
            return team.size - 1;
    }
}
bool is_reader(const Team& team, const Op& op) {
    if (!has_root(op.call.collective)) return true;
    return has_one_giver(op) != (team.rank == op.call.root);
}

// Readers begin with their neighbours, so that not all read the same memory at once.
Rank giver_of(const Team& team, const Op& op, Rank index) {
    if (op.call.collective == TUTTI_BCAST) return bcast_source(team, op);
    return has_one_giver(op) ? op.call.root : (team.rank + index) % team.size;
}
Rank givers(const Team& team, const Op& op) { return has_one_giver(op) ? 1 : team.size - 1; }

std::byte* place_of(const Op& op, Rank giver) {
    if (has_one_giver(op)) return op.call.recv;
    return op.call.recv + giver * (op.capacity != 0 ? op.capacity : op.call.bytes);
}

// ---- the giver ----------------------------------------------------------------------------------

// Fruitless polls after which the data goes into the ring: some microseconds, about as long as
// that takes for 64 KiB. Never more, since a rank that waits polls so often without a pause, and
// then yields its processor or sleeps (run/engine/wait.h): a poll may be long from there on. Data
// that does not fit the ring would wait for its readers there as well.
uint64_t patience(const Team& team, const Op& op) {
    constexpr uint64_t kPollsMin = 64;
    constexpr uint64_t kPollsMax = 256;
    constexpr uint64_t kBytesPerPoll = 256;
    const Geometry& geometry = team.slice.geometry;
    if (op.rounds > geometry.chunk_count) return UINT64_MAX;
    // Nobody leaves an alltoall before all have come. Where they share processors, a turn of each
    // passes before that, and blocks in rings would be copied twice.
    const bool is_between = is_between_all(op.call.collective);
    if (is_between && op.call.bytes >= team.tuning.single_once) return UINT64_MAX;
    if (team.single_copy.patience_polls) return *team.single_copy.patience_polls;
    return std::min(kPollsMin + op.call.bytes / kBytesPerPoll, kPollsMax) >>
           team.single_copy.doubts;
}

void end_offer(Team& team, Op& op, bool was_in_vain) {
    constexpr uint32_t kDoubtsMax = 6;
    op.phase |= kIsOver;
    if ((op.phase & kIsWithheld) != 0) return;
    if (was_in_vain) {
        team.single_copy.doubts = std::min(team.single_copy.doubts + 1, kDoubtsMax);
    } else if (team.single_copy.doubts > 0) {
        --team.single_copy.doubts;
    }
}

// True where something was done, or the offer is over now.
bool tend_offer(Team& team, Op& op, Rank all) {
    const uint64_t word = own_offer(team);
    const bool is_refused = (word & kRefused) != 0;
    const bool is_withdrawn = (word & kWithdrawn) != 0;
    if (readers_done(word) == all && !is_refused) {
        end_offer(team, op, is_withdrawn);
        return true;
    }
    if (!is_withdrawn) {
        if (is_refused) withdraw_offer(team);
        return is_refused;
    }
    if (op.posted < op.rounds) {
        if (!may_post(team, op)) return false;
        post_round(team, op);
        return true;
    }
    if (readers_begun(word) != readers_done(word)) return false;
    end_offer(team, op, !is_refused);
    return true;
}

// Where not all may read at once: whether readers come one after the other, so that nobody is known
// to be late. As long as as many read as may, the next one has to wait; it takes its turn some
// polls after that has come. Neither is waited for without end: who reads less than a byte a
// nanosecond has been stopped, and those behind it do better with the ring.
bool is_being_served(const Team& team, Op& op, uint64_t word) {
    constexpr uint64_t kTurnPolls = 32;  // two flags, of 0.3 us at most; a read takes longer
    constexpr uint64_t kReadPollsMin = 256;
    constexpr uint64_t kBytesReadPerPoll = 4;  // a poll takes 4 ns at least
    const bool is_full = readers_now(word) >= team.tuning.readers_max;
    const uint64_t polls = is_full ? kReadPollsMin + op.call.bytes / kBytesReadPerPoll : kTurnPolls;
    if (op.stalled >= std::min(polls, team.single_copy.patience_polls.value_or(polls)))
        return false;
    ++op.stalled;
    return true;
}

// Nothing else could be done. True where the offer was withdrawn, or its readers, of whom there
// will be `all`, have got further.
bool lose_patience(Team& team, Op& op, Rank all) {
    const uint64_t polls = patience(team, op);
    const uint64_t word = own_offer(team);
    if (polls == UINT64_MAX || (word & kWithdrawn) != 0) return false;
    if (readers_begun(word) == all) return false;  // nobody is late
    if (all > team.tuning.readers_max) {
        const uint64_t done = readers_done(word);
        const bool has_more = done != std::exchange(op.served, done);
        if (has_more) op.stalled = 0;
        if (has_more || is_being_served(team, op, word)) return has_more;
    }
    if (op.waited++ < polls) return false;
    withdraw_offer(team);
    return true;
}

// ---- readers ------------------------------------------------------------------------------------

void pass_giver(Team& team, Op& op, Rank giver, bool by_ring) {
    team.single_copy.by_ring[giver] = by_ring ? 1 : 0;
    op.ringed += by_ring ? 1 : 0;
    op.phase &= ~kIsClaimed;
    op.line = 0;
    ++op.next;
}

// Whether the first giver may still say that there is less to be read (agree.cpp).
bool may_adopt(const Op& op) {
    return has_rooted_blocks(op.call.collective) && op.next == 1 && op.capacity == 0;
}
bool adopt_from(Team& team, Op& op, Rank giver) {
    const Slot slot = op.call.collective == TUTTI_GATHER
                          ? team.slice.up_slot(giver, op.slot)
                          : team.slice.inbox_slot(team.rank, op.slot, giver);
    return adopt_size(team, op, giver, slot);
}

// True where this rank reads now what the giver offers, or need not.
bool claim_next(Team& team, Op& op, Rank giver) {
    uint64_t note = 0;
    switch (claim(team, op, giver, note)) {
        case Offered::kNotYet:
            break;
        case Offered::kFull:
            return awaits(op, giver);
        case Offered::kGone:
            if (may_adopt(op)) {
                if (adopt_from(team, op, giver)) return true;
                // What it has sent says how much that was; it is there, or will be.
                if (!has_published(team, giver, op.events + 1)) return awaits(op, giver);
            }
            pass_giver(team, op, giver, true);
            return true;
        case Offered::kOpen:
            op.phase |= kIsClaimed;
            return true;
        case Offered::kDisagrees:
            return may_adopt(op) ? adopt_offered_size(team, op, giver, note)
                                 : disagrees(op, giver, note);
    }
    op.awaited = giver;
    return may_adopt(op) && adopt_from(team, op, giver);
}

// Reads on in what others offer; false where there is nothing to be read yet.
bool read_on(Team& team, Op& op) {
    if (op.next > givers(team, op)) {
        op.phase |= kHasRead;
        op.next = 1;
        // Those who wait for room in their rings need not wait for this rank's end.
        if (op.ringed == 0) consume(team, op.chunks + op.chunks_used);
        return true;
    }
    const Rank giver = giver_of(team, op, op.next);
    if ((op.phase & kIsClaimed) == 0) return claim_next(team, op, giver);
    const size_t skipped = is_dealt(op.call.collective) ? team.rank * op.call.bytes : 0;
    const uint64_t from = team.slice.offer(giver).data + skipped;
    const size_t bytes = std::min<size_t>(kReadBytesMax, op.call.bytes - op.line);
    if (!team.single_copy.peers->read(giver, place_of(op, giver) + op.line, from + op.line,
                                      bytes)) {
        give_back(team, giver);
        pass_giver(team, op, giver, true);
        return true;
    }
    op.line += bytes;
    if (op.line < op.call.bytes) return true;
    release_claim(team, giver);
    pass_giver(team, op, giver, false);
    return true;
}

// The current round of those who have put their data into their rings.
bool take_round(Team& team, Op& op) {
    for (; op.next <= givers(team, op); ++op.next) {
        const Rank giver = giver_of(team, op, op.next);
        if (team.single_copy.by_ring[giver] == 0) continue;
        if (op.taken == 0 && !has_begun(team, op, giver)) return false;
        if (!has_published(team, giver, op.events + op.taken + 1)) return awaits(op, giver);
        place_result(team, op, place_of(op, giver) + op.taken * op.piece_bytes,
                     piece_of(team, op, giver), round_bytes(op, op.taken));
    }
    op.next = 1;
    ++op.taken;
    consume(team, op.chunks + op.taken);
    return true;
}

bool has_taken_all(const Team& team, const Op& op) {
    if (!is_reader(team, op)) return true;
    return (op.phase & kHasRead) != 0 && (op.ringed == 0 || op.taken == op.rounds);
}
bool take_on(Team& team, Op& op) {
    return (op.phase & kHasRead) == 0 ? read_on(team, op) : take_round(team, op);
}

bool place_on(const Team& team, Op& op) {
    const size_t offset = team.rank * op.call.bytes;
    switch (op.call.collective) {
        case TUTTI_BCAST:
            return false;
        case TUTTI_SCATTER:
            return !is_reader(team, op) &&
                   place_own_piece(team, op, op.call.recv, given_to_itself(team, op));
        case TUTTI_GATHER:
            return is_reader(team, op) &&
                   place_own_piece(team, op, op.call.recv + offset, op.call.send);
        default:
            return place_own_piece(team, op, op.call.recv + offset, given_to_itself(team, op));
    }
}

void begin_offer(Team& team, Op& op) {
    const uint64_t state = (op.phase & kIsWithheld) != 0 ? kWithdrawn : 0;
    open_offer(team, op, given(team, op), nullptr, state);
    op.phase |= kIsOpen;
}

}  // namespace

void plan_single_move(const Team& team, Op& op) {
    switch (op.call.collective) {
        case TUTTI_BCAST:
            plan_chunk_bcast(team, op);
            break;
        case TUTTI_GATHER:
            plan_chunk_gather(team, op);
            break;
        case TUTTI_SCATTER:
            plan_chunk_scatter(team, op);
            break;
        case TUTTI_ALLTOALL:
            plan_chunk_alltoall(team, op);
            break;
        default:
            plan_chunk_allgather(team, op);
            break;
    }
    op.next = 1;
}

void let_givers_choose(Op& op, bool withholds) {
    op.phase |= kIsByGivers | (withholds ? kIsWithheld : 0u);
}

bool chose_ring(const Op& op) {
    if (op.step != single_move || (op.phase & kIsByGivers) == 0) return false;
    return (op.phase & kIsWithheld) != 0 || op.ringed > 0;
}

Step give(Team& team, Op& op) {
    if ((op.phase & kIsOpen) == 0) {
        begin_offer(team, op);
        return Step::kAdvanced;
    }
    if (!tend_offer(team, op, 1) && !lose_patience(team, op, 1)) return Step::kBlocked;
    return (op.phase & kIsOver) != 0 ? finish_large(team, op) : Step::kAdvanced;
}

Step single_move(Team& team, Op& op) {
    const Rank all = readers(team, op);
    const bool is_taking = !has_taken_all(team, op);
    const bool has_it = op.call.collective != TUTTI_BCAST || !is_taking;
    if (all > 0 && has_it && (op.phase & kIsOpen) == 0) {
        begin_offer(team, op);
        return Step::kAdvanced;
    }
    const bool is_open = all > 0 && has_it && (op.phase & kIsOver) == 0;
    if (is_open && tend_offer(team, op, all)) return Step::kAdvanced;
    if (is_taking && take_on(team, op)) return Step::kAdvanced;
    if (op.rival == kNoRank && place_on(team, op)) return Step::kAdvanced;
    if (is_open && lose_patience(team, op, all)) return Step::kAdvanced;
    return is_open || is_taking ? Step::kBlocked : finish_large(team, op);
}

}  // namespace tutti::node
