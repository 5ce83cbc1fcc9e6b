// SPDX-License-Identifier: BSD-3-Clause
// The collectives of one node as state machines: start, then step until done; nothing waits inside.
//
// Every rank of the team starts the same calls in the same order, one after the other. What a rank
// runs depends only on what all of them know alike: collective, root, operator, bytes, and what the
// team was made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/collectives.h"
#include "base/step.h"
#include "run/node/block_table.h"
#include "run/node/chunk_pool.h"
#include "run/node/fold_buffer.h"
#include "run/node/kernels/kernels.h"
#include "run/node/layout.h"
#include "run/node/peer_memory.h"
#include "run/node/reducer.h"
#include "run/node/slice.h"
#include "run/node/tuning.h"
#include "run/node/word.h"
#include "tutti/tutti.h"

namespace tutti::node {

struct Call {
    tutti_collective collective = TUTTI_BARRIER;
    Rank root = 0;
    const std::byte* send = nullptr;  // nullptr: in place (see tutti.h), or not significant
    std::byte* recv = nullptr;
    size_t bytes = 0;  // one block; of blocks whose lengths all know the longest; else 0
    // Of a vector form, see tutti.h; nullptr too where all know that there is nothing to move.
    const tutti_blocks* blocks = nullptr;
    size_t own_bytes = 0;  // of a vector form: this rank's block where a side holds one
    Reducer reducer;
    // A barrier's half, of no bytes: a reduce whose root waits for all others, or a bcast in which
    // all others wait for the root.
    bool is_signal = false;
    // Of a gather or scatter: this rank cannot take less than `bytes` of a block.
    bool is_whole = false;

    // Nothing to move and nobody to wait for, on any rank.
    [[nodiscard]] bool is_empty() const {
        return bytes == 0 && !is_signal && collective != TUTTI_BARRIER && !blocks;
    }
    // The same where ranks may differ in size: a rank that has nothing to send says so.
    [[nodiscard]] bool is_empty_for_all() const {
        return is_empty() && collective != TUTTI_GATHER && collective != TUTTI_SCATTER;
    }

