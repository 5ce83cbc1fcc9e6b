// SPDX-License-Identifier: BSD-3-Clause
// The end of a team across nodes: what it still owes to others when its member has freed it.
#include <sched.h>

#include <new>

#include "run/engine/inter_node.h"

namespace tutti::engine {
void InterNode::withdraw() { context_.process_multicast().withdraw(*this); }

bool InterNode::retire(bool is_sound) {
    {
        const std::lock_guard lock(multicast_mutex_);
        is_sound_ = is_sound;
        if (multicast_.route) multicast_.route->leave();
    }
    if (is_over()) {
        withdraw();
        return true;
    }
    // Others may take long, and need nothing of the calls, which are over.
    if (is_sound) {
        {
            // Another thread may help this team on.
            const auto held = hold();
            executor_.reset();
        }
        plans_.forget();
        check_ = {};
        barrier_ = {};
    }
    return false;
}

bool InterNode::is_over() {
    {
        const std::lock_guard lock(notice_mutex_);
        if (is_notifying_) return false;
    }
    if (!is_sound_) give_up_memory();
    return is_sound_ && !notes_.is_busy() && !must_keep_multicasts() && !must_keep_messages();
}

// Of a failed team's calls. Others may still come by its messages for what they miss, also where
// multicast fails only now.
void InterNode::give_up_memory() {
    if (must_keep_multicasts()) return;
    const auto held = hold();
    networks_.give_up();
}

// Others may come for what they miss of this rank's, as long as they have not freed the team too.
bool InterNode::must_keep_multicasts() {
    if (!multicast_.route) return false;
    const auto held = hold();
    if (polls_) multicast_.route->poll();
    return multicast_.route->route().is_needed();
}

// What goes on after a failure of multicast does so by messages, so they end last.
bool InterNode::must_keep_messages() {
    const std::lock_guard lock(multicast_mutex_);
    return !networks_.close();
}

// This team will not say that the host is back; another one may find it silent again.
void InterNode::forget_silence(uint32_t node) {
    try {
        context_.process_multicast().answers_again(host_text(node));
    } catch (const std::bad_alloc&) {
        // A line for people is left away.
    }
}

// What others miss of this rank's multicasts goes to them as messages, if they come for it soon.
// Only the end of the context finds anything to wait for: see retire().
InterNode::~InterNode() {
    withdraw();
    settle_multicasts();
    settle_messages();
}

void InterNode::settle_messages() {
    const uint64_t end_ns = context_.settle_end_ns();
    while (!networks_.has_settled(is_sound_) && context_.clock().now_ns() < end_ns) sched_yield();
}

void InterNode::settle_multicasts() {
    if (!multicast_.route) return;
    transport::carrier::Route& route = multicast_.route->route();
    if (has_told_failure_ && is_teller(route.dead())) forget_silence(route.dead());
    const uint64_t end_ns = context_.settle_end_ns();
    while (route.has_failed() && route.step() == transport::State::kPending &&
           context_.clock().now_ns() < end_ns) {
        context_.progress();
        context_.process_multicast().attend_all();
        sched_yield();
    }
}

}  // namespace tutti::engine
