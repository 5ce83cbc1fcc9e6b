// SPDX-License-Identifier: BSD-3-Clause
// Before a sleep; and the look whether others are there, which who sleeps does there.
#include <algorithm>
#include <bit>

#include "transport/verbs/rc.h"

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
bool Rc::arm() {
    if (polls_tails_) return false;
    look_if_due();
    const bool wants_all = std::any_of(pairs_.get(), pairs_.get() + peers_.size(),
                                       [this](const Pair& at) { return awaits_completion(at); });
    if (!endpoint_->arm(wants_all ? Events::kAll : Events::kSolicited)) return false;
    return !take_completions();
}

// Something here goes on when own writes are complete, perhaps without a word of the other end.
bool Rc::awaits_completion(const Pair& at) const {
    if (adding_.is_under_way && &at == &pairs_[kAdderPair]) return true;
    if (at.has_failed) return false;
    if (is_closing_ || !at.slots.may_write()) return true;
    if (at.offering != 0 && at.slots.awaits_completion(kOffers)) return true;
    for (uint32_t left = at.sending; left != 0; left &= left - 1) {
        const auto stream = static_cast<uint32_t>(std::countr_zero(left));
        const Direct direct = at.streams[stream].sends.first->direct;
        if (direct == Direct::kAnnounced) continue;  // an offer wakes
        if (direct == Direct::kOffered || direct == Direct::kTold) return true;
        if (at.slots.awaits_completion(stream)) return true;
    }
    return false;
}

void Rc::look_if_due() {
    const uint64_t now_ns = clock_.now_ns();
    if (now_ns - looked_ns_ < kLookNs) return;
    looked_ns_ = now_ns;
    for (uint32_t pair = 0; pair < peers_.size(); ++pair) look(pair);
}

// One at a time, of which more are not needed to learn that nobody is there.
void Rc::look(uint32_t pair) {
    Pair& at = pairs_[pair];
    const bool waits = (at.recving | at.sending | at.counting) != 0;
    if (!waits || at.has_failed || !at.slots.is_complete(at.look_number)) return;
    if (!at.slots.may_write()) return;
    Write write;
    write.tells = false;
    write.is_signaled = true;
    write.number = at.look_number = at.slots.write();
    post(pair, write);
}

}  // namespace tutti::transport::verbs
