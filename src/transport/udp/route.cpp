// SPDX-License-Identifier: BSD-3-Clause
#include "transport/udp/route.h"

#include <cstring>

#include "base/assert.h"

namespace tutti::transport::udp {
namespace {

// Fruitless tests after which a rank says for whom it waits: 50 us and more where it polls, so that
// most waits cost no word to the service, and 1 s where it naps between its tests, which is little
// beside the seconds after which a silent member counts as gone.
constexpr uint32_t kLongTries = 1000;

}  // namespace

Route::Route(Ring ring, Waker& waker, const RouteParams& params)
    : ring_(ring), waker_(waker), params_(params) {}

Route::~Route() {
    for (Posted& posted : posted_) end_wait(posted);
}

Route::Posted& Route::post(uint64_t number, size_t bytes, Ticket& ticket) {
    TUTTI_ASSERT(number == next_, "multicasts are posted in the order of their numbers");
    TUTTI_ASSERT(bytes <= kMulticastBytesMax, "a multicast longer than agreed");
    ++next_;
    Posted& posted = this->posted(number);
    TUTTI_ASSERT(!posted.is_used, "more multicasts under way than agreed");
    posted = {};
    posted.is_used = true;
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
    test(ticket);
}

void Route::recv_multicast(uint64_t number, Rank sender, std::byte* data, size_t bytes,
                           Ticket& ticket) {
    TUTTI_ASSERT(sender != params_.rank, "nobody receives from itself");
    TUTTI_ASSERT(sender < params_.member_of_rank.size(), "no such rank");
    Posted& posted = post(number, bytes, ticket);
    posted.to = data;
    posted.sender = sender;
    test(ticket);
}

State Route::test(Ticket& ticket) {
    if (ticket.state != State::kPending) return ticket.state;
    Posted& posted = this->posted(ticket.number);
    TUTTI_ASSERT(posted.is_used && posted.number == ticket.number, "a ticket of another multicast");
    ticket.state = posted.is_send ? test_send(posted) : test_recv(posted);
    if (ticket.state != State::kPending) {
        end_wait(posted);
        posted.is_used = false;
    }
    return ticket.state;
}

State Route::test_send(Posted& posted) {
    switch (ring_.fill(posted.number, params_.rank, posted.from, posted.bytes)) {
        case Ring::Fill::kNotFree:
            return State::kPending;
        case Ring::Fill::kClosed:
            return State::kFailed;
        case Ring::Fill::kDone:
            break;
    }
    ++counters_.sent;
    if (ring_.must_wake()) wake();
    return State::kDone;
}

State Route::test_recv(Posted& posted) {
    if (!ring_.has(posted.number)) {
        if (ring_.is_frozen()) return State::kFailed;
        if (++posted.tries == kLongTries) begin_wait(posted);
        return State::kPending;
    }
    const size_t bytes = ring_.bytes(posted.number);
    const bool is_right = bytes == posted.bytes;
    if (is_right && bytes > 0) std::memcpy(posted.to, ring_.data(posted.number), bytes);
    if (ring_.release(posted.number)) wake();
    ++counters_.received;
    if (is_right) return State::kDone;
    has_wrong_size_ = true;
    return State::kFailed;
}

void Route::wake() {
    ++counters_.wakes;
    waker_.wake();
}

// Own node's ranks need no word: they share its fate.
void Route::begin_wait(Posted& posted) {
    const mcast::Member member = params_.member_of_rank[posted.sender];
    if (member == params_.member_of_rank[params_.rank]) return;
    posted.is_waiting = true;
    ring_.waiters(member).fetch_add(1, std::memory_order_relaxed);
    ring_.header().waits.fetch_add(1, std::memory_order_seq_cst);
    if (ring_.must_wake()) wake();
}

// The service may learn of it when it looks for another reason.
void Route::end_wait(Posted& posted) {
    if (!posted.is_waiting) return;
    posted.is_waiting = false;
    const mcast::Member member = params_.member_of_rank[posted.sender];
    ring_.waiters(member).fetch_sub(1, std::memory_order_relaxed);
    ring_.header().waits.fetch_add(1, std::memory_order_seq_cst);
}

std::string Route::error() const {
    if (has_wrong_size_) return "multicast: a message has not the length that its receiver expects";
    return "multicast: node " + std::to_string(ring_.dead()) + " of the team is gone";
}

}  // namespace tutti::transport::udp
