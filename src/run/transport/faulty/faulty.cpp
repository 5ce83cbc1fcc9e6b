// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/faulty/faulty.h"

#include <algorithm>
#include <span>

namespace tutti::transport {

void Faulty::send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
                  Ticket& ticket) {
    post({true, 0, peer, id, data, nullptr, bytes, &ticket});
}

void Faulty::recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes, Ticket& ticket) {
    post({false, 0, peer, id, nullptr, data, bytes, &ticket});
}

void Faulty::pass_on(const Post& post) {
    if (post.is_send) {
        inner_.send(post.peer, post.id, post.source, post.bytes, *post.ticket);
    } else {
        inner_.recv(post.peer, post.id, post.target, post.bytes, *post.ticket);
    }
}

// Posts of one slot and peer and direction keep their order: none goes before an earlier one.
void Faulty::post(Post post) {
    post.ticket->state = State::kFailed;
    has_failed_ = has_failed_ || ++posts_ == faults_.fail_at_post;
    if (has_failed_) return;
    post.tests_left = static_cast<uint32_t>(prng_.below(uint64_t{faults_.hold_tests_max} + 1));
    for (uint32_t i = 0; i < count_; ++i) {
        const Post& earlier = held_[i];
        if (earlier.is_send == post.is_send && earlier.peer == post.peer &&
            earlier.id.slot == post.id.slot) {
            post.tests_left = std::max(post.tests_left, earlier.tests_left);
        }
    }
    if (post.tests_left == 0) {
        pass_on(post);
        return;
    }
    if (count_ == kHeldMax) {
        for (Post& earlier : held_) earlier.tests_left = 0;
        pass_on_due();
    }
    post.ticket->state = State::kPending;
    held_[count_++] = post;
}

void Faulty::pass_on_due() {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count_; ++i) {
        if (held_[i].tests_left == 0) {
            pass_on(held_[i]);
        } else {
            held_[kept++] = held_[i];
        }
    }
    count_ = kept;
}

State Faulty::test(Ticket& ticket) {
    if (has_failed_ && ticket.state == State::kPending) ticket.state = State::kFailed;
    if (has_failed_) return ticket.state;
    for (uint32_t i = 0; i < count_; ++i) --held_[i].tests_left;
    pass_on_due();
    const std::span posts(held_.data(), count_);
    const bool is_held = std::any_of(posts.begin(), posts.end(),
                                     [&](const Post& post) { return post.ticket == &ticket; });
    return is_held ? State::kPending : inner_.test(ticket);
}

// True if it was held.
bool Faulty::drop_held(const Ticket& ticket) {
    Post* const end = held_.data() + count_;
    Post* const kept =
        std::remove_if(held_.data(), end, [&](const Post& post) { return post.ticket == &ticket; });
    count_ = static_cast<uint32_t>(kept - held_.data());
    return kept != end;
}

void Faulty::cancel(Ticket& ticket) {
    if (!drop_held(ticket)) return inner_.cancel(ticket);
    ticket.state = State::kFailed;
}

State Faulty::withdraw_receive(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
                               Ticket& ticket) {
    if (has_failed_) return State::kFailed;
    return drop_held(ticket) ? State::kDone
                             : inner_.withdraw_receive(peer, id, data, bytes, ticket);
}

std::string Faulty::error() const {
    if (!has_failed_) return inner_.error();
    return "post " + std::to_string(faults_.fail_at_post) + " fails on purpose, seed " +
           std::to_string(faults_.seed);
}

}  // namespace tutti::transport
