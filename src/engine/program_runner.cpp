// SPDX-License-Identifier: BSD-3-Clause
#include "engine/program_runner.h"

#include <utility>

#include "base/assert.h"
#include "base/collectives.h"
#include "node/progress_snapshot.h"

namespace tutti::engine {
namespace {

// The buffers as sched/program.h names them.
exec::Arguments arguments_of(const node::Call& call, uint32_t rank) {
    const BufferPair pair =
        buffers_of(call.collective, call.send, call.recv, rank, call.root, call.bytes);
    return {pair.input, pair.output, call.reducer};
}

constexpr const char* kNoWayOn = "no way on after multicast failed";

}  // namespace

ProgramRunner::ProgramRunner(Members& members, std::unique_ptr<InterNode> inter_node)
    : members_(members), inter_node_(std::move(inter_node)) {}

ProgramRunner::~ProgramRunner() {
    inter_node_->notes().drain();
    if (!inter_node_->retire(!members_.is_broken())) members_.context.keep(std::move(inter_node_));
}

Runner::Begun ProgramRunner::begin(Request& request) {
    if (request.op.call.is_empty()) {
        inter_node_->pass(request.op.call);
        return Begun::kDone;
    }
    request_ = &request;
    is_prepared_ = !request.prepare_buffers || request.op.call.bytes == 0;
    return begin_plan();
}

// What prepares may take long, and is not done under the lock. The choice is made anew after it:
// meanwhile multicast may have failed. A call that runs here does so without multicast, too.
Runner::Begun ProgramRunner::begin_plan() {
    const Begun begun = begin_chosen();
    if (begun != Begun::kRuns || phase_ != Phase::kRunning || is_prepared_) return begun;
    if (const char* why = prepare(*request_)) return fail(TUTTI_ERR_MEMORY, why);
    is_prepared_ = true;
    return begin_chosen();
}

// Starts it only where its buffers are ready. All under one lock: between choice and start nobody
// may decide that this call does without multicast.
Runner::Begun ProgramRunner::begin_chosen() {
    const auto held = inter_node_->hold();
    phase_ = Phase::kRunning;
    bool is_undecided = false;
    const auto found = members_.context.with_fund([&]() -> Result<select::Plan*> {
        auto plan = inter_node_->plan(shape_of(*request_, members_.size));
        if (!plan || plan.value()->is_host) return plan;
        is_undecided = inter_node_->is_undecided(*plan.value());
        if (is_undecided) return plan;
        auto reserved = inter_node_->reserve(*plan.value());
        return reserved ? plan : Result<select::Plan*>(reserved.error());
    });
    if (!found) return fail(found.error());
    select::Plan& plan = *found.value();
    request_->ran = plan.name;
    if (plan.is_host) {
        inter_node_->leave_to_host(plan);
        return Begun::kHost;
    }
    if (is_undecided) {
        phase_ = Phase::kDeciding;
    } else if (is_prepared_) {
        inter_node_->start(plan, arguments_of(request_->op.call, members_.rank));
    }
    return Begun::kRuns;
}

void ProgramRunner::begin_cards(const CallCard& mine, std::span<CallCard> all) {
    const exec::Arguments cards{
        reinterpret_cast<const std::byte*>(&mine), reinterpret_cast<std::byte*>(all.data()), {}};
    const auto held = inter_node_->hold();
    inter_node_->start(inter_node_->check_plan(), cards);  // reserved with the team
}

void ProgramRunner::begin_meeting() {
    const auto held = inter_node_->hold();
    inter_node_->start(inter_node_->barrier_plan(), {});  // reserved with the team
}

Step ProgramRunner::step() {
    switch (phase_) {
        case Phase::kDeciding:
            return step_decision();
        case Phase::kSettling:
            return step_settling();
        case Phase::kRunning:
            break;
    }
    const Step step = step_program();
    if (step == Step::kDone) {
        inter_node_->announce(false);
        tell_failure();
    } else if (step == Step::kFailed) {
        const transport::Disagreement with = inter_node_->transport().disagreement();
        if (!with.is_there)
            return fail_step(TUTTI_ERR_NETWORK, inter_node_->executor().error().c_str());
        why_ = why_disagreed(*inter_node_, with);
        return fail_step(TUTTI_ERR_MISMATCH, why_.text);
    }
    return step;
}

// Where ranks sleep for their node, whoever has done something there wakes those that may wait for
// it.
Step ProgramRunner::step_program() {
    const node::Team& node = members_.node;
    if (!members_.policy.naps || node.size == 1) return inter_node_->step();
    const exec::Executor& executor = inter_node_->executor();
    const node::ProgressSnapshot before(node, executor.node_op());
    const Step step = inter_node_->step();
    if (node::ProgressSnapshot(node, executor.node_op()) != before) {
        node.slice.header().bell.ring(ringer(node.rank));
    }
    return step;
}

Step ProgramRunner::step_decision() {
    switch (inter_node_->decide()) {
        case transport::State::kPending:
            return Step::kBlocked;
        case transport::State::kDone:
            return begin_decided();
        case transport::State::kFailed:
            break;
    }
    return fail_step(TUTTI_ERR_NETWORK, kNoWayOn);
}

Step ProgramRunner::begin_decided() {
    const Begun begun = begin_plan();
    TUTTI_ASSERT(begun != Begun::kHost, "what multicasts is not the host's without them either");
    return begun == Begun::kFailed ? Step::kFailed : Step::kAdvanced;
}

Step ProgramRunner::step_settling() {
    switch (inter_node_->settle_multicast()) {
        case transport::State::kPending:
            return Step::kBlocked;
        case transport::State::kDone:
            inter_node_->announce(false);
            phase_ = Phase::kRunning;
            return Step::kDone;
        case transport::State::kFailed:
            break;
    }
    return fail_step(TUTTI_ERR_NETWORK, kNoWayOn);
}

Step ProgramRunner::fail_step(tutti_status status, const char* text) {
    phase_ = Phase::kRunning;
    static_cast<void>(fail(status, text));
    return Step::kFailed;
}

void ProgramRunner::cancel() {
    phase_ = Phase::kRunning;
    inter_node_->cancel();
}

void ProgramRunner::tell_failure() {
    const std::string line = inter_node_->tell_failure();
    if (!line.empty()) members_.context.log(TUTTI_LOG_WARN, members_.name + ": " + line);
}

Waiter::From ProgramRunner::awaited() const {
    if (phase_ != Phase::kRunning) return Waiter::From::kAnywhere;
    if (inter_node_->waits_for_node()) return Waiter::From::kNode;
    return inter_node_->waits_for_service() ? Waiter::From::kService : Waiter::From::kAnywhere;
}

void ProgramRunner::announce() {
    if (const node::Op* op = inter_node_->executor().node_op()) node::announce(members_.node, *op);
}

Bell& ProgramRunner::bell(Waiter::From from) {
    if (from == Waiter::From::kService) return inter_node_->service_bell();
    return members_.node.slice.header().bell;
}

void ProgramRunner::sleep(Sleeper& sleeper, Waiter::From from, uint64_t end_ns) {
    if (from == Waiter::From::kService) {
        if (inter_node_->waits_for_service()) inter_node_->sleep_for_service(sleeper, end_ns);
        return;
    }
    const node::Team& node = members_.node;
    const node::Op* op = inter_node_->executor().node_op();
    if (!op) return;
    Ringers awaited = 0;
    for (node::Rank rank = 0; rank < node.size; ++rank) {
        if (rank != node.rank && node::may_await(node, *op, rank)) awaited |= ringer(rank);
    }
    sleeper.sleep(end_ns, awaited);
}

const char* ProgramRunner::algorithm(const Request& request) {
    if (request.op.call.is_empty() || members_.is_broken()) return "none";
    const auto held = inter_node_->hold();
    const auto plan = members_.context.with_fund(
        [&] { return inter_node_->plan(shape_of(request, members_.size)); });
    return plan ? plan.value()->name : "none";
}

Result<Done> ProgramRunner::force(const Request& request, const std::string& algorithm) {
    const auto held = inter_node_->hold();
    return inter_node_->force(shape_of(request, members_.size), algorithm);
}

}  // namespace tutti::engine
