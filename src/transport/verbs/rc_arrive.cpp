// SPDX-License-Identifier: BSD-3-Clause
// Additions to a word of rank 0's to which all of the team add, and of which each is told what it
// was before (transport/transport.h). All come through rank 0's device, also those of rank 0, which
// has a connection with itself for them: only so is none lost (IBV_ATOMIC_HCA). Nobody looks at the
// word but so.
//
// The completion of an addition says that the former value is here, so who sleeps asks for it. One
// that does not reach rank 0 fails, and its pair with it, so nobody looks whether that is there.
#include <algorithm>

#include "base/assert.h"
#include "transport/verbs/rc.h"

namespace tutti::transport::verbs {

void Rc::use_adders(Rank ranks) {
    TUTTI_ASSERT(is_counted_at(0), "all add to rank 0's word");
    adders_ = ranks;
}

bool Rc::is_counted_at(Rank peer) const {
    const auto found = std::ranges::find(peers_, peer);
    return found != peers_.end() && pairs_[found - peers_.begin()].is_counted;
}

void Rc::fetch_add(uint64_t amount, Ticket& ticket) {
    TUTTI_ASSERT(adders_ != 0 && !adding_.is_under_way, "one addition at a time");
    ticket.state = State::kFailed;
    if (refuses(kAdderPair, true)) return;
    ticket.state = State::kPending;
    adding_ = {&ticket, amount, 0, true};
    post_addition();
}

void Rc::post_addition() {
    Slots& slots = pairs_[kAdderPair].slots;
    const bool is_posted_yet = adding_.number != 0;
    if (!adding_.is_under_way || is_posted_yet || !slots.may_write()) return;
    Add add;
    add.word = kArrivals;
    add.amount = adding_.amount;
    add.former = kArrivalsBefore;
    add.is_signaled = true;
    add.number = adding_.number = slots.write();
    if (adding_.amount != 0) ++additions_;
    is_posted(kAdderPair, endpoint_->add(kAdderPair, add));
}

// Writes of that pair up to this one are complete.
void Rc::complete_addition(uint64_t number) {
    if (!adding_.is_under_way || adding_.number == 0 || adding_.number > number) return;
    end_addition(State::kDone);
}

void Rc::end_addition(State state) {
    if (!adding_.is_under_way) return;
    adding_.is_under_way = false;
    if (!adding_.ticket) return;
    if (state == State::kDone) adding_.ticket->number = endpoint_->words()[kArrivalsBefore];
    adding_.ticket->state = state;
}

// What was posted happens all the same, and nobody is told.
bool Rc::cancel_addition(Ticket& ticket) {
    if (!adding_.is_under_way || adding_.ticket != &ticket) return false;
    ticket.state = State::kFailed;
    adding_.ticket = nullptr;
    adding_.is_under_way = adding_.number != 0;
    return true;
}

}  // namespace tutti::transport::verbs
