// SPDX-License-Identifier: BSD-3-Clause
// The node's collectives, one after the other in the order of their numbers.
#include "base/assert.h"
#include "base/collectives.h"
#include "run/exec/state.h"

namespace tutti::exec {

using sched::Operation;
using sched::OperationKind;

node::Call Executor::State::node_call(const Slot& slot, const Operation& operation) const {
    node::Call result;
    result.root = operation.peer;
    result.recv = at(slot, operation.to);
    result.send = at(slot, operation.left);
    const bool is_root = node->rank == operation.peer;
    switch (operation.kind) {
        case OperationKind::kNodeBcast:
            result.collective = TUTTI_BCAST;
            result.bytes = operation.to.bytes;
            break;
        case OperationKind::kNodeReduce:
            result.collective = TUTTI_REDUCE;
            result.bytes = operation.left.bytes;
            result.reducer = arguments.reducer;
            if (is_root && result.send == result.recv) result.send = nullptr;
            break;
        case OperationKind::kNodeGather:
            result.collective = TUTTI_GATHER;
            result.bytes = operation.left.bytes;
            if (is_root && result.send == result.recv + node->rank * result.bytes) {
                result.send = nullptr;
            }
            break;
        case OperationKind::kNodeScatter:
            result.collective = TUTTI_SCATTER;
            result.bytes = operation.to.bytes;
            if (is_root && result.recv == result.send + node->rank * result.bytes) {
                result.recv = nullptr;
            }
            break;
        case OperationKind::kNodeArrive:
            result.collective = TUTTI_REDUCE;
            result.is_signal = true;
            break;
        case OperationKind::kNodeRelease:
            result.collective = TUTTI_BCAST;
            result.is_signal = true;
            break;
        default:
            TUTTI_ASSERT(false, "an operation of the node");
    }
    return result;
}

// The root of a gather or scatter moves everybody's block.
void Executor::State::count_node(const node::Call& next) {
    const bool moves_all = has_rooted_blocks(next.collective) && next.root == node->rank;
    ++totals.node_operations;
    totals.copied_bytes += moves_all ? node->size * next.bytes : next.bytes;
    if (next.collective == TUTTI_REDUCE) totals.reduced_bytes += next.bytes;
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
        const node::Call next = node_call(slot_of(ref), operation);
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
        if (node->size > 1) is_untouched = false;
        complete(node_ref);
    }
    return has_moved;
}

}  // namespace tutti::exec