    // This rank's vector or blocks (reductions) and block (allgather), wherever they stand.
    [[nodiscard]] const std::byte* vector() const { return send ? send : recv; }
    [[nodiscard]] const std::byte* block(Rank rank) const {
        return send ? send : recv + rank * bytes;
    }
    // Where the own block of `rank`, which is this one, begins among those of all.
    [[nodiscard]] size_t own_offset(Rank rank) const {
        if (!blocks) return rank * bytes;
        const bool is_received = facts(collective).output.holds == Holds::kAll;
        const uint64_t* offsets = is_received ? blocks->recv_offsets : blocks->send_offsets;
        return offsets ? offsets[rank] : 0;
    }
};

struct Team;
struct Op;
class Tuner;
using StepFunction = Step (*)(Team&, Op&);

// What the next call begins at; the same on all ranks.
struct Bases {
    uint64_t call = 0;
    uint64_t history = 0;  // a hash of what all ranks know alike of the calls so far
    uint64_t whole = 0;    // see take_part(); its number is that of the larger team's call
    uint64_t events = 0;
    uint64_t chunks = 0;
};

// Lower bounds over all others, from the last look at their DoneWords. Only grow.
struct Known {
    uint64_t done = 0;
    uint64_t consumed = 0;
};

// What runs calls of up to so many bytes in slots, by collective, but for users' operators and
// signals. From prepare(), and again after the tuning has changed.
struct SmallCalls {
    std::array<StepFunction, TUTTI_COLLECTIVE_COUNT> step{};
    std::array<uint32_t, TUTTI_COLLECTIVE_COUNT> bytes_max{};
};

// How ranks read in the memory of others, and how long they wait for that.
struct SingleCopy {
    // Of the others, where every member can read in the memory of all; nullptr: no single copy.
    std::shared_ptr<PeerMemory> peers;
    // By rank: whose data of the call in flight comes through its ring, after all (single.cpp).
    std::vector<uint8_t> by_ring;
    // Of this rank alone: how often its last offers were waited for in vain, less those that were
    // not; each halves its patience.
    uint32_t doubts = 0;
    // Instead: 0 where ranks share processors, and for tests; UINT64_MAX: no end to it.
    std::optional<uint64_t> patience_polls;
};

// What a vector form has written into this rank's ring (vector_ring.h).
struct RingCall {
    uint64_t number = 0;   // of the call
    uint64_t base = 0;     // its first chunk, as others count
    uint64_t first = 0;    // the place of its first round
    uint64_t early = 0;    // rounds before those of offered blocks
    uint64_t written = 0;  // rounds
    // The place of a round is its number, as in other calls. (No bool: states of the memory are
    // compared in tests.)
    uint64_t is_by_number = 0;
};
struct BlockRing {
    RingCall before, now;
};

// Where a lean team takes its chunks: from this rank's pool, of all its lean teams, and this one's
// part of it. Other teams have none.
struct LeanChunks {
    std::shared_ptr<ChunkPool> pool;
    ChunkPool::Part* part = nullptr;
};

// How this rank copies what others have written to its user's memory.
struct Copying {
    // A result of so many bytes is written past the caches, where no contest says otherwise
    // (contest.h).
    size_t past_caches_bytes_min = size_t{4} << 20;
    // From prepare() by the best instruction set, where there is none.
    CopyAhead ahead = nullptr;
};

// Memory of this rank alone, from prepare().
struct LocalMemory {
    // Three blocks of kFoldBytes for folding, and two of kInlineBytesMax for payloads of more than
    // one line.
    std::unique_ptr<std::byte[]> scratch;
    std::vector<const std::byte*> operands;   // by rank
    std::shared_ptr<FoldBuffer> fold_buffer;  // prepare() makes one if none was set
};

// What the members agreed on when the team was made, and this rank's own bookkeeping.
struct Team {
    Rank rank = 0;
    Rank size = 1;
    Slice slice;
    Layout layout;
    bool rank_order = false;  // combine in rank order always (TUTTI_REPRODUCIBLE)
    Tuning tuning;
    std::shared_ptr<Tuner> tuner;  // nullptr: the tuning stays as it is
    bool is_timed = false;         // the tuner wants to know when the call in flight is over
    // A gather may send less than its root has room for, and a scatter less than its receivers
    // have: bare hosts run these, and so does a team of one node.
    bool tolerates = true;
    // How far the farthest child is; nothing: not known.
    std::optional<uint32_t> children_distance;
    Bases bases;
    Known known;
    SmallCalls small;
    NoteWord* own_notes = nullptr;  // in the slice
    LeanChunks lean;
    SingleCopy single_copy;
    BlockRing block_ring;
    BlockTable blocks;  // of the vector form in flight
    Copying copying;
    LocalMemory local;
};

// Where a call stands, between polls. Of the first two, each step function says what it keeps
// there.
struct Progress {
    uint32_t phase = 0;
    Rank next = 0;
    uint64_t line = 0;  // lines taken of the slot that is being read
    // The rank whose data was not there when this one last looked; kNoRank: it waits for none, or
    // for room.
    Rank awaited = kNoRank;
    // A rank that is seen to run this call otherwise (see Op::rival_note). This call goes on no
    // more.
    Rank rival = kNoRank;
    // Of the root of a gather whose senders have less than its blocks have room for: the room. Then
    // call.bytes is what they send.
    size_t capacity = 0;
    uint64_t events_used = 0;  // of Rounds; 0 where there are none
    // This rank writes to spare lines, as its slots are not free.
    bool is_spare = false;
    // Memory of `awaited` that was tried can no longer be read, too late: the call cannot end.
    bool is_lost = false;
    // No chunk of the pool may ever come back.
    bool lacks_chunks = false;
};

// The same of a call that goes in rounds, through chunks; without meaning in others, whose start
// leaves this as it was.
struct Rounds {
    uint64_t events = 0;  // where it began, see Bases
    uint64_t chunks = 0;
    size_t piece_bytes = 0;  // bytes of one round, of one block
    uint64_t rounds = 0;
    uint64_t chunks_used = 0;
    uint64_t posted = 0;   // rounds written
    uint64_t taken = 0;    // rounds read
    uint64_t to_take = 0;  // of a vector form; elsewhere as many as `rounds`
    uint64_t placed = 0;   // rounds of the own block copied within the user's memory
    // Of single copy: fruitless polls while the own offer stood, and of how many ranks the data
    // comes through their rings.
    uint64_t waited = 0;
    Rank ringed = 0;
    // Of a reduction whose leaders take turns (leader_turns.cpp): how many. See `lag`.
    Rank turns = 1;
    // Of an offer whose readers come a few at a time: who were done when its giver last looked, and
    // its fruitless polls since one was.
    uint64_t served = 0;
    uint64_t stalled = 0;
    uint64_t lag = 0;             // of leaders in turn: how far down is behind up
    bool is_past_caches = false;  // the result is written past them

