// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/node_algorithms.h"

#include <algorithm>
#include <bit>

#include "base/collectives.h"
#include "run/node/detail.h"
#include "run/node/node_rows.h"
#include "run/node/offer.h"
#include "run/node/tuner.h"
#include "run/node/vector_layout.h"

namespace tutti::node {
namespace {

// Where ranks have processors of their own, another meeting of all costs less than much moving: an
// allreduce goes in slots as long as all vectors together have so few bytes, or along the tree as
// long as one has so few for each rank, and then directly as long as each reads so few bytes more
// than of shares. Measured with 3 to 16 ranks on 16 cores of an Intel Xeon, see docs/node.md.
constexpr size_t kSlotsBytesMax = 2560;
constexpr size_t kTreeBytesARank = 16;
constexpr size_t kDirectMoreBytesMax = 4096;
// Ranks of one group for which these hold along a tree, too, and a reduce in slots is quicker flat.
constexpr Rank kNearRanksMax = 16;

bool is_one_group(const Team& team) {
    const auto& seats = team.layout.seats;
    return !seats.empty() && seats[0].count == team.size;
}

// Another meeting costs less than much moving. Along a tree static, since it folds in another order
// than the rest, which no measurement may change.
inline bool meets_sooner(const Team& team) {
    if (team.layout.flat) return team.tuning.has_cores;
    return team.size <= kNearRanksMax && is_one_group(team);
}

inline bool is_direct(const Team& team, const Call& call) {
    if (call.bytes > kDirectBytesMax / team.size) return false;
    if (call.bytes > team.slice.geometry.chunk_bytes) return false;
    if (call.collective != TUTTI_ALLREDUCE || !meets_sooner(team)) return true;
    return (team.size - 2) * call.bytes <= kDirectMoreBytesMax;
}

inline bool may_be_single(const Team& team, const Call& call) {
    if (team.bases.call >= kOfferNumberMax || call.bytes <= kInlineBytesMax) return false;
    return call.collective != TUTTI_REDUCE || team.size <= kRootFoldsRanksMax;
}
// As it was measured.
inline bool is_tuned_single(const Team& team, const Call& call) {
    return call.bytes >= single_from(team.tuning, call.collective);
}
// And as the team's own calls have found.
inline bool prefers_single(const Team& team, const Call& call) {
    const bool tuned = is_tuned_single(team, call);
    return team.tuner ? team.tuner->prefers_single(team, call, tuned) : tuned;
}

// Of those that fold in rank order, by whatever was measured: the order is the same.
inline bool beats_rank_order(const Team& team, const Call& call, bool folds_whole) {
    const auto beats = folds_whole ? turns_beat_direct : turns_beat_split;
    return beats(team.layout, team.size, call.bytes);
}

// prefers: a single copy, where that may be.
inline const Algorithm& choose_large(const Team& team, const Call& call, bool prefers) {
    const Row& row = row_of(call.collective);
    const bool is_by_root = row.by_root && team.size <= kRootFoldsRanksMax;
    if (row.turns && row.turns->obstacle(team, call).empty()) {
        const bool folds_whole = is_by_root || (row.direct && is_direct(team, call));
        if (beats_rank_order(team, call, folds_whole)) return *row.turns;
    }
    if (row.single && prefers && may_be_single(team, call)) return *row.single;
    if (row.direct && is_direct(team, call)) return *row.direct;
    return is_by_root ? *row.by_root : *row.large;
}

bool is_along_tree(const Team& team, const Call& call, const Row& row) {
    if (team.layout.flat || row.tree == nullptr) return false;
    if (row.tree_folds && (team.rank_order || call.reducer.user_fn != nullptr)) return false;
    const bool is_quicker_flat =
        call.collective == TUTTI_REDUCE && team.size <= kNearRanksMax && is_one_group(team);
    return !is_quicker_flat;
}

// Bytes up to which a call goes in slots.
size_t slots_max(const Team& team, const Call& call) {
    const size_t most = team.slice.geometry.inline_max;
    const Row& row = row_of(call.collective);
    if (row.slot_holds == SlotHolds::kAll) return most / team.size;
    if (row.slot_holds == SlotHolds::kOthers) return most / std::max(team.size - 1, 1u);
    const bool is_special = call.is_signal || call.reducer.user_fn != nullptr;
    if (call.collective != TUTTI_ALLREDUCE || is_special || !meets_sooner(team)) return most;
    const bool is_tree = is_along_tree(team, call, row);
    return std::min(most, is_tree ? kTreeBytesARank * team.size : kSlotsBytesMax / team.size);
}

bool fits_slots(const Team& team, const Call& call) {
    if (!call.blocks || row_of(call.collective).slot_holds != SlotHolds::kAll) {
        return call.bytes <= slots_max(team, call);
    }
    return scattered_bytes(team, call) <= team.slice.geometry.inline_max;
}

// A barrier has no bytes.
const Algorithm& choose(const Team& team, const Call& call) {
    if (team.size == 1) return alone();
    const Row& row = row_of(call.collective);
    if (!fits_slots(team, call)) {
        return choose_large(team, call, prefers_single(team, call));
    }
    if (is_along_tree(team, call, row)) return *row.tree;
    return call.is_signal ? *row.signal : *row.small;
}

// The word of the call, as a flag (with `size`) and as a note (with `bytes`). What the ranks may
// differ in, where `tolerates`, is no part of the history. On the path of every call: few
// instructions, as docs/node.md counts them.
inline void sign(Team& team, Op& op, uint64_t size, uint64_t bytes) {
    constexpr uint64_t kMix = 0x9e3779b97f4a7c15u;
    const Call& call = op.call;
    const uint64_t number = ++team.bases.call;
    const uint64_t kind = pack_kind(call.collective, call.root);
    const uint64_t hash = (team.bases.history + kind) * kMix;
    team.bases.history = std::rotl(hash, 32) + (has_rooted_blocks(call.collective) ? 0 : bytes);
    op.number = number;
    op.flag = pack_flag(number, size, hash);
    op.slot = team.slice.geometry.slot_place(number);
    op.note = team.bases.whole != 0 ? CallNote::renumber(team.bases.whole, number)
                                    : CallNote::pack(number, kind, bytes);
    team.own_notes[number & team.slice.geometry.note_mask].store(op.note,
                                                                 std::memory_order_release);
}

inline void begin(Op& op, StepFunction step) {
    op.step = step;
    static_cast<Progress&>(op) = Progress{};
}

inline void start_in_slots(Team& team, Op& op, StepFunction step) {
    begin(op, step);
    sign(team, op, op.call.bytes, op.call.bytes);
}

void start_planned(Team& team, Op& op, const Algorithm& algorithm) {
    begin(op, algorithm.step);
    static_cast<Rounds&>(op) = Rounds{};
    sign(team, op, std::min(op.call.bytes, kSizeMax), std::min(op.call.bytes, CallNote::kBytesMax));
    op.events = team.bases.events;
    op.chunks = team.bases.chunks;
    op.is_past_caches = goes_past_caches(team, op);
    algorithm.plan(team, op);
    team.bases.events += op.events_used;
    team.bases.chunks += op.chunks_used;
}

// named: nullptr where the tuning, and contests, choose.
void start_large(Team& team, Op& op, const Algorithm* named) {
    team.is_timed = false;  // a call that became a short one has not ended it
    if (named) return start_planned(team, op, *named);
    const bool tuned = is_tuned_single(team, op.call);
    if (!team.tuner) return start_planned(team, op, choose_large(team, op.call, tuned));
    if (team.tuner->lets_givers_choose(team, op.call) && may_be_single(team, op.call)) {
        start_planned(team, op, *row_of(op.call.collective).single);
        const bool is_root = team.rank == op.call.root;
        const bool is_giver = is_root == (op.call.collective == TUTTI_SCATTER);
        let_givers_choose(op, is_giver && !team.tuner->enter(team, op.call, tuned));
    } else {
        const bool prefers = team.tuner->enter(team, op.call, tuned);
        start_planned(team, op, choose_large(team, op.call, prefers));
    }
    try_past_caches(team, op);
}

// Before the call itself: what others see of this rank is what it does for the tuner.
Step look_first(Team& team, Op& op) {
    Tuner& tuner = *team.tuner;
    const Step step = tuner.step(team);
    Op& look = tuner.op();
    static_cast<Progress&>(op) = look;
    static_cast<Rounds&>(op) = look;
    op.number = look.number;
    op.flag = look.flag;
    op.slot = look.slot;
    op.note = look.note;
    op.rival_note = look.rival_note;
    look.awaited = kNoRank;  // told once, as whoever watches this rank wants it
    if (step != Step::kDone) return step;
    start_large(team, op, tuner.named());
    return Step::kAdvanced;
}

void start_in_chunks(Team& team, Op& op, const Algorithm* named) {
    const bool may_look = team.tuner && op.call.bytes > kInlineBytesMax;
    if (!may_look || !team.tuner->is_due(team, op.call)) return start_large(team, op, named);
    team.tuner->begin(op.call, named);
    begin(op, look_first);
    static_cast<Rounds&>(op) = Rounds{};
}

// Of a call under way, whose step may have changed since its start (agree.cpp).
const Algorithm& running(const Op& op) {
    const Row& row = row_of(op.call.collective);
    for (const Algorithm* one :
         {row.small, row.tree, row.direct, row.large, row.turns, row.single}) {
        if (one && one->step == op.step) return *one;
    }
    return alone();
}

}  // namespace

void choose_small(Team& team) {
    Call call;
    for (size_t i = 0; i < team.small.step.size(); ++i) {
        call.collective = static_cast<tutti_collective>(i);
        const Algorithm& algorithm = choose(team, call);
        TUTTI_ASSERT(algorithm.plan == nullptr, "short calls go in slots");
        team.small.step[i] = algorithm.step;
        // One step of a slot that holds all blocks goes on in chunks by itself.
        const bool goes_on = row_of(call.collective).slot_holds == SlotHolds::kAll;
        team.small.bytes_max[i] =
            static_cast<uint32_t>(goes_on ? team.slice.geometry.inline_max : slots_max(team, call));
    }
}

void start(Team& team, Op& op, const Algorithm& algorithm) {
    TUTTI_ASSERT(op.call.root < team.size, "root within the team");
    algorithm.plan ? start_in_chunks(team, op, &algorithm)
                   : start_in_slots(team, op, algorithm.step);
}

namespace {
[[gnu::noinline]] void start_special(Team& team, Op& op) {
    const Algorithm& algorithm = choose(team, op.call);
    algorithm.plan ? start_in_chunks(team, op, nullptr) : start_in_slots(team, op, algorithm.step);
}
}  // namespace

// On the path of every call: most are short.
void start(Team& team, Op& op) {
    const Call& call = op.call;
    TUTTI_ASSERT(call.root < team.size, "root within the team");
    if (call.is_signal || call.reducer.user_fn) return start_special(team, op);
    if (call.bytes > team.small.bytes_max[call.collective] && team.size > 1) {
        return start_in_chunks(team, op, nullptr);
    }
    start_in_slots(team, op, team.small.step[call.collective]);
}

void start_letters(Team& team, Op& op) { start_in_slots(team, op, nullptr); }

void pass(Team& team, const Call& call) {
    Op op;
    op.call = call;
    sign(team, op, 0, 0);
    finish_small(team, op);
}

const char* algorithm_name(const Team& team, const Call& call) { return choose(team, call).name; }
const char* algorithm_name(const Op& op) {
    if (chose_ring(op)) return row_of(op.call.collective).large->name;
    return op.step ? running(op).name : "none";
}

const Algorithm& chosen(const Team& team, const Call& call) { return choose(team, call); }

std::vector<const Algorithm*> algorithms(tutti_collective collective) {
    const Row& row = row_of(collective);
    std::vector<const Algorithm*> all;
    for (const Algorithm* one :
         {row.small, row.tree, row.direct, row.large, row.turns, row.single}) {
        // One may be for all sizes.
        if (one && std::ranges::find(all, one) == all.end()) all.push_back(one);
    }
    return all;
}

const Algorithm* find(tutti_collective collective, std::string_view name) {
    for (const Algorithm* one : algorithms(collective)) {
        if (one->name == name) return one;
    }
    return nullptr;
}

Op planned(const Team& team, const Call& call, const Algorithm& algorithm) {
    Op op;
    op.call = call;
    op.step = algorithm.step;
    if (algorithm.plan) algorithm.plan(team, op);
    return op;
}

bool waits_for_all(const Op& op) { return running(op).wakes == Wakes::kAll; }

bool may_await(const Team& team, const Op& op, Rank other) {
    if (op.call.root == team.rank || op.call.root == other) return true;
    // It may be its turn to read when any other reader is done.
    const bool may_be_read = op.step == single_move || moves_blocks(op);
    if (may_be_read && team.tuning.readers_max != kAllReaders) return true;
    const Wakes wakes = running(op).wakes;
    return wakes != Wakes::kRoot && !(wakes == Wakes::kRootIfFlat && team.layout.flat);
}

}  // namespace tutti::node
