// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/faulty/faulty_multicast.h"

#include "base/assert.h"

namespace tutti::transport {

void FaultyMulticast::multicast(uint64_t number, const std::byte* data, size_t bytes,
                                Ticket& ticket) {
    post({true, number, 0, data, nullptr, bytes, &ticket});
}

void FaultyMulticast::recv_multicast(uint64_t number, Rank sender, std::byte* data, size_t bytes,
                                     Ticket& ticket) {
    post({false, number, sender, nullptr, data, bytes, &ticket});
}

void FaultyMulticast::pass_on(const Post& post) {
    if (post.is_send) {
        inner_.multicast(post.number, post.source, post.bytes, *post.ticket);
    } else {
        inner_.recv_multicast(post.number, post.sender, post.target, post.bytes, *post.ticket);
    }
}

void FaultyMulticast::post(const Post& post) {
    post.ticket->state = State::kFailed;
    has_failed_ = has_failed_ || ++posts_ == faults_.fail_at_post;
    if (has_failed_) return;
    const uint64_t hold = prng_.below(uint64_t{faults_.hold_tests_max} + 1);
    if (count_ == 0 && hold == 0) {
        pass_on(post);
        return;
    }
    TUTTI_ASSERT(count_ < held_.size(), "so many multicasts are under way and no more");
    if (count_ == 0) tests_left_ = hold;
    post.ticket->state = State::kPending;
    held_[(first_ + count_++) % held_.size()] = post;
}

Multicast::Sought FaultyMulticast::seek(uint64_t number, std::byte* data, size_t bytes) {
    if (has_failed_) return Sought::kFailed;
    if (prng_.below(uint64_t{faults_.hold_tests_max} + 1) != 0) return Sought::kNotYet;
    return inner_.seek(number, data, bytes);
}

Multicast::Sought FaultyMulticast::offer(uint64_t number, const std::byte* data, size_t bytes) {
    if (has_failed_) return Sought::kFailed;
    if (prng_.below(uint64_t{faults_.hold_tests_max} + 1) != 0) return Sought::kNotYet;
    return inner_.offer(number, data, bytes);
}

State FaultyMulticast::test(Ticket& ticket) {
    if (has_failed_ && ticket.state == State::kPending) ticket.state = State::kFailed;
    if (has_failed_) return ticket.state;
    if (count_ > 0 && tests_left_ > 0) --tests_left_;
    while (count_ > 0 && tests_left_ == 0) {
        const Post next = held_[first_];
        first_ = (first_ + 1) % static_cast<uint32_t>(held_.size());
        --count_;
        pass_on(next);
        tests_left_ = prng_.below(uint64_t{faults_.hold_tests_max} + 1);
    }
    for (uint32_t i = 0; i < count_; ++i) {
        if (held_[(first_ + i) % held_.size()].ticket == &ticket) return State::kPending;
    }
    return inner_.test(ticket);
}

void FaultyMulticast::call_off() {
    count_ = 0;
    inner_.call_off();
}

std::string FaultyMulticast::error() const {
    if (!has_failed_) return inner_.error();
    return "multicast post " + std::to_string(faults_.fail_at_post) + " fails on purpose, seed " +
           std::to_string(faults_.seed);
}

}  // namespace tutti::transport
