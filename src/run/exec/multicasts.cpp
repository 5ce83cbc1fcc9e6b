// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/multicasts.h"

#include <algorithm>
#include <functional>

namespace tutti::exec {

static_assert(sched::kMulticastBytesMax == transport::kMulticastBytesMax);
static_assert(sched::kMulticastsInFlightMax == transport::kMulticastsInFlightMax);

void Multicasts::set_route(transport::Multicast* route) {
    TUTTI_ASSERT(call_.slots.is_over(), "between calls");
    route_ = route;
    base_ = 0;
    count_ = 0;  // The last call had no numbers of this route.
}

void Multicasts::start(uint64_t count) {
    base_ += count_;
    count_ = count;
    next_ = first_ = 0;
    complete_ = 0;
    ready_.clear();
}

// The next call's numbers follow on those that this one was said to have.
void Multicasts::check_end() const {
    TUTTI_ASSERT(next_ == count_, "a program has as many multicasts as its extent says");
    TUTTI_ASSERT(first_ == next_, "a call ends when all of its multicasts are complete");
    TUTTI_ASSERT(ready_.empty(), "none waits for its turn");
}

// A program reads its rounds in order, so most are put in front of all others.
void Multicasts::begin(Ref ref) {
    TUTTI_ASSERT(route_ != nullptr, "multicasts need the team's route");
    const uint64_t order = call_.slots.operation_of(ref).order;
    TUTTI_ASSERT(order >= next_, "each number is posted once");
    const auto place = std::ranges::lower_bound(ready_, order, std::greater<>(), [this](Ref other) {
        return call_.slots.operation_of(other).order;
    });
    ready_.insert(place, ref);
}

// The one whose turn it is has its number from here on.
Ref Multicasts::take_number() {
    TUTTI_ASSERT(is_next_ready(), "multicasts begin in the order of their numbers");
    TUTTI_ASSERT(next_ - first_ < posted_.size(), "no more are under way than may be");
    const Ref ref = ready_.back();
    ready_.pop_back();
    posted_[next_++ % posted_.size()] = ref;
    return ref;
}

bool Multicasts::post() {
    const uint64_t number = next_;
    const Ref ref = take_number();
    const sched::Operation& operation = call_.slots.operation_of(ref);
    transport::Ticket& ticket = call_.slots.ticket_of(ref);
    if (sched::is_multicast_send(operation)) {
        route_->multicast(base_ + number, call_.at(ref, operation.left), operation.left.bytes,
                          ticket);
    } else {
        route_->recv_multicast(base_ + number, operation.peer, call_.at(ref, operation.to),
                               operation.to.bytes, ticket);
    }
    if (ticket.state != transport::State::kDone) return false;
    finish(number);
    return true;
}

// A number is complete; those that are so without a gap leave the window.
void Multicasts::finish(uint64_t number) {
    TUTTI_ASSERT(!is_complete(number) && number < next_, "a number is complete once");
    complete_ |= uint32_t{1} << (number - first_);
    while ((complete_ & 1) != 0) {
        complete_ >>= 1;
        ++first_;
    }
}

void Multicasts::finish_meeting() {
    take_number();
    finish(next_ - 1);
}

std::optional<Ref> Multicasts::test(uint64_t number) {
    if (is_complete(number)) return {};
    const Ref ref = posted(number);
    const transport::State state = route_->test(call_.slots.ticket_of(ref));
    if (state == transport::State::kPending) return {};
    if (state == transport::State::kFailed) {
        call_.fail(route_->error());
        return {};
    }
    finish(number);
    return ref;
}

void Multicasts::add_waits(std::vector<sched::Rank>& ranks) const {
    for (uint64_t number = first_; number < next_; ++number) {
        const sched::Operation& operation = call_.slots.operation_of(posted(number));
        const bool comes =
            sched::is_multicast(operation.kind) && !sched::is_multicast_send(operation);
        if (comes && !is_complete(number)) ranks.push_back(operation.peer);
    }
}

}  // namespace tutti::exec
