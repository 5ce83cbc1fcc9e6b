// SPDX-License-Identifier: BSD-3-Clause
// What the step functions share: slots, guards, folding. Inside node/ only.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/assert.h"
#include "base/collectives.h"
#include "run/node/copy.h"
#include "run/node/cost.h"
#include "run/node/node_team.h"

namespace tutti::node {

// ---- slots: payload beside the flag ------------------------------------------------------------

inline size_t slot_lines(size_t bytes) {
    return bytes <= kLinePayloadBytes ? 1 : (bytes + kLinePayloadBytes - 1) / kLinePayloadBytes;
}

inline std::atomic_ref<uint64_t> line_flag(std::byte* line) {
    return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(line + kLinePayloadBytes));
}

// One line's worth. One word is by far the most common payload, and a constant size makes it one
// move.
inline void copy_line(std::byte* out, const std::byte* in, size_t bytes) {
    if (bytes == sizeof(uint64_t)) {
        std::memcpy(out, in, sizeof(uint64_t));
    } else if (bytes >= kLinePayloadBytes) {
        std::memcpy(out, in, kLinePayloadBytes);
    } else if (bytes > 0) {
        std::memcpy(out, in, bytes);
    }
}

// Whether the call with this flag may have been written to a spare line: its number is that of the
// last one, or less, also where numbers have wrapped around meanwhile.
inline bool may_be_spare(const Slot& slot, uint64_t call) {
    const uint64_t number = call >> kNumberShift << kNumberShift;
    const uint64_t last = slot.spare_word->load(std::memory_order_relaxed);
    return static_cast<int64_t>(last - number) >= 0;
}

// Where a payload of the call with this flag begins: in the slot, or, of one line, in the spare
// one, which its writer takes while the slot is not free. Where it is not there, in the slot.
inline std::byte* begin_of(const Slot& slot, uint64_t call) {
    const auto begins = [call](std::byte* line) {
        return is_same_number(line_flag(line).load(std::memory_order_acquire), call);
    };
    const bool is_spare = !begins(slot.lines) && may_be_spare(slot, call) && begins(slot.spare);
    return is_spare ? slot.spare : slot.lines;
}

// The writer's side. Each line is valid by itself, so that the reader's misses overlap the writing.
inline void write_lines(std::byte* slot, uint64_t call, const std::byte* data, size_t bytes) {
    // Lines asked for ahead; measured: 4 to 8 are best for 1 KiB, more crowd out the stores.
    constexpr size_t kAhead = 8;
    const size_t lines = slot_lines(bytes);
    if (lines > 1) prefetch_lines(slot, std::min(lines, kAhead) * kLineBytes);
    for (size_t line = 0; line < lines; ++line) {
        if (line + kAhead < lines) prefetch_for_write(slot + (line + kAhead) * kLineBytes);
        const size_t offset = line * kLinePayloadBytes;
        copy_line(slot + line * kLineBytes, data + offset, bytes - offset);
        line_flag(slot + line * kLineBytes).store(call, std::memory_order_release);
    }
}

// The reader's side, behind the writer: takes the lines that are there, from `line` on, and counts
// it up. True when the whole payload has been taken.
inline bool take_slot(std::byte* out, const Slot& slot, uint64_t call, size_t bytes,
                      uint64_t& line) {
    const size_t lines = slot_lines(bytes);
    for (; line < lines; ++line) {
        std::byte* at = slot.lines + line * kLineBytes;
        if (line_flag(at).load(std::memory_order_acquire) != call) {
            if (lines > 1 || !may_be_spare(slot, call)) return false;
            at = slot.spare;
            if (line_flag(at).load(std::memory_order_acquire) != call) return false;
        }
        const size_t offset = line * kLinePayloadBytes;
        copy_line(out + offset, at, bytes - offset);
    }
    line = 0;
    return true;
}

