// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/route.h"

#include <cstring>

#include "base/assert.h"

namespace tutti::transport::carrier {
namespace {

// Fruitless tests after which a rank says for whom it waits: 50 us and more where it polls, so that
// most waits cost no word to the service, and 1 s where it sleeps between its tests, which is
// little beside the seconds after which a silent member counts as gone.
constexpr uint32_t kLongTries = 1000;

constexpr uint32_t bit_of(uint64_t number) { return 1u << number % kMulticastsInFlightMax; }

}  // namespace

Route::Route(Ring ring, Waker& waker, const RouteParams& params)
    : ring_(ring), waits_(ring, waker, params.member_of_rank, params.rank), params_(params) {
    if (!params.network) return;
    const auto ranks = static_cast<Rank>(params.member_of_rank.size());
    recovery_.emplace(ring, *params.network, params.rank, ranks);
}

Route::~Route() {
    call_off();
    watch_all(false);
}

void Route::expect_turn(uint64_t number, size_t bytes) const {
    TUTTI_ASSERT(number == progress_.next, "multicasts are posted in the order of their numbers");
    TUTTI_ASSERT(bytes <= kMulticastBytesMax, "a multicast longer than agreed");
    TUTTI_ASSERT((progress_.under_way & bit_of(number)) == 0,
                 "more multicasts under way than agreed");
}

Route::Posted& Route::post(uint64_t number, size_t bytes, Ticket& ticket) {
    expect_turn(number, bytes);
    Posted& posted = this->posted(number);
    ++progress_.next;
    progress_.under_way |= bit_of(number);
    posted = {};
    posted.number = number;
    posted.bytes = bytes;
    ticket.number = number;
    ticket.handle = nullptr;
    ticket.state = State::kPending;
    return posted;
}

void Route::multicast(uint64_t number, const std::byte* data, size_t bytes, Ticket& ticket) {
    Posted& posted = post(number, bytes, ticket);
    posted.is_send = true;
    posted.from = data;
    posted.sender = params_.rank;
    if (goes_by_messages()) make_message(posted);
    test(ticket);
}

void Route::recv_multicast(uint64_t number, Rank sender, std::byte* data, size_t bytes,
                           Ticket& ticket) {
    TUTTI_ASSERT(sender != params_.rank, "nobody receives from itself");
    TUTTI_ASSERT(sender < params_.member_of_rank.size(), "no such rank");
    Posted& posted = post(number, bytes, ticket);
    posted.to = data;
    posted.sender = sender;
    if (goes_by_messages()) make_message(posted);
    test(ticket);
}

State Route::test(Ticket& ticket) {
    if (ticket.state != State::kPending) return ticket.state;
    Posted& posted = this->posted(ticket.number);
    TUTTI_ASSERT(progress_.is_under_way(ticket.number), "a multicast that is not under way");
    if (has_failed()) step();
    if (posted.is_message) {
        ticket.state = test_message(posted);
    } else {
        ticket.state = posted.is_send ? test_send(posted) : test_recv(posted);
    }
    if (ticket.state != State::kPending) {
        end_wait(posted);
        progress_.under_way &= ~bit_of(ticket.number);
    }
    return ticket.state;
}

State Route::test_send(Posted& posted) {
    switch (ring_.fill(posted.number, params_.rank, posted.from, posted.bytes)) {
        case Ring::Fill::kNotFree:
            return State::kPending;
        case Ring::Fill::kContradicted:
            waits_.wake();
            return ring_.is_frozen() ? without_ring() : State::kPending;
        case Ring::Fill::kClosed:
            return without_ring();
        case Ring::Fill::kDone:
            break;
    }
    ++counters_.sent;
    if (ring_.must_wake()) waits_.wake();
    return State::kDone;
}

State Route::test_recv(Posted& posted) {
    // In this order: what a frozen ring does not show it never will.
    const bool is_frozen = ring_.is_frozen();
    if (!ring_.has(posted.number)) {
        if (is_frozen) return without_ring();
        if (++posted.tries == kLongTries) posted.is_waiting = waits_.begin(posted.sender);
        return State::kPending;
    }
    return read_ring(posted.number, posted.to, posted.bytes);
}

State Route::read_ring(uint64_t number, std::byte* data, size_t bytes) {
    const bool is_right = ring_.bytes(number) == bytes;
    if (is_right && bytes > 0) std::memcpy(data, ring_.data(number), bytes);
    if (ring_.release(number)) waits_.wake();
    ++counters_.received;
    if (is_right) return State::kDone;
    has_wrong_size_ = true;
    return State::kFailed;
}

// Who is to send it nobody knows, so nobody's silence counts here: whoever calls this for long has
// the service watch_all().
Multicast::Sought Route::seek(uint64_t number, std::byte* data, size_t bytes) {
    const Sought sought = try_seek(number, data, bytes);
    sought_from_ = sought == Sought::kNotYet ? kFilledRings : 0;
    return sought;
}

// Who offers it alone knows that all have come; nobody else does.
Multicast::Sought Route::offer(uint64_t number, const std::byte* data, size_t bytes) {
    const Sought sought = try_offer(number, data, bytes);
    sought_from_ = sought == Sought::kNotYet ? kFreedRings : 0;
    return sought;
}

Multicast::Sought Route::try_seek(uint64_t number, std::byte* data, size_t bytes) {
    expect_turn(number, bytes);
    // In this order, as in test_recv().
    const bool is_frozen = ring_.is_frozen();
    if (ring_.has(number)) {
        ++progress_.next;
        return read_ring(number, data, bytes) == State::kDone ? Sought::kDone : Sought::kFailed;
    }
    return is_frozen ? seek_without_ring(number, data, bytes) : Sought::kNotYet;
}

Multicast::Sought Route::try_offer(uint64_t number, const std::byte* data, size_t bytes) {
    expect_turn(number, bytes);
    switch (ring_.fill(number, params_.rank, data, bytes)) {
        case Ring::Fill::kNotFree:
            return Sought::kNotYet;
        case Ring::Fill::kContradicted:
            waits_.wake();
            return ring_.is_frozen() ? pass_unheld(number) : Sought::kNotYet;
        case Ring::Fill::kClosed:
            return ring_.is_frozen() ? pass_unheld(number) : Sought::kNotYet;
        case Ring::Fill::kDone:
            break;
    }
    ++progress_.next;
    ++counters_.sent;
    if (!ring_.must_wake()) return Sought::kDone;
    if (leaves_offers_) {
        waits_.wake_thread();
    } else {
        waits_.wake();
    }
    return Sought::kDone;
}

// Of a number that was to be offered here, and by nobody else.
Multicast::Sought Route::pass_unheld(uint64_t number) {
    if (!recovery_ || step() == State::kFailed) return Sought::kFailed;
    if (!has_handed_over_) return Sought::kNotYet;
    TUTTI_ASSERT(!recovery_->holder_of(number), "one rank alone offers a number");
    ++progress_.next;
    return Sought::kNobody;
}

// What anybody holds all have been told of by the time that recovery is ready.
Multicast::Sought Route::seek_without_ring(uint64_t number, std::byte* data, size_t bytes) {
    if (!recovery_ || step() == State::kFailed) return Sought::kFailed;
    if (!has_handed_over_) return Sought::kNotYet;
    if (!is_seeking_message_) {
        const std::optional<Rank> holder = recovery_->holder_of(number);
        if (!holder) {
            ++progress_.next;
            return Sought::kNobody;
        }
        recovery_->recv(number, *holder, data, bytes, sought_);
        ++counters_.received_as_messages;
        is_seeking_message_ = true;
    }
    const State state = recovery_->test(sought_);
    if (state == State::kPending) return Sought::kNotYet;
    is_seeking_message_ = false;
    ++progress_.next;
    return state == State::kDone ? Sought::kDone : Sought::kFailed;
}

Ringers Route::awaited() const {
    Ringers awaited = sought_from_;
    progress_.for_all_under_way([&](uint64_t number) {
        awaited |= posted_[number % kMulticastsInFlightMax].is_send ? kFreedRings : kFilledRings;
    });
    return awaited;
}

void Route::end_wait(Posted& posted) {
    if (!posted.is_waiting) return;
    posted.is_waiting = false;
    waits_.end(posted.sender);
}

RouteCounters Route::counters() const {
    RouteCounters counters = counters_;
    counters.wakes = waits_.wakes();
    return counters;
}

// Of a team that was broken something may be under way, which nobody waits for any more.
void Route::leave() {
    for (Posted& posted : posted_) end_wait(posted);
    if (ring_.leave_team()) waits_.wake();
}

// ---------------------------------------------------------------- after a failure

void Route::begin_call(uint64_t call) {
    if (recovery_) recovery_->begin_call(call);
}

State Route::step() {
    if (!has_failed()) return State::kDone;
    if (!recovery_) return State::kFailed;
    recovery_->step(progress_);
    if (recovery_->has_failed()) {
        // What is under way is the caller's memory again, as soon as it hears of that.
        cancel_messages();
        return State::kFailed;
    }
    if (recovery_->is_ready() && !has_handed_over_) hand_over();
    return recovery_->is_settled() ? State::kDone : State::kPending;
}

State Route::without_ring() const {
    return recovery_ && !recovery_->has_failed() ? State::kPending : State::kFailed;
}

// All that is under way and cannot come by the ring, in the order of numbers.
void Route::hand_over() {
    has_handed_over_ = true;
    counters_.missed_by_others = recovery_->missed_by_others();
    progress_.for_all_under_way([&](uint64_t number) { make_message(posted(number)); });
}

void Route::make_message(Posted& posted) {
    if (posted.is_send) {
        posted.item = recovery_->send(posted.number, posted.from, posted.bytes);
    } else if (!ring_.has(posted.number)) {
        recovery_->recv(posted.number, posted.sender, posted.to, posted.bytes, posted.ticket);
        ++counters_.received_as_messages;
    } else {
        return;
    }
    posted.is_message = true;
}

State Route::test_message(Posted& posted) {
    if (recovery_->has_failed()) return State::kFailed;
    if (!posted.is_send) return recovery_->test(posted.ticket);
    return recovery_->is_sent(posted.item) ? State::kDone : State::kPending;
}

void Route::cancel_messages() {
    if (!recovery_) return;
    recovery_->call_off();
    for (Posted& posted : posted_) recovery_->cancel(posted.ticket);
    recovery_->cancel(sought_);
    is_seeking_message_ = false;
}

void Route::call_off() {
    cancel_messages();
    for (Posted& posted : posted_) end_wait(posted);
    sought_from_ = 0;
    progress_.under_way = 0;
    progress_.is_called_off = true;
}

std::string Route::error() const {
    if (is_contradicted()) {
        return "multicast: packets came that the hosts cannot all have sent, so some were forged "
               "or changed (docs/protocol/multicast.md has what TUTTI_MCAST_CODE protects)";
    }
    if (has_failed() && recovery_) return params_.network->error();
    if (has_wrong_size_) return "multicast: a message has not the length that its receiver expects";
    return "multicast: node " + std::to_string(ring_.dead()) + " of the team is gone";
}

}  // namespace tutti::transport::carrier
