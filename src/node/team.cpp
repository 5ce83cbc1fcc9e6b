// SPDX-License-Identifier: BSD-3-Clause
#include "node/team.h"

#include <algorithm>
#include <bit>

#include "node/detail.h"

namespace tutti::node {
namespace {

// Largest p * n at which every rank folds all vectors itself ("direct"): one synchronization
// instead of two, p times the work. Measured with 2 ranks on 2 cores, see docs/node.md.
constexpr size_t kDirectBytesMax = 32 * 1024;
// Ranks up to which the root of a reduce folds alone: the others only copy, so the split pays only
// when (p - 1) folds take longer than copy in, fold and copy out of a share.
constexpr Rank kRootFoldsRanksMax = 3;

struct Algorithm {
    const char* name;
    StepFunction step;
    void (*plan)(const Team&, Op&);  // nullptr: slots only
    const char* why;                 // for people
};

constexpr const char* kInSlots = "up to 1 KiB: each payload beside its flag, in one hop";
constexpr const char* kInTree = "up to 1 KiB: each payload beside its flag, along the tree";
constexpr const char* kInPieces = "more than 1 KiB: piece by piece through a ring of chunks";
static_assert(kInlineBytesMax == 1024);
constexpr const char* kByRoot = "more than 1 KiB, up to 3 ranks: the root folds alone";
static_assert(kRootFoldsRanksMax == 3);
constexpr const char* kByEverybody =
    "more than 1 KiB, up to 32 KiB of all ranks together: whoever needs the result folds alone";
constexpr const char* kByShares =
    "more than 32 KiB of all ranks together, or than a chunk: each rank folds a share for all";
static_assert(kDirectBytesMax == 32 * 1024);

Step alone(Team& team, Op& op) {
    const bool has_input = op.call.send != nullptr && op.call.recv != nullptr;
    if (has_input && op.call.collective != TUTTI_BCAST) {
        copy_bytes(op.call.recv, op.call.send, op.call.bytes);
    }
    return finish_small(team, op);
}

bool uses_tree(const Team& team) { return !team.layout.flat; }

// Under a tree the partial results of a group are combined first, so it is for operators that
// commute: all predefined ones.
bool may_reduce_in_tree(const Team& team, const Call& call) {
    return uses_tree(team) && !team.rank_order && call.reducer.user_fn == nullptr;
}

constexpr Algorithm kAlone{"alone", alone, nullptr, "one rank"};
constexpr Algorithm kTreeReduce{"tree", tree_reduce, nullptr, kInTree};
constexpr Algorithm kTreeBcast{"tree", tree_bcast, nullptr, kInTree};
constexpr Algorithm kSmallBarrier{"small", small_barrier, nullptr, kInSlots};
constexpr Algorithm kSmallBcast{"small", small_bcast, nullptr, kInSlots};
constexpr Algorithm kSmallReduce{"small", small_reduce, nullptr, kInSlots};
constexpr Algorithm kSmallGather{"small", small_gather, nullptr, kInSlots};
constexpr Algorithm kSmallScatter{"small", small_scatter, nullptr, kInSlots};
constexpr Algorithm kSmallAllgather{"small", small_allgather, nullptr, kInSlots};
constexpr Algorithm kChunkBcast{"pipeline", chunk_bcast, plan_chunk_bcast, kInPieces};
constexpr Algorithm kChunkGather{"pipeline", chunk_gather, plan_chunk_gather, kInPieces};
constexpr Algorithm kChunkScatter{"pipeline", chunk_scatter, plan_chunk_scatter, kInPieces};
constexpr Algorithm kChunkAllgather{"pipeline", chunk_allgather, plan_chunk_allgather, kInPieces};
constexpr Algorithm kDirectReduce{"direct", chunk_reduce, plan_chunk_reduce, kByEverybody};
constexpr Algorithm kRootReduce{"direct", chunk_reduce, plan_chunk_reduce, kByRoot};
constexpr Algorithm kDirectAllreduce{"direct", chunk_allreduce, plan_chunk_allreduce, kByEverybody};
constexpr Algorithm kSplitReduce{"split", split_reduce, plan_split_reduce, kByShares};

inline const Algorithm& choose_small(const Team& team, const Call& call) {
    switch (call.collective) {
        case TUTTI_BARRIER:
            return uses_tree(team) ? kTreeReduce : kSmallBarrier;
        case TUTTI_BCAST:
            return uses_tree(team) ? kTreeBcast : kSmallBcast;
        case TUTTI_REDUCE:
        case TUTTI_ALLREDUCE:
            if (may_reduce_in_tree(team, call)) return kTreeReduce;
            return call.is_signal ? kSmallGather : kSmallReduce;  // a signal: nothing to fold
        case TUTTI_GATHER:
            return kSmallGather;
        case TUTTI_SCATTER:
            return kSmallScatter;
        default:
            return kSmallAllgather;
    }
}

const Algorithm& choose_large(const Team& team, const Call& call) {
    const bool is_direct =
        call.bytes <= kDirectBytesMax / team.size && call.bytes <= team.slice.geometry.chunk_bytes;
    switch (call.collective) {
        case TUTTI_BCAST:
            return kChunkBcast;
        case TUTTI_REDUCE:
            if (is_direct) return kDirectReduce;
            return team.size <= kRootFoldsRanksMax ? kRootReduce : kSplitReduce;
        case TUTTI_ALLREDUCE:
            return is_direct ? kDirectAllreduce : kSplitReduce;
        case TUTTI_GATHER:
            return kChunkGather;
        case TUTTI_SCATTER:
            return kChunkScatter;
        default:
            return kChunkAllgather;
    }
}

inline const Algorithm& choose(const Team& team, const Call& call) {
    if (team.size == 1) return kAlone;
    if (call.collective == TUTTI_BARRIER || call.bytes <= kInlineBytesMax) {
        return choose_small(team, call);
    }
    return choose_large(team, call);
}

// The word of the call, as a flag (with `size`) and as a note (with `bytes`). What the ranks may
// differ in, where `tolerates`, is no part of the history. On the path of every call: few
// instructions, as docs/node.md counts them.
inline void sign(Team& team, Op& op, uint64_t size, uint64_t bytes) {
    constexpr uint64_t kMix = 0x9e3779b97f4a7c15u;
    const Call& call = op.call;
    const uint64_t number = ++team.call;
    const uint64_t kind = pack_kind(call.collective, call.root);
    const uint64_t hash = (team.history + kind) * kMix;
    const bool is_block = call.collective == TUTTI_GATHER || call.collective == TUTTI_SCATTER;
    team.history = std::rotl(hash, 32) + (is_block ? 0 : bytes);
    op.number = number;
    op.flag = pack_flag(number, size, hash);
    op.note = team.whole != 0 ? CallNote::renumber(team.whole, number)
                              : CallNote::pack(number, kind, bytes);
    team.own_notes->notes[number % kNotes].store(op.note, std::memory_order_release);
}

}  // namespace

void prepare(Team& team) {
    TUTTI_ASSERT(team.rank < team.size, "rank within the team");
    TUTTI_ASSERT(team.slice.geometry.ranks == team.size, "geometry of this team");
    team.scratch = std::make_unique<std::byte[]>(kScratchBytes);
    team.copy_way = best_copy_way();
    team.operands.assign(team.size, nullptr);
    team.own_notes = &team.slice.note_words(team.rank);
}

void start(Team& team, Op& op) {
    TUTTI_ASSERT(op.call.root < team.size, "root within the team");
    const Algorithm& algorithm = choose(team, op.call);
    op.step = algorithm.step;
    static_cast<Progress&>(op) = Progress{};
    const uint64_t bytes = op.call.bytes;
    if (!algorithm.plan) return sign(team, op, bytes, bytes);
    static_cast<Rounds&>(op) = Rounds{};
    sign(team, op, std::min(bytes, kSizeMax), std::min(bytes, CallNote::kBytesMax));
    op.events = team.events;
    op.chunks = team.chunks;
    algorithm.plan(team, op);
    team.events += op.events_used;
    team.chunks += op.chunks_used;
}

void pass(Team& team, const Call& call) {
    Op op;
    op.call = call;
    sign(team, op, 0, 0);
    finish_small(team, op);
}

const char* algorithm_name(const Team& team, const Call& call) { return choose(team, call).name; }

Preview preview(const Team& team, const Call& call) {
    const Algorithm& algorithm = choose(team, call);
    Preview result{algorithm.name, algorithm.why, {}};
    result.op.call = call;
    result.op.step = algorithm.step;
    if (algorithm.plan) algorithm.plan(team, result.op);
    return result;
}

bool waits_for_all(const Op& op) {
    if (op.step == small_reduce) return op.call.collective == TUTTI_ALLREDUCE;
    return op.step == small_barrier || op.step == small_allgather || op.step == chunk_allreduce;
}

bool may_await(const Team& team, const Op& op, Rank other) {
    if (op.call.root == team.rank || op.call.root == other) return true;
    const bool is_flat_bcast =
        op.step == small_bcast || (op.step == chunk_bcast && team.layout.flat);
    return !is_flat_bcast && op.step != small_scatter && op.step != chunk_scatter;
}

void announce(Team& team, const Op& op) {
    team.slice.done(team.rank).calls_entered.store(op.number, std::memory_order_relaxed);
}

std::vector<Rank> not_arrived(const Team& team, const Op& op) {
    std::vector<Rank> missing;
    for (Rank rank = 0; rank < team.size; ++rank) {
        if (rank == team.rank) continue;
        const DoneWords& words = team.slice.done(rank);
        const uint64_t entered = std::max(words.calls_entered.load(std::memory_order_relaxed),
                                          words.calls_done.load(std::memory_order_relaxed));
        // A rank that has written its slot has entered, whether it announced itself or not.
        const bool has_slot = is_same_number(
            line_flag(team.slice.up_slot(rank, op.number)).load(std::memory_order_relaxed),
            op.flag);
        const bool has_chunk = op.events_used > 0 && has_published(team, rank, op.events + 1);
        if (entered < op.number && !has_slot && !has_chunk) missing.push_back(rank);
    }
    return missing;
}

}  // namespace tutti::node
