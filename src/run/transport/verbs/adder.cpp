// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/adder.h"

#include "base/assert.h"

namespace tutti::transport::verbs {

void Adder::use(Rank ranks, Link& link) {
    TUTTI_ASSERT(!is_under_way_, "nothing is under way");
    ranks_ = ranks;
    link_ = &link;
}

void Adder::begin(uint64_t amount, Ticket& ticket) {
    TUTTI_ASSERT(!is_under_way_, "one addition at a time");
    ticket.state = State::kPending;
    ticket_ = &ticket;
    amount_ = amount;
    write_ = 0;
    is_under_way_ = true;
    go_on();
}

// Writes of a link are complete in their order.
void Adder::go_on() {
    if (!is_under_way_) return;
    Slots& slots = link_->slots();
    if (write_ != 0) {
        if (slots.writes().is_complete(write_)) end(State::kDone);
        return;
    }
    link_->mark(number_);
    if (!slots.writes().may_begin()) return;
    Add add;
    add.word = kArrivals;
    add.amount = amount_;
    add.former = kArrivalsBefore;
    add.is_signaled = true;
    add.number = write_ = slots.write();
    if (amount_ != 0) ++count_;
    link_->is_posted(link_->share().endpoint.add(link_->number(), add));
}

void Adder::end(State state) {
    if (!is_under_way_) return;
    is_under_way_ = false;
    if (!ticket_) return;
    if (state == State::kDone) ticket_->number = link_->share().endpoint.words()[kArrivalsBefore];
    ticket_->state = state;
}

bool Adder::cancel(Ticket& ticket) {
    if (!is_under_way_ || ticket_ != &ticket) return false;
    ticket.state = State::kFailed;
    ticket_ = nullptr;
    is_under_way_ = write_ != 0;
    return true;
}

}  // namespace tutti::transport::verbs
