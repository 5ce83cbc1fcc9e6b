// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/call_track.h"

#include <poll.h>
#include <time.h>

#include "base/assert.h"

namespace tutti::engine {

CallTrack::CallTrack(uint32_t number, const Means& means)
    : number_(number),
      means_(means),
      planner_({means.context, means.placement, means.rank, means.networks, means.multicast,
                means.messages.log(), number == 0}) {}

void CallTrack::attach(node::Team* node) {
    node_ = node;
    transport::Multicast* const route = multicasts() ? means_.multicast.route() : nullptr;
    executor_ = std::make_unique<exec::Executor>(node, transport(), route);
    executor_->set_clock(means_.context.clock());
}

Result<Done> CallTrack::plan_helpers(size_t card_bytes) {
    auto made = planner_.make_helpers(card_bytes);
    CallPlanner::Helpers& helpers = planner_.helpers();
    if (made && card_bytes > 0) made = reserve(helpers.check);
    return made ? reserve(helpers.barrier) : made;
}

Result<Done> CallTrack::plan_comparison(size_t bytes) {
    auto made = planner_.make_comparison(bytes);
    return made ? reserve(planner_.helpers().comparison) : made;
}

Result<Done> CallTrack::reserve(select::Plan& plan) {
    if (plan.is_reserved) return Done{};
    auto reserved =
        executor_->reserve(plan.program->extent(), means_.context.settings().rules.scratch_bytes);
    plan.is_reserved = static_cast<bool>(reserved);
    return reserved;
}

// ---- the next call -----------------------------------------------------------------------------

void CallTrack::take_on(select::Plan& plan) {
    capacity_.reset();
    // A plan for a team without: the group has failed, and in this call all do without it. Others
    // may not multicast in any case.
    const bool may = multicasts() && planner_.may_multicast(plan.shape);
    if (may && !plan.shape.has_multicast && !planner_.is_helper(plan)) {
        means_.multicast.went_without();
    }
    planner_.count_wish(plan);
    begin(plan);
}

void CallTrack::begin(select::Plan& plan) {
    TUTTI_ASSERT(!is_under_way_, "one call at a time");
    TUTTI_ASSERT(plan.is_reserved, "a call begins with its memory");
    planner_.started(plan);
    shape_ = plan.shape;
    word_ = sign(plan.shape.collective, plan.shape.root, plan.shape.bytes);
    if (multicast_team()) means_.multicast.route()->begin_call(call());
    is_under_way_ = true;
}

void CallTrack::start(const exec::Arguments& arguments, bool has_spare_capacity) {
    TUTTI_ASSERT(is_under_way_, "a call is taken on first");
    capacity_.start(has_spare_capacity);
    exec::Arguments buffers = arguments;
    buffers.input_bytes = shape_.input_bytes(means_.rank);
    buffers.output_bytes = shape_.output_bytes(means_.rank);
    executor_->start(*planner_.running(), call(), buffers, word_);
}

void CallTrack::leave_to_host(const select::Plan& plan) {
    planner_.count_wish(plan);
    sign(node::kLeftToHost, 0, 0);
}

transport::State CallTrack::retract() {
    const auto held = means_.multicast.hold();
    TUTTI_ASSERT(is_under_way_ && capacity_.less() != 0, "others are known to send less");
    const transport::State state = executor_->withdraw();
    if (state != transport::State::kDone) return state;
    is_under_way_ = false;
    means_.messages.log().withdraw();
    planner_.withdrawn();
    return state;
}

void CallTrack::take_on_again(select::Plan& plan) {
    capacity_.give_up(word_);
    begin(plan);
}

// The next call is this one, for messages and the node alike.
transport::CallWord CallTrack::sign(tutti_collective collective, uint32_t root, uint64_t bytes) {
    const transport::CallWord word = means_.messages.log().add(collective, root, bytes);
    if (node_) node::take_part(*node_, word.call, word.before);
    return word;
}

// ---- the call under way ------------------------------------------------------------------------

Step CallTrack::step() {
    TUTTI_ASSERT(is_under_way_, "what is stepped has been taken on");
    const Step step = means_.multicast.team() ? step_beside_multicast() : executor_->step();
    if (step == Step::kDone) is_under_way_ = false;
    return step;
}

void CallTrack::cancel() {
    const auto held = means_.multicast.hold();
    executor_->cancel();
    is_under_way_ = false;
}

// Held on all tracks: connections are the team's, and other threads use them for what is missing
// after a failure.
Step CallTrack::step_beside_multicast() {
    const auto held = means_.multicast.hold();
    if (!multicasts()) return executor_->step();
    transport::carrier::Route& route = *means_.multicast.route();
    // Others may miss what this rank sent.
    if (route.has_failed()) static_cast<void>(route.step());
    return means_.multicast.polls() ? step_by_polling() : executor_->step();
}

// Without a thread nobody repairs what others miss once this rank has left the call, and the
// embedder's own messages may then wait for theirs. So a call with multicasts ends when all that
// was sent is with everybody, and everybody knows: a barrier of the embedder's messages, which it
// moves by itself.
Step CallTrack::step_by_polling() {
    multicast::TeamMulticast& team = *means_.multicast.team();
    team.poll();
    if (wake_ == Wake::kDelivery) {
        if (!team.is_delivered()) return Step::kBlocked;
        wake_ = Wake::kBarrier;
        const transport::CallWord word = sign(TUTTI_BARRIER, 0, 0);
        executor_->start(*planner_.helpers().barrier.program, call(), {}, word);
        return Step::kAdvanced;
    }
    const Step step = executor_->step();
    if (step != Step::kDone) return step;
    if (wake_ == Wake::kNone && planner_.running()->extent().multicasts > 0) {
        wake_ = Wake::kDelivery;
        team.hasten();
        return Step::kAdvanced;
    }
    wake_ = Wake::kNone;
    return Step::kDone;
}

void CallTrack::tell_calls() {
    TrackMessages& messages = means_.messages;
    if (!messages.notes().is_on()) return;
    const auto tell = [&](uint32_t rank) {
        if (rank != means_.rank) messages.tell_calls(rank);
    };
    for (const uint32_t rank : executor_->waits_for()) tell(rank);
    // It alone knows for sure what a scatter sends.
    if (capacity_.is_spare()) tell(shape_.root);
    const node::Op* op = executor_->node_op();
    if (!op) return;
    // On the node: the rank that is awaited, or else its leader, on which most depends.
    const auto members = means_.placement.members(means_.placement.node_of(means_.rank));
    tell(members[op->awaited != node::kNoRank ? op->awaited : 0]);
}

// ---- sleeping (docs/protocol/verbs.md, "Who sleeps") -------------------------------------------

bool CallTrack::waits_for_service() const {
    const multicast::MulticastLife& multicast = means_.multicast;
    return multicast_team() && !multicast.polls() && executor_->waits_for_multicasts();
}

bool CallTrack::waits_for_node() const {
    return !means_.multicast.polls() && executor_->waits_for_node();
}

// Without a thread for multicasts this rank is the one that moves them. Others may post messages of
// the recovery under the lock.
bool CallTrack::waits_for_fabric() {
    multicast::MulticastLife& multicast = means_.multicast;
    if (!means_.networks.has_messages() || multicast.polls() ||
        !executor_->waits_for_messages(multicast.carries())) {
        return false;
    }
    const auto held = multicast.hold();
    return transport().wait_fd() >= 0;
}

// Behind a step that found nothing.
void CallTrack::sleep_for_fabric(Sleeper& sleeper, uint64_t end_ns) {
    pollfd fabric{-1, POLLIN, 0};
    {
        const auto held = means_.multicast.hold();
        fabric.fd = transport().wait_fd();
        if (fabric.fd < 0 || !transport().arm()) return;
    }
    if (means_.multicast.carries()) {
        return means_.multicast.team()->sleep(sleeper, end_ns, fabric.fd);
    }
    const uint64_t now_ns = means_.context.clock().now_ns();
    if (now_ns >= end_ns) return;
    const timespec left{0, static_cast<long>(end_ns - now_ns)};
    ppoll(&fabric, 1, &left, nullptr);
}

}  // namespace tutti::engine
