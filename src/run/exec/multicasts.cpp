// SPDX-License-Identifier: BSD-3-Clause
// Multicasts, sent and received, begin in the order of their numbers and complete in any.
#include <algorithm>
#include <functional>

#include "run/exec/state.h"

namespace tutti::exec {

using sched::Operation;
static_assert(sched::kMulticastBytesMax == transport::kMulticastBytesMax);
static_assert(sched::kMulticastsInFlightMax == transport::kMulticastsInFlightMax);

// A program reads its rounds in order, so most are put in front of all others.
void Executor::State::queue_multicast(Ref ref) {
    TUTTI_ASSERT(route != nullptr, "multicasts need the team's route");
    const uint64_t order = operation_of(ref).order;
    std::vector<Ref>& ready = multicasts.ready;
    const auto place = std::ranges::lower_bound(
        ready, order, std::greater<>(), [this](Ref other) { return operation_of(other).order; });
    ready.insert(place, ref);
}

void Executor::State::post_multicast(Ref ref) {
    const Operation& operation = operation_of(ref);
    const uint64_t number = multicasts.base + multicasts.next;
    multicasts.posted[multicasts.next++ % sched::kMulticastsInFlightMax] = ref;
    transport::Ticket& ticket = task_of(ref).ticket;
    if (sched::is_multicast_send(operation)) {
        route->multicast(number, at(ref, operation.left), operation.left.bytes, ticket);
    } else {
        route->recv_multicast(number, operation.peer, at(ref, operation.to), operation.to.bytes,
                              ticket);
    }
}

// A number is complete; those that are so without a gap leave the window.
void Executor::State::finish_number(uint64_t number) {
    multicasts.complete |= uint32_t{1} << (number - multicasts.first);
    while ((multicasts.complete & 1) != 0) {
        multicasts.complete >>= 1;
        ++multicasts.first;
    }
}

void Executor::State::finish_multicast(uint64_t number) {
    finish_number(number);
    complete(multicasts.posted[number % sched::kMulticastsInFlightMax]);
}

// True if it is over.
bool Executor::State::post_release(Ref ref) {
    if (!step_release(ref)) return false;
    multicasts.ready.pop_back();
    multicasts.posted[multicasts.next % sched::kMulticastsInFlightMax] = ref;
    finish_number(multicasts.next++);
    // Else it comes along the tree.
    if (slot_of(ref).meet.release == Meet::Release::kOver) complete(ref);
    return true;
}

// Posts no more than may be under way at a time, so that a step ends even if each is complete at
// once and lets another begin.
bool Executor::State::post_multicasts() {
    bool has_moved = false;
    std::vector<Ref>& ready = multicasts.ready;
    for (uint32_t left = sched::kMulticastsInFlightMax; left > 0 && !ready.empty(); --left) {
        const Ref ref = ready.back();
        if (operation_of(ref).order != multicasts.next) break;
        if (multicasts.next - multicasts.first == sched::kMulticastsInFlightMax) break;
        if (sched::is_meet(operation_of(ref).kind)) {
            if (!post_release(ref)) break;
            has_moved = true;
            continue;
        }
        ready.pop_back();
        post_multicast(ref);
        has_moved = true;
        if (task_of(ref).ticket.state == transport::State::kDone) {
            finish_multicast(multicasts.next - 1);
        }
    }
    return has_moved;
}

bool Executor::State::poll_multicasts() {
    bool has_moved = false;
    const uint64_t end = multicasts.next;
    for (uint64_t number = multicasts.first; number < end; ++number) {
        if (multicasts.is_complete(number)) continue;
        const Ref ref = multicasts.posted[number % sched::kMulticastsInFlightMax];
        const transport::State state = route->test(task_of(ref).ticket);
        if (state == transport::State::kPending) continue;
        if (state == transport::State::kFailed) {
            context.fail(route->error());
            return true;
        }
        has_moved = true;
        finish_multicast(number);
    }
    return has_moved;
}

// Those that have come make room for others.
bool Executor::State::step_multicasts() {
    const bool has_posted = post_multicasts();
    const bool has_moved = poll_multicasts();
    if (has_moved && !context.has_failed) post_multicasts();
    return has_posted || has_moved;
}

}  // namespace tutti::exec
