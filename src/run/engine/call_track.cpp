// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/call_track.h"

#include <poll.h>
#include <time.h>

#include "base/assert.h"

namespace tutti::engine {

void CallTrack::attach(node::Team* node, transport::Transport& network, bool is_faulty) {
    node_ = node;
    network_ = &network;
    is_faulty_ = is_faulty;
    executor_ = std::make_unique<exec::Executor>(node, network, means_.multicast.route());
    executor_->set_clock(means_.context.clock());
}

Result<Done> CallTrack::reserve(select::Plan& plan) {
    if (plan.is_reserved) return Done{};
    auto reserved =
        executor_->reserve(plan.program->extent(), means_.context.settings().scratch_bytes);
    plan.is_reserved = static_cast<bool>(reserved);
    return reserved;
}

// ---- the next call -----------------------------------------------------------------------------

void CallTrack::take_on(select::Plan& plan) {
    capacity_.is_spare = false;
    capacity_.is_given_up = false;
    capacity_.less = 0;
    // A plan for a team without: the group has failed, and in this call all do without it.
    if (!plan.shape.has_multicast && !means_.planner.is_helper(plan)) {
        means_.multicast.went_without();
    }
    means_.planner.count_wish(plan);
    begin(plan);
}

void CallTrack::begin(select::Plan& plan) {
    TUTTI_ASSERT(!is_under_way_, "one call at a time");
    TUTTI_ASSERT(plan.is_reserved, "a call begins with its memory");
    means_.planner.started(plan);
    shape_ = plan.shape;
    word_ = sign(plan.shape.collective, plan.shape.root, plan.shape.bytes);
    if (means_.multicast.team()) means_.multicast.route()->begin_call(means_.log.number());
    is_under_way_ = true;
}

void CallTrack::start(const exec::Arguments& arguments, bool has_spare_capacity) {
    TUTTI_ASSERT(is_under_way_, "a call is taken on first");
    capacity_.is_spare = has_spare_capacity;
    exec::Arguments buffers = arguments;
    buffers.input_bytes = shape_.input_bytes(means_.rank);
    buffers.output_bytes = shape_.output_bytes(means_.rank);
    executor_->start(*means_.planner.running(), means_.log.number(), buffers, word_);
}

void CallTrack::leave_to_host(const select::Plan& plan) {
    means_.planner.count_wish(plan);
    sign(node::kLeftToHost, 0, 0);
}

// The next call is this one, for messages and the node alike.
transport::CallWord CallTrack::sign(tutti_collective collective, uint32_t root, uint64_t bytes) {
    const transport::CallWord word = means_.log.add(collective, root, bytes);
    if (node_) node::take_part(*node_, word.call, word.before);
    return word;
}

// ---- the call under way ------------------------------------------------------------------------

Step CallTrack::step() {
    const Step step = means_.multicast.team() ? step_multicast() : executor_->step();
    if (step == Step::kDone) is_under_way_ = false;
    return step;
}

void CallTrack::cancel() {
    const auto held = means_.multicast.hold();
    executor_->cancel();
    is_under_way_ = false;
}

Step CallTrack::step_multicast() {
    const auto held = means_.multicast.hold();
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
        executor_->start(*means_.planner.helpers().barrier.program, means_.log.number(), {}, word);
        return Step::kAdvanced;
    }
    const Step step = executor_->step();
    if (step != Step::kDone) return step;
    if (wake_ == Wake::kNone && means_.planner.running()->extent().multicasts > 0) {
        wake_ = Wake::kDelivery;
        team.hasten();
        return Step::kAdvanced;
    }
    wake_ = Wake::kNone;
    return Step::kDone;
}

// ---- sleeping (docs/protocol/verbs.md, "Who sleeps") -------------------------------------------

bool CallTrack::waits_for_service() const {
    const multicast::MulticastLife& multicast = means_.multicast;
    return multicast.team() && !multicast.polls() && executor_->waits_for_multicasts();
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
    return network_->wait_fd() >= 0;
}

// Behind a step that found nothing.
void CallTrack::sleep_for_fabric(Sleeper& sleeper, uint64_t end_ns) {
    pollfd fabric{-1, POLLIN, 0};
    {
        const auto held = means_.multicast.hold();
        fabric.fd = network_->wait_fd();
        if (fabric.fd < 0 || !network_->arm()) return;
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
