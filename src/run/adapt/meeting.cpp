// SPDX-License-Identifier: BSD-3-Clause
#include "run/adapt/meeting.h"

#include "base/assert.h"

namespace tutti::adapt {

void Meeting::restart(uint32_t neighbours, bool has_parent, Releases releases) {
    neighbours_ = neighbours;
    has_parent_ = has_parent;
    releases_ = releases;
    call_ = 0;
    is_in_call_ = false;
    for (Saturation& one : saturations_) one.restart(neighbours);
}

void Meeting::check() const {
    const Saturation& next = saturation(call_ + 1);
    TUTTI_ASSERT(saturation(call_).has_arrived() == is_in_call_,
                 "it is in the call that it entered");
    TUTTI_ASSERT(!next.has_arrived(), "it has arrived in a call that it did not enter");
    TUTTI_ASSERT(!next.sent_to(), "it has sent a part of a call that it did not enter");
}

Orders Meeting::arrive() {
    TUTTI_ASSERT(!is_in_call_, "one call at a time");
    is_in_call_ = true;
    const Orders orders = follow(of(call_).arrive());
    check();
    return orders;
}

std::optional<Orders> Meeting::take(uint64_t call, Kind kind, uint32_t neighbour) {
    if (neighbour >= neighbours_) return {};
    if (kind == Kind::kRelease) {
        // It comes from where this member's part went, and nobody has one who is not in the call.
        const bool is_due = call == call_ && is_in_call_ && saturation(call).sent_to() == neighbour;
        if (!is_due || releases_ == Releases::kByMulticast) return {};
        return release(neighbour);
    }
    // The multicast overtook the part of one who had everything, too.
    if (call < call_ && releases_ == Releases::kByMulticast) return Orders{};
    const bool is_next = call == call_ + 1 && is_in_call_;
    if (call != call_ && !is_next) return {};
    if (of(call).has_heard(neighbour)) return {};
    const Orders orders = follow(of(call).hear(neighbour));
    check();
    return orders;
}

std::optional<Orders> Meeting::take_multicast(uint64_t call) {
    if (releases_ != Releases::kByMulticast) return {};
    // Of two who had everything one released the others, and both were gone before.
    if (call < call_) return Orders{};
    if (call != call_ || !is_in_call_ || !saturation(call).sent_to()) return {};
    leave();
    return Orders{.what = Orders::What::kNothing, .neighbour = {}, .leaves = true};
}

Orders Meeting::follow(const Saturation::Verdict& verdict) {
    switch (verdict.then) {
        case Saturation::Then::kSend:
            return {.what = Orders::What::kSendPart, .neighbour = verdict.neighbour};
        case Saturation::Then::kRelease:
            return release({});
        case Saturation::Then::kReleaseSide:
            return release(verdict.neighbour);
        default:
            return {};
    }
}

// All neighbours but one, if there is one, who has everything itself. Of two who both have it, the
// parent multicasts.
Orders Meeting::release(std::optional<uint32_t> but) {
    Orders orders{.what = Orders::What::kNothing, .neighbour = but, .leaves = true};
    if (releases_ == Releases::kByMulticast) {
        const bool is_first = !(has_parent_ && but == 0u);
        if (is_first && neighbours_ > 0) orders.what = Orders::What::kMulticast;
    } else if (neighbours_ > (but ? 1u : 0u)) {
        orders.what = Orders::What::kRelease;
    }
    leave();
    return orders;
}

void Meeting::leave() {
    TUTTI_ASSERT(is_in_call_, "a member leaves the call that it is in");
    of(call_).restart(neighbours_);
    ++call_;
    is_in_call_ = false;
    check();
}

}  // namespace tutti::adapt
