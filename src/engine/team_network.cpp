// SPDX-License-Identifier: BSD-3-Clause
// What a team across nodes does otherwise than one on a node: choice, start and steps of a call.
#include <cstdio>

#include "base/bell.h"
#include "engine/messages.h"
#include "engine/standing.h"
#include "engine/team.h"
#include "sched/shape.h"

namespace tutti::engine {

sched::Shape shape_of(const node::Call& call, bool commutes, uint32_t ranks) {
    sched::Shape shape;
    shape.collective = call.collective;
    shape.ranks = ranks;
    shape.root = call.root;
    shape.bytes = call.bytes;
    if (is_reduction(call.collective)) {
        shape.element_bytes = call.reducer.element_bytes;
        shape.is_commutative = commutes;
    }
    return shape;
}

namespace {

// The buffers as sched/program.h names them.
exec::Arguments arguments_of(const node::Call& call, uint32_t rank) {
    const BufferPair pair =
        buffers_of(call.collective, call.send, call.recv, rank, call.root, call.bytes);
    return {pair.input, pair.output, call.reducer};
}

}  // namespace

bool Team::prefers_host(const tutti_call& call) {
    if (!network_ && !host_choice_) return false;
    const HeldTeam held_team(*this);
    if (broken_ != TUTTI_OK) return false;
    // A collective that is none is describe()'s to refuse.
    const bool is_known = call.collective >= 0 && call.collective < TUTTI_COLLECTIVE_COUNT;
    const uint64_t bytes = call.collective == TUTTI_BARRIER ? 0 : call.bytes;
    if (host_choice_ && is_known && !host_choice_->may_leave(call.collective, bytes)) return false;
    if (describe(call, ask_) != TUTTI_OK || ask_.op.call.is_empty()) return false;
    const sched::Shape shape = shape_of(ask_.op.call, ask_.commutes, size_);
    const auto is_host = context_->with_fund([&]() -> Result<bool> {
        if (host_choice_) return host_choice_->prefers_host(shape);
        const auto held = network_->hold();
        return network_->prefers_host(shape);
    });
    if (is_host) {
        if (is_host.value()) leave_to_host();
        return is_host.value();
    }
    // Without an answer this rank cannot follow the others; tutti_run says so.
    give_up(TUTTI_ERR_MEMORY, "out of memory");
    return false;
}

// The call has its number all the same: a rank that runs it in the team, since it takes it for
// another one, will hear of that.
void Team::leave_to_host() {
    settle();
    if (tracks_) {
        tracks_->settle(*this);
        tracks_->pass();
    }
    node::Call call;
    call.collective = node::kLeftToHost;
    if (!network_) return node::pass(node_, call);
    const auto held = network_->hold();
    network_->pass(call);
}

const char* Team::algorithm(const tutti_call& call) {
    const HeldTeam held_team(*this);
    if (describe(call, ask_) != TUTTI_OK) return "none";
    if (!network_) return node::algorithm_name(node_, ask_.op.call);
    if (ask_.op.call.is_empty() || broken_ != TUTTI_OK) return "none";
    const auto held = network_->hold();
    const auto plan = context_->with_fund(
        [&] { return network_->plan(shape_of(ask_.op.call, ask_.commutes, size_)); });
    return plan ? plan.value()->name : "none";
}

Result<Done> Team::force(const tutti_call& call, const std::string& algorithm) {
    if (!tracks_) return force_here(call, algorithm);
    Result<Done> forced = Done{};
    tracks_->for_each([&](Team& track) {
        if (forced) forced = track.force_here(call, algorithm);
    });
    return forced;
}

Result<Done> Team::force_here(const tutti_call& call, const std::string& algorithm) {
    const HeldTeam held_team(*this);
    if (describe(call, ask_) != TUTTI_OK) {
        return Error{ErrorCode::kArgument, "the call is malformed"};
    }
    if (!network_) {
        if (algorithm.empty()) return Done{};
        return Error{ErrorCode::kArgument,
                     "all ranks are on one host, where shared memory runs every call"};
    }
    const auto held = network_->hold();
    return network_->force(shape_of(ask_.op.call, ask_.commutes, size_), algorithm);
}

void Team::describe_multicast(tutti_multicast_info& info) {
    const HeldTeam held_team(*this);
    const size_t struct_bytes = info.struct_bytes;
    info = {};
    info.struct_bytes = struct_bytes;
    set_text(info.name, name_);
    if (!network_) return;
    const auto held = network_->hold();
    network_->describe(info);
}

void Team::begin_cards(Request& request) {
    const exec::Arguments cards{reinterpret_cast<const std::byte*>(&request.card),
                                reinterpret_cast<std::byte*>(cards_.data()),
                                {}};
    const auto held = network_->hold();
    network_->start(network_->check_plan(), cards);  // reserved with the team
}

// The error of a plan that cannot be made is the same on all ranks; want of memory is this rank's
// own, and the others hear of it.
void Team::begin_plan(Request& request) {
    auto held = network_->hold();
    waits_for_decision_ = false;
    const auto ready = context_->with_fund([&]() -> Result<Plan*> {
        auto plan = network_->plan(shape_of(request.op.call, request.commutes, size_));
        if (!plan) return plan;
        if (plan.value()->is_host) {
            const char* collective = tutti_collective_name(request.op.call.collective);
            return Error{ErrorCode::kArgument, std::string(collective) + " is for the host MPI"};
        }
        waits_for_decision_ = network_->is_undecided(*plan.value());
        if (waits_for_decision_) return plan;
        auto reserved = network_->reserve(*plan.value());
        return reserved ? plan : Result<Plan*>(reserved.error());
    });
    if (waits_for_decision_) return;
    if (ready) {
        return network_->start(*ready.value(), arguments_of(request.op.call, rank_));
    }
    if (held) held.unlock();  // what follows may begin the next call
    if (ready.error().code == ErrorCode::kMemory) {
        give_up(TUTTI_ERR_MEMORY, ready.error().message.c_str());
    } else {
        message_ = name_ + ": " + ready.error().message;
        finish(request, TUTTI_ERR_ALGORITHM);
    }
}

bool Team::advance_decision() {
    switch (network_->decide()) {
        case transport::State::kPending:
            return false;
        case transport::State::kDone:
            begin_plan(*head_);
            return true;
        case transport::State::kFailed:
            break;
    }
    waits_for_decision_ = false;
    give_up(TUTTI_ERR_NETWORK, "no way on after multicast failed");
    return true;
}

void Team::tell_failure() {
    const std::string line = network_->tell_failure();
    if (!line.empty()) context_->log(TUTTI_LOG_WARN, name_ + ": " + line);
}

// Where ranks sleep for their node, whoever has done something there wakes those that may wait for
// it.
exec::Step Team::step_network() {
    if (!policy_.naps || node_.size == 1) return network_->step();
    const exec::Executor& executor = network_->executor();
    const Standing before(node_, executor.node_op());
    const exec::Step step = network_->step();
    if (Standing(node_, executor.node_op()) != before) {
        node_.slice.header().bell.ring(ringer(node_.rank));
    }
    return step;
}

bool Team::advance_network() {
    if (waits_for_decision_) return advance_decision();
    if (head_->stage == Request::Stage::kSettling) return advance_settling();
    switch (step_network()) {
        case exec::Step::kBlocked:
            return false;
        case exec::Step::kAdvanced:
            return true;
        case exec::Step::kDone:
            network_->announce(false);
            tell_failure();
            finish_front();
            return true;
        case exec::Step::kFailed:
            break;
    }
    const transport::Disagreement with = network_->transport().disagreement();
    if (!with.is_there) {
        give_up(TUTTI_ERR_NETWORK, network_->executor().error().c_str());
        return true;
    }
    if (broken_ == TUTTI_OK) disagree(with);
    finish(*head_, broken_);
    return true;
}

Waiter::From Team::awaited() const {
    // Nobody rings for what other teams wait for.
    if (waits_for_decision_ || has_company()) return Waiter::From::kAnywhere;
    if (network_->waits_for_node()) return Waiter::From::kNode;
    return network_->waits_for_service() ? Waiter::From::kService : Waiter::From::kAnywhere;
}

// Sleeps unless the last look moves the call. True if it did.
bool Team::sleep_for_service() {
    Sleeper sleeper(network_->service_bell());
    if (advance_network()) return true;
    if (network_->waits_for_service()) network_->sleep_for_service(sleeper, sleep_end_ns());
    return false;
}

bool Team::sleep_for_node() {
    Sleeper sleeper(node_.slice.header().bell);
    if (advance_network()) return true;
    const node::Op* op = network_->executor().node_op();
    if (!op) return false;
    Ringers awaited = 0;
    for (node::Rank rank = 0; rank < node_.size; ++rank) {
        if (rank != node_.rank && node::may_await(node_, *op, rank)) awaited |= ringer(rank);
    }
    sleeper.sleep(sleep_end_ns(), awaited);
    return false;
}

void Team::wait_network_turn(Waiter& waiter) {
    // As in wait_turn().
    if (broken_ != TUTTI_OK) return finish(*head_, broken_);
    move_others_on();
    const Waiter::From from = awaited();
    switch (waiter.turn(from)) {
        case Waiter::Advice::kPoll:
            network_->relieve_service();
            break;
        case Waiter::Advice::kProgress:
            network_->relieve_service();
            context_->progress();
            calls_since_progress_ = 0;
            break;
        case Waiter::Advice::kAnnounce:
            if (const node::Op* op = network_->executor().node_op()) node::announce(node_, *op);
            break;
        case Waiter::Advice::kListen:
            network_->announce(true);
            context_->progress();
            listen(node_op());
            watch_others(waiter.waited_ns());
            break;
        case Waiter::Advice::kReport:
            begin_inquiry(waiter.waited_ns());
            break;
        case Waiter::Advice::kSleep:
            if (from == Waiter::From::kService ? sleep_for_service() : sleep_for_node()) {
                waiter.reset();
            }
            break;
    }
}

}  // namespace tutti::engine
