// SPDX-License-Identifier: BSD-3-Clause
// Additions to a word of rank 0's to which all of the team add, and of which each is told what it
// was before (run/transport/transport.h). All come through rank 0's device, also those of rank 0,
// which has a connection with itself for them: only so is none lost (IBV_ATOMIC_HCA). Nobody looks
// at the word but so.
//
// The completion of an addition says that the former value is here, so who sleeps asks for it. One
// that does not reach rank 0 fails, and its pair with it, so nobody looks whether that is there.
#include <algorithm>

#include "base/assert.h"
#include "run/transport/verbs/rc.h"

namespace tutti::transport::verbs {

void Rc::use_adders(Rank ranks) {
    TUTTI_ASSERT(is_counted_at(0), "all add to rank 0's word");
    adders_ = ranks;
}

bool Rc::is_counted_at(Rank peer) const {
    const auto found = std::ranges::find(peers_, peer);
    return found != peers_.end() && is_counted(static_cast<uint32_t>(found - peers_.begin()));
}

void Rc::fetch_add(uint64_t amount, Ticket& ticket) {
    TUTTI_ASSERT(adders_ != 0 && !adding_.is_under_way, "one addition at a time");
    ticket.state = State::kFailed;
    if (refuses(kAdderPair, true)) return;
    ticket.state = State::kPending;
    adding_ = {&ticket, amount, 0, true};
    post_addition();
}

// Or sees that it has been made: writes of that pair are complete in their order.
void Rc::post_addition() {
    Slots& slots = this->slots(kAdderPair);
    if (!is_adding()) return;
    if (adding_.number != 0) {
        if (slots.writes().is_complete(adding_.number)) end_addition(State::kDone);
        return;
    }
    mark(kAdderPair);
    if (!slots.writes().may_begin()) return;
    Add add;
    add.word = kArrivals;
    add.amount = adding_.amount;
    add.former = kArrivalsBefore;
    add.is_signaled = true;
    add.number = adding_.number = slots.write();
    if (adding_.amount != 0) ++additions_;
    is_posted(kAdderPair, endpoint().add(pairs_[kAdderPair].link, add));
}

void Rc::end_addition(State state) {
    if (!adding_.is_under_way) return;
    adding_.is_under_way = false;
    if (!adding_.ticket) return;
    if (state == State::kDone) adding_.ticket->number = endpoint().words()[kArrivalsBefore];
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
