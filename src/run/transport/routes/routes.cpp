// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/routes/routes.h"

#include "base/assert.h"

namespace tutti::transport {

uint8_t Routes::add(Transport& way) {
    TUTTI_ASSERT(count_ < kWaysMax, "a team has few ways to its peers");
    TUTTI_ASSERT(!way_of_peer_.empty(), "reserve() comes first");
    ways_[count_] = &way;
    if (watched_ == 0 && way.wait_fd() >= 0) watched_ = count_;
    return count_++;
}

void Routes::use(Rank peer, uint8_t way) {
    TUTTI_ASSERT(way < count_ && peer < way_of_peer_.size(), "a way of this team");
    way_of_peer_[peer] = way;
}

State Routes::test(Ticket& ticket) {
    const State state = ways_[ticket.way]->test(ticket);
    if (state != State::kPending) discount(ticket);
    if (state == State::kFailed && !has_failed_) {
        has_failed_ = true;
        failed_ = ticket.way;
    }
    return state;
}

bool Routes::can_withdraw_receives() const {
    bool can = true;
    for (uint8_t i = 0; i < count_; ++i) can = can && ways_[i]->can_withdraw_receives();
    return can;
}

void Routes::clear_disagreement() {
    for (uint8_t i = 0; i < count_; ++i) ways_[i]->clear_disagreement();
    has_failed_ = false;
}

void Routes::poll() {
    for (uint8_t i = 0; i < count_; ++i) ways_[i]->poll();
}

void Routes::expose(std::span<std::byte> memory, Memory kind) {
    for (uint8_t i = 0; i < count_; ++i) ways_[i]->expose(memory, kind);
}

void Routes::conceal(std::span<std::byte> memory) {
    for (uint8_t i = 0; i < count_; ++i) ways_[i]->conceal(memory);
}

}  // namespace tutti::transport
