// SPDX-License-Identifier: BSD-3-Clause
// Small calls on a tree over shared caches, NUMA domains and sockets (Layout): a line is read by
// one parent on the way up and by a handful of children on the way down, whatever the size of the
// node.
//
// The tree is the same for every root: a root that is not the tree's hands its payload to the
// tree's root, by way of its landing (broadcast), or takes the result from there (reduce).
//
// Op.phase: 0 collecting the children, 1 waiting for the result. Op.next: 0 before our own payload
// is taken, then the number of the child, from 1. Of a broadcast, from its first step on: whether
// this rank hands it on, and whom it reads.
#include "run/node/detail.h"

namespace tutti::node {
namespace {

bool is_tree_root(const Team& team) { return team.rank == team.layout.root; }

// Folds the children's partial results onto our own, in ascending order: the same on every call.
bool collect_children(Team& team, Op& op) {
    const auto& children = tree_of(team, op).children[team.rank];
    if (op.next == 0) {
        copy_bytes(result_space(team), op.call.vector(), op.call.bytes);
        op.next = 1;
    }
    for (; op.next <= children.size(); ++op.next) {
        const Rank child = children[op.next - 1];
        const Slot slot = team.slice.up_slot(child, op.slot);
        const std::byte* payload =
            take_payload(payload_space(team), slot, op.flag, op.call.bytes, op.line);
        if (!payload) return awaits(op, child);
        if (op.call.bytes == 0) continue;
        fold_onto(team, op.call.reducer, result_space(team), result_space(team), payload,
                  op.call.bytes);
    }
    return true;
}

Step pass_down(Team& team, Op& op, const std::byte* result) {
    if (!tree_of(team, op).children[team.rank].empty()) {
        write_slot(op, team.slice.down_slot(team.rank, op.slot), result, op.call.bytes);
    }
    return finish_small_synchronized(team, op);
}

// A reduction with one receiver: it reads where the tree's root wrote.
Step reduce_result(Team& team, Op& op) {
    if (is_tree_root(team)) {
        if (team.rank == op.call.root) {
            copy_bytes(op.call.recv, result_space(team), op.call.bytes);
        } else {
            write_slot(op, team.slice.down_slot(team.rank, op.slot), result_space(team),
                       op.call.bytes);
        }
        return finish_small(team, op);
    }
    if (team.rank != op.call.root) return finish_small(team, op);
    const Slot slot = team.slice.down_slot(team.layout.root, op.slot);
    if (!take_slot(op.call.recv, slot, op.flag, op.call.bytes, op.line)) return Step::kBlocked;
    return finish_small(team, op);
}

}  // namespace

Step tree_reduce(Team& team, Op& op) {
    if (op.phase == 0) {
        if (!collect_children(team, op)) return Step::kBlocked;
        if (!may_write(team, op, op.call.bytes)) return Step::kBlocked;
        if (!is_tree_root(team)) {
            write_slot(op, team.slice.up_slot(team.rank, op.slot), result_space(team),
                       op.call.bytes);
        }
        op.phase = 1;
    }
    if (op.call.collective == TUTTI_REDUCE) return reduce_result(team, op);
    if (is_tree_root(team)) {
        copy_bytes(op.call.recv, result_space(team), op.call.bytes);
        return pass_down(team, op, result_space(team));
    }
    const Slot slot = team.slice.down_slot(tree_of(team, op).parent[team.rank], op.slot);
    const std::byte* result =
        take_payload(payload_space(team), slot, op.flag, op.call.bytes, op.line);
    if (!result) return Step::kBlocked;
    copy_bytes(op.call.recv, result, op.call.bytes);
    return pass_down(team, op, result);
}

// Who reads whom: bcast.cpp. A rank has one slot for all of its readers.
Step tree_bcast(Team& team, Op& op) {
    enum : uint32_t { kUnknown, kTakes, kHandsOn };
    if (op.phase == kUnknown) {
        op.phase = bcast_readers(team, op) > 0 ? kHandsOn : kTakes;
        op.next = bcast_source(team, op);
    }
    const bool hands_on = op.phase == kHandsOn;
    if (hands_on && !may_write(team, op, op.call.bytes)) return Step::kBlocked;
    if (team.rank != op.call.root) {
        const Slot slot = team.slice.down_slot(op.next, op.slot);
        if (!take_slot(op.call.recv, slot, op.flag, op.call.bytes, op.line)) {
            return Step::kBlocked;
        }
    }
    if (hands_on) {
        write_slot(op, team.slice.down_slot(team.rank, op.slot), op.call.recv, op.call.bytes);
    }
    return finish_small(team, op);
}

}  // namespace tutti::node
