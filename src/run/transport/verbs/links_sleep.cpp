// SPDX-License-Identifier: BSD-3-Clause
// Before a sleep; and the look whether others are there, which who sleeps does there.
#include "run/transport/verbs/links.h"
#include "run/transport/verbs/rc.h"

namespace tutti::transport::verbs {
namespace {

// Whoever waits for a message looks so often whether the other end is there: a write of no bytes,
// which needs nobody's attention there, fails where its queue pair or host is gone.
constexpr uint64_t kLookNs = 1'000'000'000;

}  // namespace

// A completion that has come before the queue was told to speak is not spoken of, so this looks
// behind that. Who sleeps polls seldom: the clock is looked at each time.
//
// The other ends see to it that what they have posted at once ends with a solicited event; of the
// own writes' completions only who asks for all events is told.
bool Links::arm() {
    if (polls_tails_) return false;
    look_if_due();
    bool wants_all = false;
    for (uint32_t link = 0; link < count_; ++link) wants_all |= awaits_completion(link);
    if (!endpoint_->arm(wants_all ? Events::kAll : Events::kSolicited)) return false;
    return !take_completions();
}

// Something here goes on when own writes are complete, perhaps without a word of the other end.
bool Links::awaits_completion(uint32_t link) const {
    const Link& at = links_[link];
    if (!at.can_go()) return false;
    if (teams_.is_closing() || !at.slots.writes().may_begin()) return true;
    if (at.slots.has_to_tell_unexpected() && at.slots.awaits_completion(kSigns)) return true;
    return teams_.any_by(link, [link](const Rc& team) { return team.awaits_completion(link); });
}

void Links::look_if_due() {
    const uint64_t now_ns = clock_.now_ns();
    if (now_ns - looked_ns_ < kLookNs) return;
    looked_ns_ = now_ns;
    for (uint32_t link = 0; link < count_; ++link) look(link);
}

// One at a time, of which more are not needed to learn that nobody is there.
void Links::look(uint32_t link) {
    Link& at = links_[link];
    if (at.has_failed || !at.slots.writes().is_complete(at.look_number)) return;
    const auto is_awaited = [link](const Rc& team) { return team.is_awaiting(link); };
    if (!teams_.any_by(link, is_awaited) || !at.slots.writes().may_begin()) return;
    Write write;
    write.tells = false;
    write.is_signaled = true;
    write.number = at.look_number = at.slots.write();
    post(link, write);
}

}  // namespace tutti::transport::verbs