// The payload as one piece once it is all there, else nullptr: where it was written if it is one
// line, else collected in `space`.
inline const std::byte* take_payload(std::byte* space, const Slot& slot, uint64_t call,
                                     size_t bytes, uint64_t& line) {
    if (bytes > kLinePayloadBytes) {
        return take_slot(space, slot, call, bytes, line) ? space : nullptr;
    }
    const auto is_there = [call](std::byte* at) {
        return line_flag(at).load(std::memory_order_acquire) == call;
    };
    if (is_there(slot.lines)) return slot.lines;
    return may_be_spare(slot, call) && is_there(slot.spare) ? slot.spare : nullptr;
}

// ---- waiting for a rank, and disagreeing with it -----------------------------------------------

// What a step returns where the data of `rank` is not there.
inline bool awaits(Op& op, Rank rank) {
    op.awaited = rank;
    return false;
}
inline Step blocked_on(Op& op, Rank rank) {
    op.awaited = rank;
    return Step::kBlocked;
}
inline bool disagrees(Op& op, Rank rank, uint64_t note) {
    op.rival = rank;
    op.rival_note = note;
    return false;
}
// Of a rank that has published events of this call: it runs the same.
inline bool agrees(const Team& team, Op& op, Rank rank) {
    const uint64_t note =
        team.slice.ready(rank).chunk_notes[op.number % kChunkNotes].load(std::memory_order_relaxed);
    return note == op.note || disagrees(op, rank, note);
}

// A payload of another size than this rank's in `slot`, of a sender that may send less than
// `capacity`. As take_slot().
bool take_less(const Team& team, Op& op, Rank sender, const Slot& slot, std::byte* out,
               size_t capacity);
// The same where this rank waits for chunks, or has found some: from now on the call is one of what
// `sender` sends. False where that is not known yet, or cannot be.
bool adopt_size(Team& team, Op& op, Rank sender, const Slot& slot);
// The same where `sender` has offered what this packed note says.
bool adopt_offered_size(Team& team, Op& op, Rank sender, uint64_t note);

Step tree_bcast(Team& team, Op& op);

// From how many bytes on a block is read in place, as it was measured; kNever: none.
inline uint64_t single_from(const Tuning& tuning, tutti_collective collective) {
    const bool is_scatter = collective == TUTTI_SCATTER || collective == TUTTI_SCATTERV;
    if (is_scatter) return tuning.single_scatter;
    if (is_between_all(collective)) return std::min(tuning.single_all_ways, tuning.single_once);
    return awaits_all(collective) ? tuning.single_all_ways : tuning.single_one_way;
}

// ---- guards: nothing is overwritten before it was read ------------------------------------------

// True when a payload of so many bytes may be written: every other rank has finished the call that
// last used this call's slots, or, of one line, the one that last used its spare lines.
bool may_write_look(Team& team, Op& op, size_t bytes);
inline bool may_write(Team& team, Op& op, size_t bytes) {
    op.is_spare = false;
    return op.number <= team.known.done + team.slice.geometry.slot_mask + 1 ||
           may_write_look(team, op, bytes);
}
// Where may_write().
inline void write_slot(const Op& op, const Slot& slot, const std::byte* data, size_t bytes) {
    write_lines(op.is_spare ? slot.spare : slot.lines, op.flag, data, bytes);
}

bool notes_free_look(Team& team, uint64_t call);

// True when no other rank will read a chunk of ours below `target` (cumulative) again.
bool consumed_look(Team& team, uint64_t target);
inline bool all_consumed(Team& team, uint64_t target) {
    return target <= team.known.consumed || consumed_look(team, target);
}

// Cumulative chunks that must have been consumed before chunk `index` may be written.
inline uint64_t reuse_target(const Team& team, uint64_t index) {
    const uint64_t count = team.slice.geometry.chunk_count;
    return index + 1 > count ? index + 1 - count : 0;
}

inline bool consumed_by(const Team& team, Rank rank, uint64_t target) {
    return team.slice.done(rank).chunks_consumed.load(std::memory_order_acquire) >= target;
}