    // Member by member: GCC clears the whole by an instruction that takes as long as the rest of a
    // short call's plan.
    void clear_rounds() {
        events = chunks = piece_bytes = rounds = chunks_used = 0;
        posted = taken = to_take = placed = 0;
        waited = ringed = 0;
        turns = 1;
        served = stalled = lag = 0;
        is_past_caches = false;
    }
};

// One call in flight. Plain data: the exhaustive test copies it. The steps do not change `call`,
// but for its bytes where others send less (`tolerates`).
struct Op : Progress, Rounds {
    uint64_t number = 0;      // of the call in its team, from 1
    uint64_t flag = 0;        // of its slot lines, see word.h
    SlotPlace slot;           // of those that go up
    uint64_t note = 0;        // a packed CallNote
    uint64_t rival_note = 0;  // of the rival, where it is known
    StepFunction step = nullptr;
    Call call;
};

// Longer than short ones.
inline bool has_long_rings(const Geometry& geometry) {
    return !geometry.is_lean && geometry.ring_bytes > kShortRingBytes;
}

// Bytes folded at a time, so that the running result stays in the first-level cache.
inline constexpr size_t kFoldBytes = 8192;

// The calls that follow are parts of one of a larger team, of this packed note and after others of
// this hash: ranks that take it for another one disagree in its first part.
inline void take_part(Team& team, uint64_t note, uint64_t before) {
    team.bases.whole = note;
    team.bases.history = before ^ note * 0xbf58476d1ce4e5b9u;
}

// Makes the local parts; slice, rank, size, layout and rank_order must be set.
void prepare(Team& team);
// By the tuning as it is now; prepare() does so, too.
void choose_small(Team& team);

// Begins op.call: chooses the algorithm. Never blocks. No other call of this team may be in flight.
void start(Team& team, Op& op);
inline void start(Team& team, Op& op, const Call& call) {
    op.call = call;
    start(team, op);
}
inline Step step(Team& team, Op& op) { return op.step(team, op); }

// A call in which ranks leave letters for each other (letters.h); op.call says what it is part of.
void start_letters(Team& team, Op& op);

// The name of the algorithm that start() would choose.
const char* algorithm_name(const Team& team, const Call& call);
// Of the one that runs a call, or ran it; "none" where none was started.
const char* algorithm_name(const Op& op);

// True for calls in which every rank waits for all others at once (flat barrier, allreduce,
// allgather, reduce_scatter_block and short alltoall): only the last one's arrival can end
// anybody's wait.
bool waits_for_all(const Op& op);

// Whether the deeds of `other` can end this rank's wait in a blocked operation. False only where it
// is clear whom the rank waits for: in a flat broadcast or scatter, the root.
bool may_await(const Team& team, const Op& op, Rank other);

// A call that moves nothing here: takes a number, and leaves its note. None is under way.
void pass(Team& team, const Call& call);

// Before any other: the call in flight, in which this rank has written nothing that others read,
// nor taken what they have, has not begun. The next one has its number.
void retract(Team& team, const Op& op);

// For a rank that has waited long: with whom it disagrees about the call in flight.
struct Disagreement {
    Rank rank = kNoRank;  // kNoRank: with nobody, as far as can be seen
    bool is_known = false;
    CallNote note;  // of the other rank, where it is known
    // It runs the same call, a vector form.
    enum class InLength : uint8_t {
        kNo,
        kSent,       // it sends this rank another length than that waits for
        kTaken,      // it waits for another length than this rank sends
        kTakenByOne  // the same of it, or of another rank
    };
    InLength in_length = InLength::kNo;
};
Disagreement find_disagreement(const Team& team, const Op& op);
// Whether `other` has finished the call in flight, or a later one.
bool has_finished(const Team& team, const Op& op, Rank other);

// For messages: says to the others that this rank has entered the call in flight.
void announce(Team& team, const Op& op);
// Ranks that are not known to have entered the call.
std::vector<Rank> not_arrived(const Team& team, const Op& op);

}  // namespace tutti::node
