// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/node_operations.h"

#include "base/collectives.h"
#include "plan/sched/operation_kinds.h"
#include "run/node/letters.h"

namespace tutti::exec {

void MemberParts::start(std::span<const uint64_t> lengths) {
    offsets_.clear();
    all_bytes_ = 0;
    for (const uint64_t bytes : lengths) {
        offsets_.push_back(all_bytes_);
        all_bytes_ += bytes;
    }
    blocks_ = {lengths.data(), offsets_.data(), lengths.data(), offsets_.data()};
}

void NodeOperations::start(const sched::Program& program) {
    TUTTI_ASSERT(doing_ == Doing::kNothing, "the last call has ended");
    ready_.clear();
    parts_.start(program.node_lengths());
    next_ = 0;
}

node::Call NodeOperations::call_of(Ref ref) const {
    const sched::Operation& operation = call_.slots.operation_of(ref);
    node::Call result;
    result.root = operation.peer;
    result.recv = call_.at(ref, operation.to);
    result.send = call_.at(ref, operation.left);
    const sched::OperationRow& row = sched::row_of(operation.kind);
    TUTTI_ASSERT(row.collective, "an operation of the node");
    result.collective = *row.collective;
    result.is_signal = sched::has_no_blocks(operation.kind);
    if (result.is_signal) return result;
    if (sched::has_unequal_parts(row)) {
        result.own_bytes = sched::node_bytes(operation);
        if (parts_.all_bytes() > 0) result.blocks = &parts_.blocks();
    } else {
        result.bytes = sched::node_bytes(operation);
    }
    if (row.folds) result.reducer = call_.buffers.reducer();
    if (sched::runs_along(row)) {
        if (result.send == result.recv) result.send = nullptr;
        return result;
    }
    if (team_->rank == operation.peer && result.collective != TUTTI_BCAST) put_in_place(result);
    return result;
}

// What the root would move to where it is already.
void NodeOperations::put_in_place(node::Call& call) const {
    size_t own = has_blocks(call.collective) ? team_->rank * call.bytes : 0;
    if (call.blocks) own = parts_.offset(team_->rank);
    if (facts(call.collective).from == From::kRoot) {
        if (call.recv == call.send + own) call.recv = nullptr;
    } else if (call.send == call.recv + own) {
        call.send = nullptr;
    }
}

// The root of a gather or scatter moves everybody's block.
void NodeOperations::count(const node::Call& next) {
    const bool moves_all = has_blocks(next.collective) && next.root == team_->rank;
    const uint64_t own = next.blocks ? next.own_bytes : next.bytes;
    const uint64_t all = next.blocks ? parts_.all_bytes() : team_->size * next.bytes;
    ++call_.totals.node_operations;
    call_.totals.copied_bytes += moves_all ? all : own;
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
    return step_any();
}

Step NodeOperations::step_any() {
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

void NodeOperations::begin_call(const node::Call& call, uint64_t moved_bytes) {
    TUTTI_ASSERT(team_ != nullptr, "bundles need the node's team");
    TUTTI_ASSERT(doing_ == Doing::kNothing, "one call of the node at a time");
    ++call_.totals.node_operations;
    call_.totals.copied_bytes += moved_bytes;
    doing_ = Doing::kCall;
    node::start(*team_, op_, call);
}

Step NodeOperations::step_call() {
    TUTTI_ASSERT(has_call(), "a call is under way");
    return step_any();
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
