// SPDX-License-Identifier: BSD-3-Clause
// The sums follow from the step functions; tests/unit/node compares them with what a call leaves in
// the shared memory.
#include "node/cost.h"

#include <algorithm>

#include "node/algorithms.h"
#include "node/detail.h"

namespace tutti::node {
namespace {

uint64_t depth_of(const Layout& layout, Rank rank) {
    uint64_t depth = 0;
    for (; rank != layout.root; rank = layout.parent[rank]) ++depth;
    return depth;
}

uint64_t depth_max(const Team& team) {
    uint64_t most = 0;
    for (Rank rank = 0; rank < team.size; ++rank) {
        most = std::max(most, depth_of(team.layout, rank));
    }
    return most;
}

// How far the last rank is from the root of a broadcast, over the tree's root.
uint64_t bcast_hops(const Team& team, Rank root) {
    if (team.layout.flat) return 1;
    uint64_t most = 0;
    for (Rank rank = 0; rank < team.size; ++rank) {
        uint64_t hops = 0;
        Rank at = rank;
        for (; at != root && at != team.layout.root; at = team.layout.parent[at]) ++hops;
        most = std::max(most, hops + (at == root ? 0 : 1));
    }
    return most;
}

}  // namespace

Cost no_cost(const Team&, const Op&) { return {}; }

Cost tree_reduce_cost(const Team& team, const Op& op) {
    const Call& call = op.call;
    const uint64_t children = team.layout.children[team.rank].size();
    const bool is_tree_root = team.rank == team.layout.root;
    const bool is_moved = call.root != team.layout.root;  // the result, from one root to the other
    const uint64_t depth = depth_max(team);
    Cost cost;
    cost.read_bytes = cost.folded_bytes = children * call.bytes;
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
    const bool is_root = team.rank == op.call.root;
    const bool has_children = !team.layout.flat && !team.layout.children[team.rank].empty();
    Cost cost;
    cost.rounds = bcast_hops(team, op.call.root) + (op.rounds > 0 ? op.rounds - 1 : 0);
    const bool hands_on = op.rounds > 0 ? bcast_readers(team, op) > 0 : is_root || has_children;
    cost.written_bytes = hands_on ? op.call.bytes : 0;
    // In a slot for the tree's root and in another one for the children.
    const bool is_apart = op.step == tree_bcast && is_root && team.rank != team.layout.root;
    if (is_apart && has_children) cost.written_bytes += op.call.bytes;
    cost.read_bytes = is_root ? 0 : op.call.bytes;
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
    return cost;
}

Cost single_cost(const Team& team, const Op& op) {
    const bool is_bcast = op.call.collective == TUTTI_BCAST;
    Cost cost = is_bcast ? bcast_cost(team, op) : flat_cost(team, op);
    cost.rounds = is_bcast ? bcast_hops(team, op.call.root) : 1;
    cost.written_bytes = 0;
    return cost;
}

Cost cost_of(const Team& team, const Call& call, const Algorithm& algorithm) {
    return algorithm.cost(team, planned(team, call, algorithm));
}

Cost cost_of(const Team& team, const Call& call) { return cost_of(team, call, chosen(team, call)); }

}  // namespace tutti::node
