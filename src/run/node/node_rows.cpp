// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/node_rows.h"

#include <array>

#include "base/collectives.h"
#include "run/node/detail.h"

namespace tutti::node {
namespace {

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

Step finish_alone(Team& team, Op& op) {
    if (op.call.blocks && !is_reduction(op.call.collective)) place_own_block(team, op);
    if (op.call.blocks && is_reduction(op.call.collective)) {
        copy_bytes(op.call.recv, op.call.vector(), op.call.own_bytes);
    }
    if (has_lengths(op.call.collective)) return finish_small(team, op);
    const bool has_input = op.call.send != nullptr && op.call.recv != nullptr;
    const bool has_result = is_on(facts(op.call.collective).output.on, 0, 0);
    if (has_input && has_result && op.call.collective != TUTTI_BCAST) {
        copy_bytes(op.call.recv, op.call.send, op.call.bytes);
    }
    return finish_small(team, op);
}

// ---- why one cannot run a call ------------------------------------------------------------------

constexpr std::string_view kByGroups = "folds group by group, TUTTI_REPRODUCIBLE by rank";
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
    const size_t bytes = call.blocks ? scattered_bytes(team, call) : call.bytes * team.size;
    return unless_fits(team, bytes, "holds up to 1 KiB of all blocks");
}

// A slot holds the blocks of all other ranks.
std::string_view unless_dealt_in_slots(const Team& team, const Call& call) {
    return unless_fits(team, call.bytes * (team.size - 1), "holds up to 1 KiB of others' blocks");
}

std::string_view unless_in_tree(const Team& team, const Call& call) {
    if (team.layout.flat) return kNeedsTree;
    return unless_in_slots(team, call);
}

// Under a tree the partial results of a group are combined first, so it is for operators that
// commute: all predefined ones.
std::string_view unless_by_turns(const Team& team, const Call& call) {
    if (team.layout.flat) return kNeedsTree;
    if (team.rank_order) return kByGroups;
    return call.reducer.user_fn ? "folds group by group: predefined operators only"
                                : std::string_view();
}

// In the order of ranks all the same, so it is for any operator.
std::string_view unless_scan_in_groups(const Team& team, const Call& call) {
    if (team.rank_order) return kByGroups;
    return unless_in_slots(team, call);
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
constexpr Algorithm kAlone{"alone", finish_alone, nullptr, no_cost, kSome, "one rank", never};

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

constexpr Algorithm kSmallAlltoall{
    "small",
    small_alltoall,
    nullptr,
    flat_cost,
    kAll,
    "up to 1 KiB of others' blocks: these beside their flags, in one hop",
    unless_dealt_in_slots};
constexpr Algorithm kChunkAlltoall{
    "pipeline",
    chunk_allgather,
    plan_chunk_alltoall,
    flat_cost,
    kSome,
    "more than 1 KiB of others' blocks: piece by piece through a ring of chunks",
    never};
constexpr Algorithm kSingleAlltoall{"single", single_move,   plan_single_move, single_cost,
                                    kSome,    kBySingleCopy, unless_single};
constexpr Algorithm kSmallScan{"small", small_scan, nullptr,        scan_cost,
                               kSome,   kInSlots,   unless_in_slots};
constexpr Algorithm kGroupScan{
    "groups",
    group_scan,
    nullptr,
    group_scan_cost,
    kSome,
    "up to 1 KiB, many ranks: each payload beside its flag, folded group by group",
    unless_scan_in_groups};
constexpr Algorithm kChainScan{
    "chain",   chain_scan, plan_chain_scan,
    scan_cost, kSome,      "more than 1 KiB: piece by piece, each rank folds its own and hands on",
    never};

// Each block by its own length: short ones beside their flags, others through the ring.
constexpr Algorithm blocks_that_wake(Wakes wakes) {
    return {"blocks", move_unplanned_blocks,
            nullptr,  blocks_cost,
            wakes,    "each block by its length: beside its flag, or through a ring of chunks",
            never};
}
constexpr Algorithm kBlocks = blocks_that_wake(kSome);
constexpr Algorithm kBlocksFromRoot = blocks_that_wake(kRoot);
constexpr Algorithm kSmallAllgatherv{"small",  move_unplanned_blocks, nullptr, blocks_cost, kSome,
                                     kInSlots, unless_in_slots};
constexpr Algorithm kChunkAllgatherv{"pipeline",
                                     move_blocks,
                                     plan_blocks,
                                     blocks_cost,
                                     kSome,
                                     "where one has more than 1 KiB: short blocks beside their "
                                     "flags, long ones through a ring of chunks",
                                     never};

// By tutti_collective.
constexpr auto kRows = std::to_array<Row>({
    {&kTreeBarrier, false, &kSmallBarrier, &kSmallBarrier, nullptr, nullptr, nullptr},
    {&kTreeBcast, false, &kSmallBcast, &kSmallBcast, nullptr, nullptr, &kChunkBcast, &kSingleBcast},
    {&kTreeReduce, true, &kSmallReduce, &kSmallGather, &kDirectReduce, &kRootReduce, &kSplitReduce,
     &kSingleReduce, SlotHolds::kOne, &kTurnReduce},
    {&kTreeReduce, true, &kSmallAllreduce, &kSmallGather, &kDirectAllreduce, nullptr, &kSplitReduce,
     &kSingleAllreduce, SlotHolds::kOne, &kTurnReduce},
    {nullptr, false, &kSmallGather, &kSmallGather, nullptr, nullptr, &kChunkGather, &kSingleGather},
    {nullptr, false, &kSmallScatter, &kSmallScatter, nullptr, nullptr, &kChunkScatter,
     &kSingleScatter},
    {nullptr, false, &kSmallAllgather, &kSmallAllgather, nullptr, nullptr, &kChunkAllgather,
     &kSingleAllgather},
    {nullptr, false, &kSmallReduceScatter, &kSmallReduceScatter, nullptr, nullptr,
     &kSplitReduceScatter, nullptr, SlotHolds::kAll},
    {nullptr, false, &kSmallAlltoall, &kSmallAlltoall, nullptr, nullptr, &kChunkAlltoall,
     &kSingleAlltoall, SlotHolds::kOthers},
    {&kGroupScan, true, &kSmallScan, &kSmallScan, nullptr, nullptr, &kChainScan},
    {&kGroupScan, true, &kSmallScan, &kSmallScan, nullptr, nullptr, &kChainScan},
    {nullptr, false, &kBlocks, &kBlocks, nullptr, nullptr, &kBlocks},
    {nullptr, false, &kBlocksFromRoot, &kBlocksFromRoot, nullptr, nullptr, &kBlocksFromRoot},
    {nullptr, false, &kSmallAllgatherv, &kSmallAllgatherv, nullptr, nullptr, &kChunkAllgatherv},
    {nullptr, false, &kBlocks, &kBlocks, nullptr, nullptr, &kBlocks},
    {nullptr, false, &kBlocks, &kBlocks, nullptr, nullptr, &kBlocks},
    {nullptr, false, &kSmallReduceScatter, &kSmallReduceScatter, nullptr, nullptr,
     &kSplitReduceScatter, nullptr, SlotHolds::kAll},
});
static_assert(kRows.size() == TUTTI_COLLECTIVE_COUNT);

}  // namespace

const Row& row_of(tutti_collective collective) { return kRows[collective]; }
const Algorithm& alone() { return kAlone; }

}  // namespace tutti::node
