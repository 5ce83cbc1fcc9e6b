// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/watch.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::mcast {

// All who wait for one member would ask it at once. It answers to everybody, so it helps them to
// begin one after the other.
Watch::Watch(const Params& params) : timing_(params.timing), peers_(params.members) {
    timing_.ask_ns_first += timing_.ask_ns_first / 4 * params.member / params.members;
}

// Behind each step.
bool Watch::is_sound() const {
    return std::ranges::all_of(peers_, [this](const Peer& peer) {
        const bool is_watched = peer.check_ns != kNever;
        return is_watched == (peer.reasons > 0) && peer.asks <= timing_.asks_max &&
               next_ns_ <= peer.check_ns;
    });
}

void Watch::wait(uint64_t now_ns, Member member) {
    Peer& peer = peers_[member];
    if (peer.reasons++ > 0) return;
    peer.heard_ns = now_ns;
    peer.asks = 0;
    peer.check_ns = now_ns + timing_.ask_ns_first;
    next_ns_ = std::min(next_ns_, peer.check_ns);
    TUTTI_ASSERT_SLOW(is_sound(), "the next look is no later than it is due");
}

void Watch::end_wait(Member member) {
    Peer& peer = peers_[member];
    TUTTI_ASSERT(peer.reasons > 0, "nobody waits for this member");
    // next_ns_ may now be too early; check() finds that out.
    if (--peer.reasons == 0) peer.check_ns = kNever;
    TUTTI_ASSERT_SLOW(is_sound(), "the next look is no later than it is due");
}

void Watch::restart(uint64_t now_ns) {
    for (Peer& peer : peers_) {
        if (peer.reasons == 0) continue;
        peer.heard_ns = now_ns;
        peer.asks = 0;
        peer.check_ns = now_ns + timing_.ask_ns_first;
    }
    next_ns_ = std::min(next_ns_, now_ns + timing_.ask_ns_first);
    TUTTI_ASSERT_SLOW(is_sound(), "the next look is no later than it is due");
}

Watch::Finding Watch::check(uint64_t now_ns, Member& member) {
    if (next_ns_ > now_ns) return Finding::kNothing;
    for (size_t i = 0; i < peers_.size(); ++i) {
        Peer& peer = peers_[i];
        if (peer.check_ns > now_ns) continue;
        const uint64_t quiet_end_ns = peer.heard_ns + timing_.ask_ns_first;
        if (peer.asks == 0 && quiet_end_ns > now_ns) {
            peer.check_ns = quiet_end_ns;
            continue;
        }
        member = static_cast<Member>(i);
        if (peer.asks >= timing_.asks_max) return Finding::kDead;
        ++peer.asks;
        peer.check_ns = now_ns + timing_.ask_ns_again;
        return Finding::kAsk;
    }
    next_ns_ = kNever;
    for (const Peer& peer : peers_) next_ns_ = std::min(next_ns_, peer.check_ns);
    TUTTI_ASSERT(next_ns_ > now_ns, "the next look is over before it was due");
    TUTTI_ASSERT_SLOW(is_sound(), "the next look is no later than it is due");
    return Finding::kNothing;
}

}  // namespace tutti::mcast
