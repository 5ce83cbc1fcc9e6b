// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/node_operations.h"

#include "base/collectives.h"
#include "plan/sched/operation_kinds.h"
#include "run/node/letters.h"

namespace tutti::exec {

void NodeOperations::start() {
    TUTTI_ASSERT(doing_ == Doing::kNothing, "the last call has ended");
    ready_.clear();
    next_ = 0;
}

node::Call NodeOperations::call_of(Ref ref) const {
    const sched::Operation& operation = call_.slots.operation_of(ref);
    node::Call result;
    result.root = operation.peer;
    result.recv = call_.at(ref, operation.to);
    result.send = call_.at(ref, operation.left);
    const bool is_root = team_->rank == operation.peer;
    const sched::OperationRow& row = sched::row_of(operation.kind);
    TUTTI_ASSERT(row.collective, "an operation of the node");
    result.collective = *row.collective;
    result.is_signal = sched::has_no_blocks(operation.kind);
    if (result.is_signal) return result;
    result.bytes = sched::node_bytes(operation);
    if (row.folds) result.reducer = call_.buffers.reducer();
    if (sched::runs_along(row)) {
        if (result.send == result.recv) result.send = nullptr;
        return result;
    }
    // In place, what the root would move to where it is already.
    const size_t own = team_->rank * result.bytes;
    if (!is_root || result.collective == TUTTI_BCAST) return result;
    if (result.collective == TUTTI_SCATTER) {
        if (result.recv == result.send + own) result.recv = nullptr;
    } else if (result.send == result.recv + (row.folds ? 0 : own)) {
        result.send = nullptr;
    }
    return result;
}

// The root of a gather or scatter moves everybody's block.
void NodeOperations::count(const node::Call& next) {
    const bool moves_all = has_rooted_blocks(next.collective) && next.root == team_->rank;
    ++call_.totals.node_operations;
    call_.totals.copied_bytes += moves_all ? team_->size * next.bytes : next.bytes;
    if (is_reduction(next.collective)) call_.totals.reduced_bytes += next.bytes;
}

std::optional<Ref> NodeOperations::start_ready() {
    for (size_t i = 0; i < ready_.size(); ++i) {
        const Ref ref = ready_[i];
        if (call_.slots.operation_of(ref).order != next_) continue;
        TUTTI_ASSERT(team_ != nullptr, "node operations need the node's team");
        TUTTI_ASSERT(doing_ == Doing::kNothing, "one call of the node at a time");
        ready_[i] = ready_.back();
        ready_.pop_back();
        ++next_;
        const node::Call next = call_of(ref);
        if (next.is_empty()) return ref;
        count(next);
        doing_ = Doing::kOperation;
        last_ = ref;
        node::start(*team_, op_, next);
        return {};
    }
    return {};
}

Step NodeOperations::step() {
    TUTTI_ASSERT(is_busy(), "an operation is under way");
    const Step step = node::step(*team_, op_);
    if (step == Step::kBlocked || step == Step::kAdvanced) return step;
    doing_ = Doing::kNothing;
    if (team_->size > 1) call_.is_untouched = false;
    return step;
}

void NodeOperations::retract() {
    if (!is_busy()) return;
    node::retract(*team_, op_);
    doing_ = Doing::kNothing;
}

void NodeOperations::begin_letters(size_t bytes) {
    TUTTI_ASSERT(team_ != nullptr, "letters need the node's team");
    TUTTI_ASSERT(doing_ == Doing::kNothing, "one call of the node at a time");
    op_.call = {};
    op_.call.bytes = bytes;
    if (bytes > 0) op_.call.collective = TUTTI_ALLREDUCE;
    node::start_letters(*team_, op_);
    doing_ = Doing::kLetters;
}

void NodeOperations::end_letters() {
    TUTTI_ASSERT(has_letters(), "letters lie there");
    node::end_letters(*team_, op_);
    doing_ = Doing::kNothing;
}

}  // namespace tutti::exec