// Chunks that a rank may be ahead of its readers: half a short ring, so that what it has written is
// in the caches still.
inline uint64_t chunks_ahead(const Team& team) {
    const Geometry& geometry = team.slice.geometry;
    const uint64_t most = std::max<uint64_t>(kShortRingBytes / 2 / geometry.chunk_bytes, 1);
    return std::min(geometry.chunk_count / 2, most);
}

// Of a vector form: blocks that were offered to be read in place, and cannot be, go through the
// ring in rounds from this one on, more than others take (vector_blocks.cpp).
inline constexpr uint64_t kOfferedRound = uint64_t{1} << 26;

// Where each rank reads from all: rounds that it may write ahead of those it has read. One, so that
// the copying goes on while a neighbour is a little late. Where ranks share processors all that the
// ring holds, since each takes a turn of all. A pool would lack places for a round that all await.
inline uint64_t rounds_ahead(const Team& team) {
    const Geometry& geometry = team.slice.geometry;
    return team.tuning.has_cores || geometry.is_lean ? 1 : geometry.chunk_count;
}

// The first chunk_count chunks of a call replace chunks of earlier calls, which anybody may have
// been reading; later ones replace chunks of this call, and then only its own readers matter.
// Rounds from kOfferedRound on are counted anew.
inline bool is_reuse_within(const Team& team, uint64_t round) {
    return round % kOfferedRound >= team.slice.geometry.chunk_count;
}

inline bool has_published(const Team& team, Rank rank, uint64_t event) {
    return team.slice.ready(rank).published.load(std::memory_order_acquire) >= event;
}

inline void publish(Team& team, uint64_t event) {
    team.slice.ready(team.rank).published.store(event, std::memory_order_release);
}

// Before the first event of a call. Overwrites the note of a call that all have finished.
inline bool may_note(Team& team, const Op& op) {
    return op.number <= team.known.done + kChunkNotes || notes_free_look(team, op.number);
}
inline void note_chunks(Team& team, const Op& op) {
    team.slice.ready(team.rank).chunk_notes[op.number % kChunkNotes].store(
        op.note, std::memory_order_relaxed);
}

// The next round of this rank stands in its chunk; of the first one the note goes in front.
inline void publish_round(Team& team, Op& op) {
    if (op.posted == 0) note_chunks(team, op);
    ++op.posted;
    publish(team, op.events + op.posted);
}

// Whether chunk `index`, whose turn it is, has a place: in a ring always. Blocks the rank's call
// for good where that is lost. reader: the only one who will read it; kNoRank: some will.
bool place_chunk(Team& team, Op& op, uint64_t index, Rank reader);
inline bool has_place(Team& team, Op& op, uint64_t index, Rank reader = kNoRank) {
    return team.lean.pool == nullptr || place_chunk(team, op, index, reader);
}

// The tree that a call goes along.
inline const Tree& tree_of(const Team& team, const Op& op) {
    const bool folds_nothing = op.call.collective == TUTTI_BARRIER || op.step == tree_bcast;
    return folds_nothing && team.layout.quick ? *team.layout.quick : team.layout;
}

// Of a broadcast, flat or along the tree (bcast.cpp): whom this rank reads; how many read what it
// hands on, of them one that is no child of it on the tree, or kNoRank; and whether these will read
// no chunk of ours below `target` again.
Rank bcast_source(const Team& team, const Op& op);
Rank bcast_extra_reader(const Team& team, const Op& op);
Rank bcast_readers(const Team& team, const Op& op);
bool bcast_consumed(Team& team, const Op& op, uint64_t target);

