// SPDX-License-Identifier: BSD-3-Clause
// What a team across nodes does otherwise than one on a node: choice, start and steps of a call.
#include <cstring>

#include "engine/messages.h"
#include "engine/team.h"
#include "sched/shape.h"

namespace tutti::engine {
namespace {

sched::Shape shape_of(const node::Call& call, bool commutes, uint32_t ranks) {
    sched::Shape shape;
    shape.collective = call.collective;
    shape.ranks = ranks;
    shape.root = call.root;
    shape.bytes = call.bytes;
    if (sched::is_reduction(call.collective)) {
        shape.element_bytes = call.reducer.element_bytes;
        shape.is_commutative = commutes;
    }
    return shape;
}

// The buffers as sched/program.h names them.
exec::Arguments arguments_of(const node::Call& call, uint32_t rank) {
    const bool at_root = call.root == rank;
    exec::Arguments arguments;
    arguments.reducer = call.reducer;
    arguments.output = call.recv;
    switch (call.collective) {
        case TUTTI_REDUCE:
        case TUTTI_ALLREDUCE:
            arguments.input = call.vector();
            if (call.collective == TUTTI_REDUCE && !at_root) arguments.output = nullptr;
            break;
        case TUTTI_GATHER:
            arguments.input = call.block(rank);
            if (!at_root) arguments.output = nullptr;
            break;
        case TUTTI_ALLGATHER:
            arguments.input = call.block(rank);
            break;
        case TUTTI_SCATTER:
            arguments.input = at_root ? call.send : nullptr;
            if (at_root && !call.recv) {
                // In place: what would be received stands there already, and is not written.
                arguments.output = const_cast<std::byte*>(call.send) + rank * call.bytes;
            }
            break;
        default:
            break;
    }
    return arguments;
}

}  // namespace

bool Team::prefers_host(const tutti_call& call) {
    if ((!network_ && !host_choice_) || is_broken_) return false;
    // A collective that is none is describe()'s to refuse.
    const bool is_known = call.collective >= 0 && call.collective < TUTTI_COLLECTIVE_COUNT;
    const uint64_t bytes = call.collective == TUTTI_BARRIER ? 0 : call.bytes;
    if (host_choice_ && is_known && !host_choice_->may_leave(call.collective, bytes)) return false;
    if (describe(call, ask_) != TUTTI_OK || ask_.op.call.is_empty()) return false;
    const sched::Shape shape = shape_of(ask_.op.call, ask_.commutes, size_);
    if (host_choice_) return host_choice_->prefers_host(shape);
    return network_->prefers_host(shape);
}

const char* Team::algorithm(const tutti_call& call) {
    if (describe(call, ask_) != TUTTI_OK) return "none";
    if (!network_) return node::algorithm_name(node_, ask_.op.call);
    if (ask_.op.call.is_empty()) return "none";
    const auto plan = network_->plan(shape_of(ask_.op.call, ask_.commutes, size_));
    return plan ? plan.value()->name : "none";
}

Result<Done> Team::force(const tutti_call& call, const std::string& algorithm) {
    if (describe(call, ask_) != TUTTI_OK) {
        return Error{ErrorCode::kArgument, "the call is malformed"};
    }
    if (!network_) {
        if (algorithm.empty()) return Done{};
        return Error{ErrorCode::kArgument,
                     "all ranks are on one host, where shared memory runs every call"};
    }
    return network_->force(shape_of(ask_.op.call, ask_.commutes, size_), algorithm);
}

void Team::describe_multicast(tutti_multicast_info& info) const {
    const size_t struct_bytes = info.struct_bytes;
    info = {};
    info.struct_bytes = struct_bytes;
    std::strncpy(info.name, name_.c_str(), sizeof(info.name) - 1);
    if (network_) network_->describe(info);
}

void Team::begin_cards(Request& request) {
    const exec::Arguments cards{reinterpret_cast<const std::byte*>(&request.card),
                                reinterpret_cast<std::byte*>(cards_.data()),
                                {}};
    // The memory was reserved with the team.
    const auto started = network_->start(network_->check_plan(), cards);
    TUTTI_ASSERT(started, "the comparison of calls has its memory");
}

void Team::begin_plan(Request& request) {
    waits_for_decision_ = network_->is_undecided();
    if (waits_for_decision_) return;
    const auto plan = network_->plan(shape_of(request.op.call, request.commutes, size_));
    Result<Done> started = Done{};
    if (!plan) {
        started = plan.error();
    } else if (plan.value()->is_host) {
        const char* collective = tutti_collective_name(request.op.call.collective);
        started = Error{ErrorCode::kArgument, std::string(collective) + " is for the host MPI"};
    } else {
        started = network_->start(*plan.value(), arguments_of(request.op.call, rank_));
    }
    if (started) return;
    message_ = name_ + ": " + started.error().message;
    const bool is_memory = started.error().code == ErrorCode::kMemory;
    finish(request, is_memory ? TUTTI_ERR_MEMORY : TUTTI_ERR_ALGORITHM);
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
    fail_front("no way on after multicast failed");
    return true;
}

void Team::tell_failure() {
    const std::string line = network_->tell_failure();
    if (!line.empty()) context_->log(TUTTI_LOG_WARN, name_ + ": " + line);
}

void Team::fail_front(const std::string& why) {
    is_broken_ = true;
    message_ = name_ + ": rank " + std::to_string(rank_) + ": " + why;
    finish(*head_, TUTTI_ERR_NETWORK);
}

bool Team::advance_network() {
    if (waits_for_decision_) return advance_decision();
    switch (network_->step()) {
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
    fail_front(network_->executor().error());
    return true;
}

void Team::report_network_stall(uint64_t waited_ns) {
    const Request& request = *head_;
    const Stall stall{name_, rank_, waited_ns, request.op.call.collective, network_->call()};
    std::vector<uint32_t> late;
    if (const node::Op* op = network_->executor().node_op()) {
        const topo::Placement& placement = network_->placement();
        const auto members = placement.members(placement.node_of(rank_));
        for (const node::Rank index : node::not_arrived(node_, *op)) late.push_back(members[index]);
    }
    std::vector<std::string> silent;
    for (const sched::Rank rank : network_->executor().waits_for()) {
        silent.push_back(network_->rank_text(rank));
    }
    context_->log(TUTTI_LOG_WARN, stall_message(stall, late, silent));
}

void Team::wait_network_turn(Waiter& waiter) {
    switch (waiter.turn()) {
        case Waiter::Advice::kPoll:
            break;
        case Waiter::Advice::kProgress:
            context_->progress();
            calls_since_progress_ = 0;
            break;
        case Waiter::Advice::kAnnounce:
            if (const node::Op* op = network_->executor().node_op()) node::announce(node_, *op);
            network_->announce(true);
            break;
        case Waiter::Advice::kReport:
            report_network_stall(waiter.waited_ns());
            break;
        case Waiter::Advice::kSleep:
            break;  // of one node's teams only
    }
}

}  // namespace tutti::engine
