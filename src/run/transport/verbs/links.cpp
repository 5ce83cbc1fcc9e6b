// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/links.h"

#include <algorithm>
#include <cstdio>

#include "base/assert.h"
#include "run/transport/verbs/link_team.h"

namespace tutti::transport::verbs {
namespace {

// The clock costs as much as a look into the queue.
constexpr uint32_t kPollsPerClock = 256;
// So often a rank that waits for messages looks whether the other ends are there (Link::look()).
constexpr uint64_t kLookNs = 1'000'000'000;
constexpr int kFlushed = 5;  // IBV_WC_WR_FLUSH_ERR

}  // namespace

Need need_of(uint32_t links, uint32_t mtu_bytes) {
    return {links, kSends, kRecvs, size_t{2} * kSlots * kSlotBytes, kWords, mtu_bytes};
}

Links::Links(std::unique_ptr<Endpoint> endpoint, Clock& clock, uint32_t mtu_bytes, uint32_t links,
             bool polls_tails)
    : endpoint_(std::move(endpoint)),
      clock_(clock),
      share_{*endpoint_, SlotMemory(endpoint_->memory()), mtu_bytes, polls_tails, {}},
      looked_ns_(clock.now_ns()) {
    TUTTI_ASSERT(mtu_bytes >= kPacketBytesMin && mtu_bytes <= kSlotBytes,
                 "a sign is a packet, and a packet fits a slot");
    links_.reserve(links);
    for (uint32_t link = 0; link < links; ++link) links_.emplace_back(share_, link);
}

Links::~Links() = default;

void Links::join(const LinkTeam& team) {
    for (Link& link : links_) {
        link.slots().reserve_teams(team.number() + 1);
        link.peers().reserve(team.number() + 1);
    }
    share_.teams.join(team);
}

void Links::leave(const LinkTeam& team) {
    share_.teams.leave(team);
    advance_all();
}

void Links::advance_all() {
    for (Link& link : links_) link.advance();
}

void Links::fail(const LinkTeam& team) {
    if (share_.teams.fail(team)) advance_all();
}

// What it had there may be what others wait for.
void Links::forget(const LinkTeam& team) {
    if (share_.teams.forget(team)) advance_all();
}

void Links::complete(const Completion& completion) {
    if (completion.status != 0) {
        fail_by(completion);
    } else {
        links_[completion.pair].complete(completion);
    }
}

// Once: a peer that sends on and on keeps nobody here. False where there was none.
bool Links::take_completions() {
    const int found = endpoint_->poll(completions_);
    if (found < 0) {
        for (Link& link : links_) link.fail("the completion queue was overrun");
        return true;
    }
    for (int i = 0; i < found; ++i) complete(completions_[i]);
    look_for_cause();
    return found > 0;
}

void Links::give_up(Link& link) {
    link.fail("it was given up");
    without_cause_ = nullptr;
}

// All that the link had posted is flushed: receives perhaps before the write that was the cause.
void Links::fail_by(const Completion& completion) {
    Link& link = links_[completion.pair];
    const bool is_cause = completion.status != kFlushed;
    const char* why = endpoint_->status_text(completion.status);
    std::array<char, 32> status;
    std::snprintf(status.data(), status.size(), " (status %d)", completion.status);
    if (!link.has_failed()) {
        if (link.fail(why, status.data()) && !is_cause) without_cause_ = &link;
    } else if (&link == without_cause_ && is_cause) {
        link.tell_cause(why, status.data());
        without_cause_ = nullptr;
    }
}

// As far as the link's own queues may have it behind what was flushed.
void Links::look_for_cause() {
    for (uint32_t seen = 0; without_cause_ && seen < kSends + kRecvs;) {
        const int found = endpoint_->poll(completions_);
        if (found <= 0) return;
        for (int i = 0; i < found; ++i) complete(completions_[i]);
        seen += static_cast<uint32_t>(found);
    }
}

void Links::poll() {
    take_completions();
    if (++polls_ % kPollsPerClock == 0) look_if_due();
}

// A completion that has come before the queue was told to speak is not spoken of, so this looks
// behind that. Who sleeps polls seldom: the clock is looked at each time.
//
// The other ends see to it that what they have posted at once ends with a solicited event; of the
// own writes' completions only who asks for all events is told.
bool Links::arm() {
    if (polls_tails()) return false;
    look_if_due();
    bool wants_all = false;
    for (const Link& link : links_) wants_all |= link.awaits_completion();
    if (!endpoint_->arm(wants_all ? Events::kAll : Events::kSolicited)) return false;
    return !take_completions();
}

void Links::look_if_due() {
    const uint64_t now_ns = clock_.now_ns();
    if (now_ns - looked_ns_ < kLookNs) return;
    looked_ns_ = now_ns;
    for (Link& link : links_) link.look();
}

// An end that has left wants nothing more, and may be gone, so that nothing sent to it completes.
bool Links::has_left() const {
    return std::ranges::all_of(
        links_, [](const Link& link) { return link.is_over() || link.is_left_by_peer(); });
}

// One that has left and is there still waits for this end's last word.
bool Links::is_closed() const {
    return std::ranges::all_of(links_,
                               [](const Link& link) { return link.is_over() && !link.is_good(); });
}

}  // namespace tutti::transport::verbs
