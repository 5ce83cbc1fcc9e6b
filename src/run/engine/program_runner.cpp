// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/program_runner.h"

#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/collectives.h"
#include "run/exec/call_arguments.h"
#include "run/node/progress_snapshot.h"

namespace tutti::engine {
namespace {

// How long a rank waits to be told of a message that it cannot be sure of: some tellings of its
// calls (inter_node_control.cpp) fall into it, and answers of those who wait themselves.
constexpr uint64_t kAskNs = 1'000'000'000;
// Likewise where nothing else can be had: longer than whoever finds out is held (Control::is_due).
constexpr uint64_t kAskWhoNs = 10'000'000'000;

constexpr const char* kNoWayOn = "cannot go on after multicast failed";

}  // namespace

Runner::Begun ProgramRunner::begin(Request& request) {
    if (request.op.call.is_empty()) {
        track_.pass(request.op.call);
        return Begun::kDone;
    }
    request_ = &request;
    phase_ = Phase::kRunning;
    // Between the choice and take_on() nobody may decide that this call does without multicast.
    const auto held = inter_node_.hold();
    bool is_undecided = false;
    const auto found = members_.context.fund().with([&]() -> Result<select::Plan*> {
        auto plan = track_.planner().plan(shape_of(request, members_.size), request.way);
        if (!plan || plan.value()->is_host) return plan;
        is_undecided = track_.planner().is_undecided(*plan.value());
        if (is_undecided) return plan;
        auto reserved = track_.reserve(*plan.value());
        if (!reserved) return reserved.error();
        places_.begin(request.op.call, members_.size);
        return plan;
    });
    if (!found) return fail(found.error());
    select::Plan& plan = *found.value();
    request.ran = plan.name;
    if (plan.is_host) {
        track_.leave_to_host(plan);
        return Begun::kHost;
    }
    if (is_undecided) {
        phase_ = Phase::kDeciding;
        return Begun::kUndecided;
    }
    track_.take_on(plan);
    if (request.awaits_buffers()) return Begun::kChosen;
    start();
    return Begun::kRuns;
}

// Multicast may have failed since: the call goes on by messages then, as if it had begun before.
Runner::Begun ProgramRunner::start_chosen(Request& request) {
    TUTTI_ASSERT(&request == request_, "the call that was chosen");
    const auto held = inter_node_.hold();
    start();
    return Begun::kRuns;
}

// The buffers as plan/sched/program.h names them.
exec::Arguments ProgramRunner::arguments_of(const node::Call& call) const {
    exec::Arguments arguments = exec::arguments_of(call, members_.rank);
    if (call.collective == TUTTI_ALLGATHERV) arguments.output = places_.first(call);
    return arguments;
}

void ProgramRunner::start() {
    const node::Call& call = request_->op.call;
    ask_end_ns_ = 0;
    const exec::Arguments arguments = arguments_of(call);
    if (arguments.has_private_lengths) {
        track_.planner().running()->set_blocks(exec::blocks_of(call, members_.rank));
    }
    const bool receives =
        has_rooted_blocks(call.collective) && !is_sender(call.collective, members_.rank, call.root);
    track_.start(arguments, receives && !call.is_whole);
}

void ProgramRunner::begin_cards(const CallCard& mine, std::span<CallCard> all) {
    const exec::Arguments cards{
        reinterpret_cast<const std::byte*>(&mine), reinterpret_cast<std::byte*>(all.data()), {}};
    run_helper(track_.planner().helpers().check, cards);
}

void ProgramRunner::begin_meeting() { run_helper(track_.planner().helpers().barrier, {}); }

void ProgramRunner::begin_comparison(const node::Call& call) {
    run_helper(track_.planner().helpers().comparison, arguments_of(call));
}

// Which was reserved with the team.
void ProgramRunner::run_helper(select::Plan& plan, const exec::Arguments& arguments) {
    const auto held = inter_node_.hold();
    track_.take_on(plan);
    track_.start(arguments);
}

Step ProgramRunner::step() {
    switch (phase_) {
        case Phase::kDeciding:
            return step_decision();
        case Phase::kSettling:
            return step_settling();
        case Phase::kWithdrawing:
            return step_withdrawal();
        case Phase::kRunning:
            break;
    }
    // A note has told of it. No step before that: what came in it would be lost.
    if (track_.capacity().less() != 0) return begin_withdrawal();
    const Step step = step_program();
    switch (step) {
        case Step::kAdvanced:
            break;
        case Step::kBlocked:
            if (finds_less()) return begin_withdrawal();
            break;
        case Step::kDone:
            place_blocks();
            track_.announce(false);
            tell_failure();
            break;
        case Step::kFailed:
            return step_failure();
    }
    return step;
}

Step ProgramRunner::step_failure() {
    transport::Disagreement with = track_.transport().disagreement();
    if (track_.executor().has_miscounted()) with.is_there = with.is_counted = true;
    if (track_.executor().has_misfit()) with.is_there = true;
    if (!with.is_there) {
        return fail_step(TUTTI_ERR_NETWORK, track_.executor().error().c_str());
    }
    const bool is_of_this = with.has_word && track_.messages().log().is_of_last(with.word);
    if (is_of_this && track_.capacity().take_less(node::CallNote::unpack(with.word.call))) {
        return begin_withdrawal();
    }
    // A long message of this kind, or one of several; a note may tell what it is.
    const bool asks_who = with.is_counted && track_.messages().notes().is_on();
    if (asks_who || (with.is_short && track_.capacity().may_take_less())) {
        const uint64_t now = members_.context.clock().now_ns();
        if (ask_end_ns_ == 0) ask_end_ns_ = now + (asks_who ? kAskWhoNs : kAskNs);
        if (now < ask_end_ns_) return Step::kBlocked;
    }
    why_ = why_disagreed(track_, with);
    return fail_step(TUTTI_ERR_MISMATCH, why_.text);
}

// Where ranks sleep for their node, whoever has done something there wakes those that may wait for
// it.
Step ProgramRunner::step_program() {
    if (!members_.policy.naps || node_.size == 1) return track_.step();
    const exec::Executor& executor = track_.executor();
    const node::ProgressSnapshot before(node_, executor.node_op());
    const Step step = track_.step();
    if (node::ProgressSnapshot(node_, executor.node_op()) != before) {
        node_.slice.header().bell.ring(ringer(node_.rank));
    }
    return step;
}

Step ProgramRunner::step_decision() {
    switch (inter_node_.multicast().decide()) {
        case transport::State::kPending:
            return Step::kBlocked;
        case transport::State::kDone:
            return Step::kDone;
        case transport::State::kFailed:
            break;
    }
    return fail_step(TUTTI_ERR_NETWORK, kNoWayOn);
}

Step ProgramRunner::step_settling() {
    switch (inter_node_.multicast().settle()) {
        case transport::State::kPending:
            return Step::kBlocked;
        case transport::State::kDone:
            track_.announce(false);
            phase_ = Phase::kRunning;
            return Step::kDone;
        case transport::State::kFailed:
            break;
    }
    return fail_step(TUTTI_ERR_NETWORK, kNoWayOn);
}

// Others send less than this rank has room for, as one of its node shows, for which it waits.
bool ProgramRunner::finds_less() {
    const node::Op* op = track_.executor().node_op();
    if (!op || op->rival == node::kNoRank) return false;
    const node::Disagreement with = node::find_disagreement(node_, *op);
    return with.rank != node::kNoRank && with.is_known && track_.capacity().take_less(with.note);
}

Step ProgramRunner::begin_withdrawal() {
    phase_ = Phase::kWithdrawing;
    return step_withdrawal();
}

Step ProgramRunner::step_withdrawal() {
    switch (track_.retract()) {
        case transport::State::kPending:
            return Step::kBlocked;
        case transport::State::kDone:
            return begin_less();
        case transport::State::kFailed:
            break;
    }
    return fail_step(TUTTI_ERR_NETWORK, "a receive could not be given back");
}

// The others' call, whose plan hangs on what they send. A root takes it into memory of its own.
Step ProgramRunner::begin_less() {
    const auto held = inter_node_.hold();
    const uint64_t bytes = track_.capacity().less();
    node::Call call = request_->op.call;
    if (call.collective == TUTTI_GATHER) {
        if (!call.send) call.send = call.recv + members_.rank * call.bytes;
        call.recv = track_.capacity().make_blocks(bytes, members_.size);
        if (!call.recv) return fail_step(TUTTI_ERR_MEMORY, "no memory for what others send");
    }
    call.bytes = bytes;
    sched::Shape shape = shape_of(*request_, members_.size);
    shape.bytes = bytes;
    const auto found = members_.context.fund().with([&]() -> Result<select::Plan*> {
        auto plan = track_.planner().plan(shape);
        if (!plan || plan.value()->is_host) return plan;
        auto reserved = track_.reserve(*plan.value());
        return reserved ? plan : Result<select::Plan*>(reserved.error());
    });
    if (!found || found.value()->is_host) {
        return fail_step(TUTTI_ERR_MISMATCH, "others send less than there is room for");
    }
    phase_ = Phase::kRunning;
    request_->ran = found.value()->name;
    track_.take_on_again(*found.value());
    track_.start(arguments_of(call), true);
    return Step::kAdvanced;
}

// From where this rank has taken them to where they belong. Of a gather the root's own is as long
// as there is room.
void ProgramRunner::place_blocks() {
    if (places_.are_elsewhere()) places_.end(request_->op.call, members_.rank, members_.size);
    const std::byte* blocks = track_.capacity().blocks();
    if (!blocks) return;
    const node::Call& call = request_->op.call;
    const uint64_t bytes = track_.messages().log().last().bytes;
    for (uint32_t rank = 0; rank < members_.size; ++rank) {
        std::byte* place = call.recv + rank * call.bytes;
        if (rank != members_.rank) {
            std::memcpy(place, blocks + rank * bytes, bytes);
        } else if (call.send) {
            std::memcpy(place, call.send, call.bytes);
        }
    }
    track_.capacity().drop_blocks();
}

Step ProgramRunner::fail_step(tutti_status status, const char* text) {
    phase_ = Phase::kRunning;
    static_cast<void>(fail(status, text));
    return Step::kFailed;
}

void ProgramRunner::cancel() {
    phase_ = Phase::kRunning;
    track_.cancel();
}

void ProgramRunner::tell_failure() {
    const std::string line = inter_node_.multicast().tell_failure();
    if (!line.empty()) members_.context.log(TUTTI_LOG_WARN, members_.name + ": " + line);
}

Waiter::From ProgramRunner::awaited() const {
    if (phase_ != Phase::kRunning) return Waiter::From::kAnywhere;
    if (track_.waits_for_node()) return Waiter::From::kNode;
    if (track_.waits_for_service()) return Waiter::From::kService;
    // Nobody else sleeps for it.
    const bool is_for_fabric = members_.policy.naps && track_.waits_for_fabric();
    return is_for_fabric ? Waiter::From::kFabric : Waiter::From::kAnywhere;
}

void ProgramRunner::announce() {
    if (const node::Op* op = track_.executor().node_op()) node::announce(node_, *op);
}

Bell& ProgramRunner::bell(Waiter::From from) {
    if (from == Waiter::From::kService) return track_.service_bell();
    if (from == Waiter::From::kFabric) return track_.fabric_bell();
    return node_.slice.header().bell;
}

void ProgramRunner::sleep(Sleeper& sleeper, Waiter::From from, uint64_t end_ns) {
    if (from == Waiter::From::kService) {
        if (track_.waits_for_service()) track_.sleep_for_service(sleeper, end_ns);
        return;
    }
    if (from == Waiter::From::kFabric) return track_.sleep_for_fabric(sleeper, end_ns);
    const node::Op* op = track_.executor().node_op();
    if (!op) return;
    Ringers awaited = 0;
    for (node::Rank rank = 0; rank < node_.size; ++rank) {
        if (rank != node_.rank && node::may_await(node_, *op, rank)) awaited |= ringer(rank);
    }
    sleeper.sleep(end_ns, awaited);
}

const char* ProgramRunner::algorithm(const Request& request) {
    if (request.op.call.is_empty() || members_.is_broken()) return "none";
    const auto held = inter_node_.hold();
    const auto plan = members_.context.fund().with(
        [&] { return track_.planner().plan(shape_of(request, members_.size), request.way); });
    return plan ? plan.value()->name : "none";
}

Result<Done> ProgramRunner::force(const Request& request, const std::string& algorithm) {
    const auto held = inter_node_.hold();
    return track_.planner().force(shape_of(request, members_.size), algorithm);
}

std::vector<select::Way> ProgramRunner::ways(const select::CallKind& kind, bool has_stragglers) {
    const auto held = inter_node_.hold();
    return track_.planner().ways(kind.shape(members_.size), has_stragglers);
}

}  // namespace tutti::engine
