// SPDX-License-Identifier: BSD-3-Clause
// The sums follow from the step functions; tests/unit/run/node compares them with what a call
// leaves in the shared memory.
#include "run/node/cost.h"

#include <algorithm>

#include "run/node/detail.h"
#include "run/node/node_algorithms.h"
#include "run/node/vector_layout.h"

namespace tutti::node {
namespace {

uint64_t depth_max(const Tree& tree) {
    uint64_t most = 0;
    for (Rank rank = 0; rank < tree.parent.size(); ++rank) {
        uint64_t depth = 0;
        for (Rank at = rank; tree.parent[at] != kNoRank; at = tree.parent[at]) ++depth;
        most = std::max(most, depth);
    }
    return most;
}

// Of a pipeline a piece, else all of a block.
uint64_t first_piece(const Op& op, uint64_t bytes) {
    return op.rounds > 0 ? std::min<uint64_t>(op.piece_bytes, bytes) : bytes;
}

// How far the last rank is from the root of a broadcast, over its landing and the tree's root.
uint64_t bcast_hops(const Team& team, const Op& op) {
    const Layout& layout = team.layout;
    if (layout.flat) return 1;
    const Rank root = op.call.root;
    const Tree& tree = tree_of(team, op);
    const Rank from = landing(layout, root);
    uint64_t most = 0;
    for (Rank rank = 0; rank < team.size; ++rank) {
        uint64_t hops = 0;
        for (Rank at = rank; at != root; ++hops) {
            const bool is_top = at == layout.root;
            at = at == from ? root : is_top ? from : tree.parent[at];
        }
        most = std::max(most, hops);
    }
    return most;
}

}  // namespace

Cost no_cost(const Team&, const Op&) { return {}; }

Cost tree_reduce_cost(const Team& team, const Op& op) {
    const Call& call = op.call;
    const Tree& tree = tree_of(team, op);
    const uint64_t children = tree.children[team.rank].size();
    const bool is_tree_root = team.rank == team.layout.root;
    const bool is_moved = call.root != team.layout.root;  // the result, from one root to the other
    const uint64_t depth = depth_max(tree);
    Cost cost;
    cost.read_bytes = cost.folded_bytes = children * call.bytes;
    if (children > 0) cost.first_bytes = depth * call.bytes;
    if (call.collective == TUTTI_REDUCE) {
        cost.rounds = depth + (is_moved ? 1 : 0);
        if (!is_tree_root || is_moved) cost.written_bytes = call.bytes;
        if (is_moved && team.rank == call.root) cost.read_bytes += call.bytes;
        return cost;
    }
    cost.rounds = 2 * depth;
    cost.written_bytes = ((is_tree_root ? 0 : 1) + (children > 0 ? 1 : 0)) * call.bytes;
    if (!is_tree_root) cost.read_bytes += call.bytes;
    return cost;
}

Cost bcast_cost(const Team& team, const Op& op) {
    Cost cost;
    const bool is_root = team.rank == op.call.root;
    cost.rounds = bcast_hops(team, op) + (op.rounds > 0 ? op.rounds - 1 : 0);
    cost.written_bytes = bcast_readers(team, op) > 0 ? op.call.bytes : 0;
    cost.read_bytes = is_root ? 0 : op.call.bytes;
    cost.first_bytes = is_root ? 0 : bcast_hops(team, op) * first_piece(op, op.call.bytes);
    return cost;
}

Cost split_cost(const Team& team, const Op& op) {
    const uint64_t share = split_share_bytes(team, op, team.rank);
    const bool is_receiver = op.call.collective == TUTTI_ALLREDUCE || team.rank == op.call.root;
    Cost cost;
    cost.rounds = op.rounds + 1;
    cost.written_bytes = op.call.bytes;  // the others' slices, and the own one when it is folded
    cost.folded_bytes = (team.size - 1) * share;
    cost.read_bytes = cost.folded_bytes + (is_receiver ? op.call.bytes - share : 0);
    cost.own_bytes = is_receiver ? share : 0;
    return cost;
}

Cost turn_cost(const Team& team, const Op& op) {
    const bool is_both = op.call.collective == TUTTI_ALLREDUCE;
    Cost cost;
    bool is_moved = false;  // the result, from a turn's root to the reduction's
    for (Rank turn = 0; turn < op.turns; ++turn) {
        const uint64_t bytes = part_of(op, op.call.bytes, op.turns, turn).bytes;
        const Rank role = role_of(team.layout, team.rank, turn, op.turns);
        const Rank top = actor_of(team.layout, team.layout.root, turn, op.turns);
        const uint64_t children = team.layout.children[role].size();
        const bool is_top = team.rank == top;
        const bool takes = !is_top && (is_both || team.rank == op.call.root);
        const bool is_up_read = !is_top || is_both || team.rank != op.call.root;
        const bool passes_on = is_both && !is_top && children > 0;
        is_moved |= top != op.call.root;
        cost.folded_bytes += children * bytes;
        cost.read_bytes += (children + (takes ? 1 : 0)) * bytes;
        cost.written_bytes += ((is_up_read ? 1 : 0) + (passes_on ? 1 : 0)) * bytes;
    }
    const uint64_t depth = team.layout.depth;
    cost.rounds = (is_both ? 2 * depth : depth + (is_moved ? 1 : 0)) + op.rounds - 1;
    return cost;
}

Cost flat_cost(const Team& team, const Op& op) {
    const uint64_t bytes = op.call.bytes;
    const uint64_t others = (team.size - 1) * bytes;
    const bool is_root = team.rank == op.call.root;
    Cost cost;
    cost.rounds = std::max<uint64_t>(op.rounds, 1);
    switch (op.call.collective) {
        case TUTTI_ALLREDUCE:
        case TUTTI_ALLGATHER:
            cost.written_bytes = bytes;
            cost.read_bytes = others;
            break;
        case TUTTI_ALLTOALL:
            cost.written_bytes = cost.read_bytes = others;
            break;
        case TUTTI_SCATTER:
            (is_root ? cost.written_bytes : cost.read_bytes) = is_root ? others : bytes;
            break;
        default:  // reduce, gather, and a barrier of no bytes
            (is_root ? cost.read_bytes : cost.written_bytes) = is_root ? others : bytes;
            break;
    }
    if (op.call.collective == TUTTI_ALLREDUCE || (op.call.collective == TUTTI_REDUCE && is_root)) {
        cost.folded_bytes = others;
    }
    if (cost.written_bytes == 0) cost.first_bytes = first_piece(op, bytes);
    const bool has_own = has_blocks(op.call.collective) && !is_reduction(op.call.collective);
    if (has_own && (is_root || !has_root(op.call.collective))) cost.own_bytes = bytes;
    return cost;
}

Cost single_cost(const Team& team, const Op& op) {
    const bool is_bcast = op.call.collective == TUTTI_BCAST;
    Cost cost = is_bcast ? bcast_cost(team, op) : flat_cost(team, op);
    cost.rounds = is_bcast ? bcast_hops(team, op) : 1;
    cost.written_bytes = cost.first_bytes = 0;
    return cost;
}

// ---- which of the long reductions ---------------------------------------------------------------
//
// The busiest rank's time, in bytes that it moves: what it reads and writes, and for each flag of
// another rank that it has to see so many more. For lines of a stream are asked for ahead, and a
// flag is not: on the processors of docs/node.md ("What bounds it") 1 to 5 KiB go one way in the
// time of a flag, whether the cores are near or far.

namespace {

constexpr uint64_t kFlagBytes = 2048;
// Pieces as they are where many ranks meet, or shorter: what tuning makes of them decides nothing.
constexpr uint64_t kWeighedPieceMax = 64 * 1024;
constexpr uint64_t kWeighedPieceMin = 2048;
constexpr uint64_t kWeighedPieces = 8;

uint64_t pieces_in(uint64_t bytes, uint64_t piece) { return (bytes + piece - 1) / piece; }

// As many pieces of each share as there are, and the first one's way up and down: at each rank on
// it, the pieces of all children.
uint64_t weigh_turns(const Layout& layout, uint64_t bytes, Rank turns) {
    const uint64_t load = turns == 1 ? layout.load_alone : layout.load_turns;
    const uint64_t share = pieces_in(bytes, turns);
    const uint64_t wanted = std::clamp(bytes / kWeighedPieces, kWeighedPieceMin, kWeighedPieceMax);
    const uint64_t piece = std::min(wanted, share);
    const uint64_t flags = pieces_in(share, piece) * (load + turns);
    const uint64_t way = layout.depth * (layout.children_max + 1);
    return flags * kFlagBytes + 2 * bytes + load * share + way * (kFlagBytes + piece);
}

// In and out, and as much folded.
uint64_t weigh_split(uint64_t others, uint64_t bytes) {
    return 2 * others * pieces_in(bytes, kWeighedPieceMax) * kFlagBytes + 3 * bytes;
}
uint64_t weigh_direct(uint64_t others, uint64_t bytes) {
    return others * pieces_in(bytes, kWeighedPieceMax) * kFlagBytes + (others + 1) * bytes;
}

}  // namespace

Rank turns_for(const Layout& layout, size_t bytes) {
    const Rank most = layout.turns_max;
    return weigh_turns(layout, bytes, most) < weigh_turns(layout, bytes, 1) ? most : 1;
}

bool turns_beat_split(const Layout& layout, Rank ranks, size_t bytes) {
    return weigh_turns(layout, bytes, turns_for(layout, bytes)) < weigh_split(ranks - 1, bytes);
}

bool turns_beat_direct(const Layout& layout, Rank ranks, size_t bytes) {
    return weigh_turns(layout, bytes, turns_for(layout, bytes)) < weigh_direct(ranks - 1, bytes);
}

Cost cost_of(const Team& team, const Call& call, const Algorithm& algorithm) {
    return algorithm.cost(team, planned(team, call, algorithm));
}

Cost cost_of(const Team& team, const Call& call) { return cost_of(team, call, chosen(team, call)); }

Cost blocks_cost(const Team& team, const Op& op) {
    Op planned = op;
    BlockTable table;
    plan_table(team, planned, table);
    Cost cost;
    cost.rounds = std::max<uint64_t>({planned.rounds, planned.to_take, 1});
    const bool is_for_all = op.call.collective == TUTTI_ALLGATHERV;
    size_t longest = 0;
    for_others(team, op, [&](Rank other) {
        const size_t goes = table.given.of(other).bytes;
        const size_t comes = table.taken.of(other).bytes;
        if (!is_offered(table.cells, goes)) {
            cost.written_bytes = is_for_all ? goes : cost.written_bytes + goes;
        }
        cost.read_bytes += comes;
        longest = std::max(longest, comes);
    });
    if (cost.written_bytes == 0 && !is_offered(table.cells, longest)) {
        cost.first_bytes =
            planned.to_take > 0 ? piece_bytes(team, planned.piece_bytes, longest) : longest;
    }
    if (!has_root(op.call.collective) || team.rank == op.call.root) {
        cost.own_bytes = table.given.of(team.rank).bytes;
    }
    return cost;
}

}  // namespace tutti::node
