// SPDX-License-Identifier: BSD-3-Clause
#include "adapt/meeting.h"

#include "base/assert.h"

namespace tutti::adapt {

Meeting::Meeting(uint32_t members, uint32_t fan_in, uint32_t member, Releases releases)
    : place_(place_in_tree(members, fan_in, member)),
      releases_(releases),
      saturations_{Saturation(place_.neighbours()), Saturation(place_.neighbours())} {}

Actions Meeting::arrive() {
    TUTTI_ASSERT(!is_in_call_, "one call at a time");
    is_in_call_ = true;
    return follow(of(call_).arrive());
}

std::optional<Actions> Meeting::take(uint64_t call, Kind kind, uint32_t neighbour) {
    if (neighbour >= place_.neighbours()) return {};
    if (kind == Kind::kRelease) {
        // It comes from where this member's part went, and nobody has one who is not in the call.
        const bool is_due = call == call_ && is_in_call_ && saturation(call).sent_to() == neighbour;
        if (!is_due || releases_ == Releases::kByMulticast) return {};
        return release(neighbour);
    }
    // The multicast overtook the part of one who had everything, too.
    if (call < call_ && releases_ == Releases::kByMulticast) return Actions{};
    const bool is_next = call == call_ + 1 && is_in_call_;
    if (call != call_ && !is_next) return {};
    if (of(call).has_heard(neighbour)) return {};
    return follow(of(call).hear(neighbour));
}

std::optional<Actions> Meeting::take_multicast(uint64_t call) {
    if (releases_ != Releases::kByMulticast) return {};
    // Of two who had everything one released the others, and both were gone before.
    if (call < call_) return Actions{};
    if (call != call_ || !is_in_call_ || !saturation(call).sent_to()) return {};
    Actions actions;
    leave(actions);
    return actions;
}

Actions Meeting::follow(const Saturation::Verdict& verdict) {
    switch (verdict.then) {
        case Saturation::Then::kSend:
            return {{Action::What::kSend, Kind::kPart, verdict.neighbour}};
        case Saturation::Then::kRelease:
            return release({});
        case Saturation::Then::kReleaseSide:
            return release(verdict.neighbour);
        default:
            return {};
    }
}

// All neighbours but one, if there is one, who has everything itself.
Actions Meeting::release(std::optional<uint32_t> but) {
    Actions actions;
    if (releases_ == Releases::kByMulticast) {
        const bool is_first = !but || place_.member < place_.neighbour(*but);
        if (is_first && place_.neighbours() > 0)
            actions.push_back({Action::What::kMulticast, Kind::kRelease, 0});
    } else {
        for (uint32_t other = 0; other < place_.neighbours(); ++other) {
            if (other != but) actions.push_back({Action::What::kSend, Kind::kRelease, other});
        }
    }
    leave(actions);
    return actions;
}

void Meeting::leave(Actions& actions) {
    actions.push_back({Action::What::kLeave, Kind::kPart, 0});
    of(call_) = Saturation(place_.neighbours());
    ++call_;
    is_in_call_ = false;
}

}  // namespace tutti::adapt