// The one rank that reads this rank's ring in this call; kNoRank: several do. Not for the last rank
// of a scan, which nobody reads.
inline Rank only_reader(const Team& team, const Op& op) {
    const tutti_collective kind = op.call.collective;
    if (is_prefix(kind)) return team.rank + 1;
    const bool is_to_root = kind == TUTTI_GATHER || kind == TUTTI_REDUCE || kind == TUTTI_GATHERV;
    return is_to_root ? op.call.root : kNoRank;
}
// Whether the next round of a call may be written into the own ring.
inline bool may_post(Team& team, Op& op) {
    const uint64_t target = reuse_target(team, op.chunks + op.posted);
    const Rank reader = only_reader(team, op);
    bool may_write = false;
    if (!is_reuse_within(team, op.posted)) {
        may_write = all_consumed(team, target);
    } else if (reader != kNoRank) {
        may_write = consumed_by(team, reader, target);
    } else {
        may_write = op.call.collective == TUTTI_BCAST ? bcast_consumed(team, op, target)
                                                      : all_consumed(team, target);
    }
    return may_write && (op.posted > 0 || may_note(team, op)) &&
           has_place(team, op, op.chunks + op.posted, reader);
}

inline void consume(Team& team, uint64_t chunks) {
    team.slice.done(team.rank).chunks_consumed.store(chunks, std::memory_order_release);
}

// Every step function ends with one of these.
inline Step finish_small(Team& team, const Op& op) {
    team.slice.done(team.rank).calls_done.store(op.number, std::memory_order_release);
    return Step::kDone;
}
// For calls in which this rank has heard of all others: they have finished the call before.
inline Step finish_small_synchronized(Team& team, const Op& op) {
    team.known.done = std::max(team.known.done, op.number - 1);
    return finish_small(team, op);
}
// For calls in which this rank has heard of one other: where there are two, that is all.
inline Step finish_small_heard(Team& team, const Op& op) {
    return team.size == 2 ? finish_small_synchronized(team, op) : finish_small(team, op);
}
void end_timed(Team& team);
void try_past_caches(Team& team, Op& op);  // after its plan; where there is a tuner
inline Step finish_large(Team& team, const Op& op) {
    if (team.is_timed) end_timed(team);
    consume(team, op.chunks + op.chunks_used);
    return finish_small(team, op);
}

// ---- folding ----------------------------------------------------------------------------------

// Copies with the common sizes inlined.
inline void copy_bytes(std::byte* out, const std::byte* in, size_t bytes) {
    if (bytes == sizeof(uint64_t)) {
        std::memcpy(out, in, sizeof(uint64_t));
    } else if (bytes > 0 && out != in) {
        std::memcpy(out, in, bytes);
    }
}

// A block of kFoldBytes that folding does not touch, for a result on its way.
inline std::byte* fold_space(const Team& team) { return team.local.scratch.get() + 2 * kFoldBytes; }
// Two blocks of kInlineBytesMax that folding does not touch.
inline std::byte* payload_space(const Team& team) {
    return team.local.scratch.get() + 3 * kFoldBytes;
}
inline std::byte* result_space(const Team& team) { return payload_space(team) + kInlineBytesMax; }
inline constexpr size_t kScratchBytes = 3 * kFoldBytes + 2 * kInlineBytesMax;

// out = accumulated op right; at most kFoldBytes. `out` may be `accumulated`.
void fold_onto(Team& team, const Reducer& reducer, std::byte* out, const std::byte* accumulated,
               const std::byte* right, size_t bytes);

// out = operands[0] op operands[1] op ... (`count` of them, two at least), from the left. `out` may
// be the same memory as one of the operands. bytes is a multiple of the element; any length. Each
// piece is copied to `shared` too while it is in the cache; one of the two may be null. Advances
// the operand pointers.
void fold_first(Team& team, const Reducer& reducer, Rank count, std::byte* out, std::byte* shared,
                size_t bytes);
inline void fold_all(Team& team, const Reducer& reducer, std::byte* out, std::byte* shared,
                     size_t bytes) {
    fold_first(team, reducer, team.size, out, shared, bytes);
}

inline size_t fold_piece(const Reducer& reducer) {
    return kFoldBytes / reducer.element_bytes * reducer.element_bytes;
}

// A call that was begun like a short one is planned now, at the bases that no later call has taken.
template <class Plan>
void plan_now(Team& team, Op& op, Plan plan) {
    team.is_timed = false;
    op.clear_rounds();
    op.events = team.bases.events;
    op.chunks = team.bases.chunks;
    plan(team, op);
    team.bases.events += op.events_used;
    team.bases.chunks += op.chunks_used;
}

