// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/node_algorithms.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/collectives.h"
#include "run/node/detail.h"
#include "run/node/offer.h"
#include "run/node/tuner.h"

namespace tutti::node {
namespace {

// Largest p * n at which every rank folds all vectors itself ("direct"): one synchronization
// instead of two, p times the work. Measured with 2 ranks on 2 cores, see docs/node.md.
constexpr size_t kDirectBytesMax = 32 * 1024;
// Where ranks have processors of their own, another meeting of all costs less than much moving: an
// allreduce goes in slots as long as all vectors together have so few bytes, or along the tree as
// long as one has so few for each rank, and then directly as long as each reads so few bytes more
// than of shares. Measured with 3 to 16 ranks on 16 cores of an Intel Xeon, see docs/node.md.
constexpr size_t kSlotsBytesMax = 2560;
constexpr size_t kTreeBytesARank = 16;
constexpr size_t kDirectMoreBytesMax = 4096;
// Ranks of one group for which these hold along a tree, too, and a reduce in slots is quicker flat.
constexpr Rank kNearRanksMax = 16;
// Ranks up to which the root of a reduce folds alone: the others only copy, so the split pays only
// when (p - 1) folds take longer than copy in, fold and copy out of a share.
constexpr Rank kRootFoldsRanksMax = 3;

constexpr const char* kInSlots = "up to 1 KiB: each payload beside its flag, in one hop";
constexpr const char* kInTree = "up to 1 KiB: each payload beside its flag, along the tree";
constexpr const char* kInPieces = "more than 1 KiB: piece by piece through a ring of chunks";
static_assert(kInlineBytesMax == 1024);
constexpr const char* kByRoot = "more than 1 KiB, up to 3 ranks: the root folds alone";
static_assert(kRootFoldsRanksMax == 3);
constexpr const char* kByEverybody =
    "more than slots hold, and little in all: each rank that needs the result folds alone";
constexpr const char* kByShares =
    "more than one rank may fold alone, or more than a chunk: each rank folds a share for all";
static_assert(kDirectBytesMax == 32 * 1024);
constexpr const char* kByTurns =
    "more than 1 KiB, where it is cheapest: piece by piece up and down the tree, leaders in turn";
constexpr const char* kBySingleCopy =
    "from the size on at which it measured faster: read in place, copied once";

Step alone(Team& team, Op& op) {
    const bool has_input = op.call.send != nullptr && op.call.recv != nullptr;
    if (has_input && op.call.collective != TUTTI_BCAST) {
        copy_bytes(op.call.recv, op.call.send, op.call.bytes);
    }
    return finish_small(team, op);
}

// ---- why one cannot run a call ------------------------------------------------------------------

constexpr std::string_view kNeedsTree = "needs a tree, and the ranks meet all with all";

std::string_view never(const Team&, const Call&) { return {}; }

// A lean team's slots are shorter.
std::string_view unless_fits(const Team& team, size_t bytes, std::string_view why_not) {
    if (bytes <= team.slice.geometry.inline_max) return {};
    return team.slice.geometry.is_lean ? "holds a line: the communicator is a lean one" : why_not;
}

std::string_view unless_in_slots(const Team& team, const Call& call) {
    return unless_fits(team, call.bytes, "holds up to 1 KiB");
}

// A slot holds the blocks of all ranks.
std::string_view unless_all_in_slots(const Team& team, const Call& call) {
    return unless_fits(team, call.bytes * team.size, "holds up to 1 KiB of all blocks");
}

std::string_view unless_in_tree(const Team& team, const Call& call) {
    if (team.layout.flat) return kNeedsTree;
    return unless_in_slots(team, call);
}

// Under a tree the partial results of a group are combined first, so it is for operators that
// commute: all predefined ones.
std::string_view unless_by_turns(const Team& team, const Call& call) {
    if (team.layout.flat) return kNeedsTree;
    if (team.rank_order) return "folds group by group, TUTTI_REPRODUCIBLE by rank";
    return call.reducer.user_fn ? "folds group by group: predefined operators only"
                                : std::string_view();
}

std::string_view unless_folded_in_tree(const Team& team, const Call& call) {
    const auto why = unless_in_slots(team, call);
    return team.layout.flat || why.empty() ? unless_by_turns(team, call) : why;
}

// The sizes of ranks may differ here, and the root sees by the size where payloads are.
std::string_view unless_in_chunks(const Team& team, const Call& call) {
    if (call.bytes > team.slice.geometry.inline_max) return {};
    return team.slice.geometry.is_lean ? "is for more than a line" : "is for more than 1 KiB";
}

std::string_view unless_one_chunk(const Team& team, const Call& call) {
    return call.bytes > team.slice.geometry.chunk_bytes ? "holds up to a chunk (TUTTI_CHUNK)"
                                                        : std::string_view();
}

std::string_view unless_single(const Team& team, const Call&) {
    const bool has_peers = team.single_copy.peers != nullptr;
    if (!has_peers) return "for ranks that can read each other's memory; a team tries it at first";
    if (team.bases.call >= kOfferNumberMax) return "counts calls up to 2^40";
    return team.size > kReadersMax ? "counts up to 2047 readers" : std::string_view();
}
static_assert(kReadersMax == 2047);
// Sizes may differ, as above.
std::string_view unless_single_blocks(const Team& team, const Call& call) {
    const auto why = unless_in_chunks(team, call);
    return why.empty() ? unless_single(team, call) : why;
}

// ---- the records --------------------------------------------------------------------------------

using enum Wakes;
constexpr Algorithm kAlone{"alone", alone, nullptr, no_cost, kSome, "one rank", never};

constexpr Algorithm kSmallBarrier{"small", small_barrier, nullptr,        flat_cost,
                                  kAll,    kInSlots,      unless_in_slots};
constexpr Algorithm kSmallBcast{"small", small_bcast, nullptr,        bcast_cost,
                                kRoot,   kInSlots,    unless_in_slots};
constexpr Algorithm kSmallReduce{"small", small_reduce, nullptr,        flat_cost,
                                 kSome,   kInSlots,     unless_in_slots};
constexpr Algorithm kSmallAllreduce{"small", small_reduce, nullptr,        flat_cost,
                                    kAll,    kInSlots,     unless_in_slots};
constexpr Algorithm kSmallGather{"small", small_gather, nullptr,        flat_cost,
                                 kSome,   kInSlots,     unless_in_slots};
constexpr Algorithm kSmallScatter{"small", small_scatter, nullptr,        flat_cost,
                                  kRoot,   kInSlots,      unless_in_slots};
constexpr Algorithm kSmallAllgather{"small", small_allgather, nullptr,        flat_cost,
                                    kAll,    kInSlots,        unless_in_slots};
constexpr Algorithm kTreeBarrier{"tree", tree_reduce, nullptr,       tree_reduce_cost,
                                 kSome,  kInTree,     unless_in_tree};
constexpr Algorithm kTreeBcast{"tree", tree_bcast, nullptr,       bcast_cost,
                               kSome,  kInTree,    unless_in_tree};
constexpr Algorithm kTreeReduce{"tree",  tree_reduce,          nullptr, tree_reduce_cost, kSome,
                                kInTree, unless_folded_in_tree};

constexpr Algorithm kChunkBcast{"pipeline", chunk_bcast, plan_chunk_bcast, bcast_cost, kRootIfFlat,
                                kInPieces,  never};
constexpr Algorithm kChunkGather{"pipeline", chunk_gather, plan_chunk_gather, flat_cost,
                                 kSome,      kInPieces,    unless_in_chunks};
constexpr Algorithm kChunkScatter{"pipeline", chunk_scatter, plan_chunk_scatter, flat_cost,
                                  kRoot,      kInPieces,     unless_in_chunks};
constexpr Algorithm kChunkAllgather{
    "pipeline", chunk_allgather, plan_chunk_allgather, flat_cost, kSome, kInPieces, never};
constexpr Algorithm kDirectReduce{"direct",     chunk_reduce, plan_chunk_reduce, flat_cost, kSome,
                                  kByEverybody, never};
// The same, chosen for another reason.
constexpr Algorithm kRootReduce{"direct", chunk_reduce, plan_chunk_reduce, flat_cost, kSome,
                                kByRoot,  never};
constexpr Algorithm kDirectAllreduce{"direct", chunk_allreduce, plan_chunk_allreduce, flat_cost,
                                     kAll,     kByEverybody,    unless_one_chunk};
constexpr Algorithm kSplitReduce{"split",   split_reduce, plan_split_reduce, split_cost, kSome,
                                 kByShares, never};
constexpr Algorithm kTurnReduce{"turns", turn_reduce, plan_turn_reduce, turn_cost,
                                kSome,   kByTurns,    unless_by_turns};

constexpr Algorithm kSingleBcast{"single",    single_move,   plan_single_move, single_cost,
                                 kRootIfFlat, kBySingleCopy, unless_single};
constexpr Algorithm kSingleReduce{"single", single_reduce, plan_single_reduce, single_cost,
                                  kSome,    kBySingleCopy, unless_single};
constexpr Algorithm kSingleAllreduce{
    "single", single_allreduce, plan_single_allreduce, single_allreduce_cost,
    kSome,    kBySingleCopy,    unless_single};
constexpr Algorithm kSingleGather{"single", single_move,   plan_single_move,    single_cost,
                                  kSome,    kBySingleCopy, unless_single_blocks};
constexpr Algorithm kSingleScatter{"single", single_move,   plan_single_move,    single_cost,
                                   kRoot,    kBySingleCopy, unless_single_blocks};
constexpr Algorithm kSingleAllgather{"single", single_move,   plan_single_move, single_cost,
                                     kSome,    kBySingleCopy, unless_single};

constexpr Algorithm kSmallReduceScatter{
    "small",
    small_reduce_scatter,
    nullptr,
    reduce_scatter_cost,
    kAll,
    "up to 1 KiB of all blocks: each vector beside its flag, in one hop",
    unless_all_in_slots};
constexpr Algorithm kSplitReduceScatter{
    "split",
    split_reduce_scatter,
    plan_reduce_scatter,
    reduce_scatter_cost,
    kSome,
    "more than 1 KiB of all blocks: piece by piece, each rank folds its own",
    never};

// ---- which one runs a call ----------------------------------------------------------------------

// Of a collective; nullptr: there is none, the next one runs.
struct Row {
    const Algorithm* tree;     // up to 1 KiB, where there is a tree
    bool tree_folds;           // it is for predefined operators in any order
    const Algorithm* small;    // up to 1 KiB
    const Algorithm* signal;   // the same of a barrier's half, in which nothing is folded
    const Algorithm* direct;   // beyond, few bytes of all ranks together
    const Algorithm* by_root;  // beyond, few ranks
    const Algorithm* large;
    const Algorithm* single = nullptr;  // beyond, where it was measured to win
    bool slot_holds_all = false;        // blocks, not one
    const Algorithm* turns = nullptr;  // beyond, along a tree, where it weighs less than the others
};
// By tutti_collective.
constexpr auto kRows = std::to_array<Row>({
    {&kTreeBarrier, false, &kSmallBarrier, &kSmallBarrier, nullptr, nullptr, nullptr},
    {&kTreeBcast, false, &kSmallBcast, &kSmallBcast, nullptr, nullptr, &kChunkBcast, &kSingleBcast},
    {&kTreeReduce, true, &kSmallReduce, &kSmallGather, &kDirectReduce, &kRootReduce, &kSplitReduce,
     &kSingleReduce, false, &kTurnReduce},
    {&kTreeReduce, true, &kSmallAllreduce, &kSmallGather, &kDirectAllreduce, nullptr, &kSplitReduce,
     &kSingleAllreduce, false, &kTurnReduce},
    {nullptr, false, &kSmallGather, &kSmallGather, nullptr, nullptr, &kChunkGather, &kSingleGather},
    {nullptr, false, &kSmallScatter, &kSmallScatter, nullptr, nullptr, &kChunkScatter,
     &kSingleScatter},
    {nullptr, false, &kSmallAllgather, &kSmallAllgather, nullptr, nullptr, &kChunkAllgather,
     &kSingleAllgather},
    {nullptr, false, &kSmallReduceScatter, &kSmallReduceScatter, nullptr, nullptr,
     &kSplitReduceScatter, nullptr, true},
});
static_assert(kRows.size() == TUTTI_COLLECTIVE_COUNT);

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

inline uint64_t single_from(const Tuning& tuning, tutti_collective collective) {
    if (collective == TUTTI_SCATTER) return tuning.single_scatter;
    const bool is_both_ways = collective == TUTTI_ALLREDUCE || collective == TUTTI_ALLGATHER;
    return is_both_ways ? tuning.single_all_ways : tuning.single_one_way;
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
    const Row& row = kRows[call.collective];
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
    const Row& row = kRows[call.collective];
    if (row.slot_holds_all) return most / team.size;
    const bool is_special = call.is_signal || call.reducer.user_fn != nullptr;
    if (call.collective != TUTTI_ALLREDUCE || is_special || !meets_sooner(team)) return most;
    const bool is_tree = is_along_tree(team, call, row);
    return std::min(most, is_tree ? kTreeBytesARank * team.size : kSlotsBytesMax / team.size);
}

// A barrier has no bytes.
const Algorithm& choose(const Team& team, const Call& call) {
    if (team.size == 1) return kAlone;
    const Row& row = kRows[call.collective];
    if (call.bytes > slots_max(team, call)) {
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
    algorithm.plan(team, op);
    op.is_past_caches = goes_past_caches(team, op);
    team.bases.events += op.events_used;
    team.bases.chunks += op.chunks_used;
}

// named: nullptr where the tuning, and contests, choose.
void start_large(Team& team, Op& op, const Algorithm* named) {
    team.is_timed = false;  // a call that became a short one has not ended it
    if (named) return start_planned(team, op, *named);
    const bool tuned = is_tuned_single(team, op.call);
    if (!team.tuner) return start_planned(team, op, choose_large(team, op.call, tuned));
    if (team.tuner->lets_root_choose(team, op.call) && may_be_single(team, op.call)) {
        start_planned(team, op, kSingleScatter);
        let_root_choose(op, team.rank == op.call.root && !team.tuner->enter(team, op.call, tuned));
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
    const Row& row = kRows[op.call.collective];
    for (const Algorithm* one :
         {row.small, row.tree, row.direct, row.large, row.turns, row.single}) {
        if (one && one->step == op.step) return *one;
    }
    return kAlone;
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
        const bool goes_on = kRows[i].slot_holds_all;
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
    return chose_ring(op) ? kChunkScatter.name : op.step ? running(op).name : "none";
}

const Algorithm& chosen(const Team& team, const Call& call) { return choose(team, call); }

std::vector<const Algorithm*> algorithms(tutti_collective collective) {
    const Row& row = kRows[collective];
    std::vector<const Algorithm*> all{row.small, row.tree,  row.direct,
                                      row.large, row.turns, row.single};
    std::erase(all, nullptr);
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
    if (op.step == single_move && team.tuning.readers_max != kAllReaders) return true;
    const Wakes wakes = running(op).wakes;
    return wakes != Wakes::kRoot && !(wakes == Wakes::kRootIfFlat && team.layout.flat);
}

}  // namespace tutti::node
