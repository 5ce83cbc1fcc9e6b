// SPDX-License-Identifier: BSD-3-Clause
// The node's collectives, one after the other in the order of their numbers.
#include "base/assert.h"
#include "base/collectives.h"
#include "plan/sched/operation_kinds.h"
#include "run/exec/state.h"

namespace tutti::exec {

using sched::Operation;

node::Call Executor::State::node_call(Ref ref) const {
    const Operation& operation = operation_of(ref);
    node::Call result;
    result.root = operation.peer;
    result.recv = at(ref, operation.to);
    result.send = at(ref, operation.left);
    const bool is_root = node->rank == operation.peer;
    const sched::OperationRow& row = sched::row_of(operation.kind);
    TUTTI_ASSERT(row.collective, "an operation of the node");
    result.collective = *row.collective;
    result.is_signal = sched::has_no_blocks(operation.kind);
    if (result.is_signal) return result;
    result.bytes = sched::node_bytes(operation);
    if (result.collective == TUTTI_REDUCE) result.reducer = context.buffers.reducer();
    // In place, what the root would move to where it is already.
    const size_t own = node->rank * result.bytes;
    const bool is_reduce = result.collective == TUTTI_REDUCE;
    if (!is_root || result.collective == TUTTI_BCAST) return result;
    if (result.collective == TUTTI_SCATTER) {
        if (result.recv == result.send + own) result.recv = nullptr;
    } else if (result.send == result.recv + (is_reduce ? 0 : own)) {
        result.send = nullptr;
    }
    return result;
}

// The root of a gather or scatter moves everybody's block.
void Executor::State::count_node(const node::Call& next) {
    const bool moves_all = has_rooted_blocks(next.collective) && next.root == node->rank;
    ++context.totals.node_operations;
    context.totals.copied_bytes += moves_all ? node->size * next.bytes : next.bytes;
    if (next.collective == TUTTI_REDUCE) context.totals.reduced_bytes += next.bytes;
}

// Starts the next node operation in order, if it is ready. Empty ones are over at once, on all
// members alike.
bool Executor::State::start_node() {
    size_t i = 0;
    while (i < node_ready.size()) {
        const Ref ref = node_ready[i];
        const Operation& operation = operation_of(ref);
        if (operation.order != node_next) {
            ++i;
            continue;
        }
        TUTTI_ASSERT(node != nullptr, "node operations need the node's team");
        node_ready[i] = node_ready.back();
        node_ready.pop_back();
        ++node_next;
        const node::Call next = node_call(ref);
        if (next.is_empty()) {
            complete(ref);
            i = 0;  // The next one may be ready by that.
            continue;
        }
        count_node(next);
        node_busy = true;
        node_ref = ref;
        node::start(*node, node_op, next);
        return true;
    }
    return false;
}

bool Executor::State::step_node() {
    bool has_moved = false;
    while (node_busy || start_node()) {
        const Step step = node::step(*node, node_op);
        if (step == Step::kBlocked) return has_moved;
        has_moved = true;
        if (step == Step::kAdvanced) return true;
        node_busy = false;
        if (node->size > 1) context.is_untouched = false;
        complete(node_ref);
    }
    return has_moved;
}

}  // namespace tutti::exec