// ---- step functions, one file a family -------------------------------------------------------

Step small_barrier(Team& team, Op& op);
Step small_bcast(Team& team, Op& op);
Step small_reduce(Team& team, Op& op);  // and allreduce
Step small_gather(Team& team, Op& op);
Step small_scatter(Team& team, Op& op);
Step small_allgather(Team& team, Op& op);

Step tree_reduce(Team& team, Op& op);  // barrier, reduce, allreduce; tree_bcast is above

Step small_reduce_scatter(Team& team, Op& op);
Step split_reduce_scatter(Team& team, Op& op);

Step single_move(Team& team, Op& op);  // bcast, gather, scatter, allgather, alltoall
Step single_reduce(Team& team, Op& op);
// The side of a call with one reader that lets it read.
Step give(Team& team, Op& op);
Step single_allreduce(Team& team, Op& op);

Step chunk_bcast(Team& team, Op& op);
Step chunk_reduce(Team& team, Op& op);
Step chunk_allreduce(Team& team, Op& op);
Step split_reduce(Team& team, Op& op);  // and allreduce
Step turn_reduce(Team& team, Op& op);   // and allreduce
Step chunk_gather(Team& team, Op& op);
Step chunk_scatter(Team& team, Op& op);
Step chunk_allgather(Team& team, Op& op);  // and alltoall

Step small_alltoall(Team& team, Op& op);
Step move_blocks(Team& team, Op& op);            // vector forms, but for reductions
Step move_unplanned_blocks(Team& team, Op& op);  // the same of a call that was begun as a short one
// The rank that this one waits for has gone on without what this one waits for.
bool lacks_block(const Team& team, const Op& op);
void place_own_block(Team& team, Op& op);  // of one of these, on a team of one rank
inline bool is_exclusive(const Op& op) { return op.call.collective == TUTTI_EXSCAN; }
// Folds the slots of the ranks `from`, from + step ... into `running`, as far as they are there;
// false while some of so many are not. Op.next counts them, and begins at 0.
bool fold_slots(Team& team, Op& op, Rank from, Rank step, Rank count, std::byte* running);
Step small_scan(Team& team, Op& op);  // and exscan
Step group_scan(Team& team, Op& op);  // likewise
Step chain_scan(Team& team, Op& op);  // and exscan

// Measures (pair.cpp): `bytes` from one rank to another; 0: a flag alone.
void start_pair(Team& team, Op& op, std::byte* block, size_t bytes, Rank giver, Rank taker);

// The place of `taker` in the slot, or in a chunk, of a `giver` that has something for each other
// rank: in rank order, without the giver.
inline size_t cell_index(Rank giver, Rank taker) { return taker < giver ? taker : taker - 1; }

// ---- blocks through rings, piece by piece (gather.cpp) ------------------------------------------

// Bytes of a piece at most.
inline size_t piece_room(const Team& team) {
    return std::min<size_t>(team.slice.geometry.chunk_bytes, team.tuning.pieces.bytes_max);
}
inline size_t round_bytes(const Op& op, uint64_t round) {
    return std::min(op.piece_bytes, op.call.bytes - round * op.piece_bytes);
}
// Where this rank has one.
inline size_t result_bytes(const Team& team, const Op& op) {
    const bool has_all = facts(op.call.collective).output.holds == Holds::kAll;
    return op.call.bytes * (has_all ? team.size : 1);
}
// Where no contest says otherwise.
inline bool goes_past_caches(const Team& team, const Op& op) {
    return result_bytes(team, op) >= team.copying.past_caches_bytes_min;
}
// Copies a part of the call's result, which another rank has written, to where it belongs.
inline void place_result(const Team& team, const Op& op, std::byte* out, const std::byte* in,
                         size_t bytes) {
    copy_to_user(team.copying.ahead, out, in, bytes, op.is_past_caches);
}
// Nothing else can be done now: the next piece of this rank's own block goes from `own` to `block`,
// unless it stands there already (in place). True if something was copied.
bool place_own_piece(const Team& team, Op& op, std::byte* block, const std::byte* own);
// What this rank gives to others, where it stands: a block or vector, or a block for each rank.
const std::byte* given(const Team& team, const Op& op);
// Of a rank that is its own giver; nullptr: its block is in its place already.
const std::byte* given_to_itself(const Team& team, const Op& op);
// Writes the next piece of what given() names into this rank's ring; in a scatter or alltoall, one
// piece for each other rank. Only where may_post().
void post_round(Team& team, Op& op);
// The piece for this rank in the current round of what `giver` has put into its ring.
const std::byte* piece_of(const Team& team, const Op& op, Rank giver);
// Whether the first piece of `rank` is there, and is of this call.
bool has_begun(Team& team, Op& op, Rank rank);

