// SPDX-License-Identifier: BSD-3-Clause
// The end of a team across nodes: what it still owes to others when its member has freed it.
#include <sched.h>

#include <algorithm>
#include <utility>

#include "run/engine/inter_node.h"

namespace tutti::engine {

void InterNode::part_with(std::unique_ptr<InterNode> inter_node, bool is_sound) {
    for (const auto& one : inter_node->messages_) one->notes().drain();
    Context& context = inter_node->context_;
    if (!inter_node->retire(is_sound)) context.remnants().keep(std::move(inter_node));
}

void InterNode::withdraw() { context_.process_multicast().withdraw(*this); }

bool InterNode::retire(bool is_sound) {
    is_sound_ = is_sound;
    multicast_.leave(is_sound);
    if (is_over()) {
        withdraw();
        return true;
    }
    // Others may take long, and need nothing of the calls, which are over.
    if (is_sound) {
        {
            // Another thread may help this team on.
            const auto held = hold();
            for (const auto& track : tracks_) track->detach();
        }
    }
    return false;
}

bool InterNode::is_over() {
    const auto has_told = [](const auto& one) { return one->notice().is_over(); };
    if (!std::ranges::all_of(messages_, has_told)) return false;
    if (!is_sound_) give_up_memory();
    const auto is_busy = [](const auto& one) { return one->notes().is_busy(); };
    return is_sound_ && std::ranges::none_of(messages_, is_busy) && !multicast_.is_needed() &&
           !must_keep_messages();
}

// Of a failed team's calls. Others may still come by its messages for what they miss, also where
// multicast fails only now.
void InterNode::give_up_memory() {
    if (!networks_.has_messages() || multicast_.is_needed()) return;
    const auto held = hold();
    networks_.give_up();
}

// What goes on after a failure of multicast does so by messages, so they end last.
bool InterNode::must_keep_messages() {
    const auto held = hold();
    return !networks_.close();
}

// What others miss of this rank's multicasts goes to them as messages, if they come for it soon.
// Only the end of the context finds anything to wait for: see retire().
InterNode::~InterNode() {
    withdraw();
    multicast_.settle_at_end(context_.clock(), context_.settle_end_ns(),
                             [this] { context_.progress(); });
    settle_messages();
}

void InterNode::settle_messages() {
    const uint64_t end_ns = context_.settle_end_ns();
    while (!networks_.has_settled(is_sound_) && context_.clock().now_ns() < end_ns) sched_yield();
}

}  // namespace tutti::engine