// Rounds for a call in which one side writes and the other reads behind it: pieces of `unit`, at
// most `capacity` bytes.
void plan_pipeline(const Team& team, Op& op, size_t capacity, size_t unit);

// Sizes of the rounds of an op; called by start().
void plan_chunk_bcast(const Team& team, Op& op);
void plan_chunk_reduce(const Team& team, Op& op);
void plan_chunk_allreduce(const Team& team, Op& op);
void plan_split_reduce(const Team& team, Op& op);
void plan_turn_reduce(const Team& team, Op& op);
void plan_single_move(const Team& team, Op& op);
// After the plan of a gather or scatter whose givers say how it goes. withholds: this is a giver,
// and its data goes through its ring, as if its readers had come too late.
void let_givers_choose(Op& op, bool withholds);
// Of such a call, as far as this rank knows.
bool chose_ring(const Op& op);
void plan_single_reduce(const Team& team, Op& op);
void plan_single_allreduce(const Team& team, Op& op);
struct Span {
    size_t offset = 0;
    size_t bytes = 0;
};
// Of `parts` equal ones, the last ones shorter: whole elements, whole lines where elements fit
// lines.
Span part_of(const Op& op, size_t bytes, Rank parts, Rank part);
// The part of a piece that `rank` folds for all.
Span slice_of(const Team& team, const Op& op, size_t piece_bytes, Rank rank);
// Bytes of the vector that `rank` folds for all.
size_t split_share_bytes(const Team& team, const Op& op, Rank rank);
void plan_chunk_gather(const Team& team, Op& op);
void plan_chunk_scatter(const Team& team, Op& op);
void plan_chunk_allgather(const Team& team, Op& op);
void plan_chunk_alltoall(const Team& team, Op& op);
// Of a vector form: finds its blocks, and plans the call by them.
void plan_table(const Team& team, Op& op, BlockTable& table);
void plan_blocks(const Team& team, Op& op);  // the same where the table is not needed
void plan_chain_scan(const Team& team, Op& op);

void plan_reduce_scatter(const Team& team, Op& op);
// The vector of a reduce-scatter: the blocks of all ranks.
size_t scattered_bytes(const Team& team, const Call& call);

// What they cost, of team.rank: see run/node/node_algorithms.h.
Cost no_cost(const Team& team, const Op& op);
// One hop: a rank with data writes it, and each rank that needs it reads it.
Cost flat_cost(const Team& team, const Op& op);
Cost bcast_cost(const Team& team, const Op& op);
Cost tree_reduce_cost(const Team& team, const Op& op);
Cost split_cost(const Team& team, const Op& op);
Cost turn_cost(const Team& team, const Op& op);
// One hop: each rank that needs data reads it in place.
Cost single_cost(const Team& team, const Op& op);
Cost single_allreduce_cost(const Team& team, const Op& op);
Cost reduce_scatter_cost(const Team& team, const Op& op);
Cost scan_cost(const Team& team, const Op& op);
Cost group_scan_cost(const Team& team, const Op& op);
Cost blocks_cost(const Team& team, const Op& op);

}  // namespace tutti::node
