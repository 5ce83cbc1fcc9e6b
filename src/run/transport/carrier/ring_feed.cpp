// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/ring_feed.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::transport::carrier {
namespace {

mcast::MessageName name_of(uint64_t number) {
    return {kRingTeam, static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), 0};
}

// Of a message that no slot holds. No rank expects so many, so its tickets fail.
constexpr size_t kTooLong = UINT32_MAX;

}  // namespace

Feed::Feed(Ring ring, mcast::Group& group)
    : ring_(ring), group_(group), waits_for_(ring.members()) {
    TUTTI_ASSERT(group.params().posts_max >= ring.slots(), "a group can post every slot");
    TUTTI_ASSERT(group.params().members == ring.members(), "the ring's table has every member");
    for (uint32_t i = 0; i < ring_.slots(); ++i) places_[i].number = i;
}

Feed::~Feed() {
    // Nobody's silence counts any more, and the group writes into the ring no longer.
    for (mcast::Member member = 0; member < ring_.members(); ++member) {
        if (waits_for_[member]) group_.end_expect(member);
    }
    for (uint32_t i = 0; i < ring_.slots(); ++i) {
        if (places_[i].at == At::kPosted) group_.release(now_ns_, places_[i].post);
    }
}

void Feed::advance(uint64_t now_ns) {
    now_ns_ = now_ns;
    // Before the look at what ranks filled: who has left fills nothing later.
    left_seen_ = ring_.header().left.load(std::memory_order_seq_cst);
    if (is_frozen_) return;
    if (group_.contradicted() || ring_.is_contradicted()) return fail(now_ns);
    // Also after a failure: what this node has acknowledged must be readable here.
    finish_posts(now_ns);
    const auto dead = group_.given_up();
    if (dead && !is_closed_) close(*dead);
    release_delivered(now_ns);
    if (group_.failure()) {
        ring_.freeze();
        is_frozen_ = true;
        return;
    }
    watch_waits(now_ns);
    collect_filled(now_ns);
    write_filled(now_ns);
    post_free(now_ns);
    // What was in the pool may have been the whole of it.
    finish_posts(now_ns);
    if (is_closed_ && to_write_count_ == 0) group_.end_writing(now_ns);
}

// A member is ahead of this one by one round of slots for each of the others at most: a number that
// its own node sent is at its place here before the next one of that slot, so each round between
// has a sender of its own. And what this node has, or sends itself, no other member sends.
bool Feed::may_come(const mcast::Data& data) const {
    const uint64_t number = data.name.call | uint64_t{data.name.message} << 32;
    const SlotWork& place = places_[number & (ring_.slots() - 1)];
    const bool is_taken = place.at == At::kToWrite || place.at == At::kHeld;
    const bool is_near = number >= place.number + (is_taken ? 1 : 0) &&
                         number - place.number <= uint64_t{ring_.slots()} * ring_.members();
    return is_near && data.name.lane == 0 && data.total <= kMulticastBytesMax;
}

// Nobody knows what of all that came was the members' own, so nothing is sent again: all ranks are
// told (recovery.h), and their calls fail.
void Feed::fail(uint64_t now_ns) {
    ring_.contradict();
    group_.abandon(now_ns, group_.contradicted().value_or(group_.params().member));
    if (!is_closed_) close(group_.given_up().value());
    ring_.freeze();
    is_frozen_ = true;
}

// Ranks that have left wait for this or for the failure. Of a ring that is frozen they take part in
// the recovery, for the sake of ranks that know less.
void Feed::end() {
    if (!is_frozen_) ring_.end();
}

// What ranks have filled still goes, on the detour. They may not have counted all of it yet.
void Feed::close(mcast::Member dead) {
    ring_.close(dead);
    is_closed_ = true;
    has_freed_ = true;
    filled_seen_ = UINT64_MAX;
}

// ---------------------------------------------------------------- from here to the others

void Feed::collect_filled(uint64_t now_ns) {
    const uint64_t filled = ring_.header().filled.load(std::memory_order_seq_cst);
    if (filled == filled_seen_) return;
    filled_seen_ = filled;
    const uint32_t before = to_write_count_;
    // A look that finds nothing new was a look at everything that was full before any of those
    // found so far became full.
    while (collect_once(now_ns)) {
    }
    std::sort(to_write_.begin() + before, to_write_.begin() + to_write_count_);
}

bool Feed::collect_once(uint64_t now_ns) {
    const uint32_t before = to_write_count_;
    for (uint32_t i = 0; i < ring_.slots(); ++i) {
        SlotWork& place = places_[i];
        const bool is_looked_at = place.at == At::kIdle || place.at == At::kPosted;
        if (!is_looked_at || !ring_.is_filled_here(place.number)) continue;
        if (place.at == At::kPosted) {
            // Part of it has come from another member: perhaps into what the rank had filled.
            if (group_.inbox().sender(place.post) != mcast::kNobody) ring_.contradict();
            group_.release(now_ns, place.post);
        }
        place.at = At::kToWrite;
        newest_ = std::max(newest_, place.number);
        to_write_[to_write_count_++] = place.number;
    }
    return to_write_count_ > before;
}

void Feed::write_filled(uint64_t now_ns) {
    uint32_t written = 0;
    while (written < to_write_count_) {
        const uint64_t number = to_write_[written];
        if (!is_writing_) {
            outgoing_ = {name_of(number), {ring_.data(number), ring_.bytes(number)}, 0, false};
            is_writing_ = true;
        }
        if (!group_.write(now_ns, outgoing_)) break;
        is_writing_ = false;
        SlotWork& place = this->place(number);
        place.at = At::kHeld;
        place.held_until = group_.sender().written_end();
        ++held_;
        ++written;
    }
    if (written == 0) return;
    std::copy(to_write_.begin() + written, to_write_.begin() + to_write_count_, to_write_.begin());
    to_write_count_ -= written;
    ring_.header().sent.fetch_add(written, std::memory_order_relaxed);
}

void Feed::release_delivered(uint64_t now_ns) {
    if (held_ == 0) return;
    const uint64_t placed_end = group_.sender().placed_end();
    const SlotWork* oldest = nullptr;
    for (uint32_t i = 0; i < ring_.slots(); ++i) {
        SlotWork& place = places_[i];
        if (place.at != At::kHeld) continue;
        if (place.held_until > placed_end) {
            if (!oldest || place.number < oldest->number) oldest = &place;
            continue;
        }
        has_freed_ |= ring_.release_hold(place.number);
        --held_;
        move_on(place);
    }
    // Half a round later its slot is needed; acknowledgements take their time unless asked for.
    const bool is_late = oldest && newest_ >= oldest->number + ring_.slots() / 2;
    if (!is_late || oldest->held_until <= hastened_until_) return;
    group_.hasten(now_ns);
    hastened_until_ = group_.sender().written_end();
}

// ---------------------------------------------------------------- from the others to here

void Feed::finish_posts(uint64_t now_ns) {
    const uint64_t completed = group_.inbox().completed_posts();
    if (completed == completed_seen_) return;
    completed_seen_ = completed;
    uint32_t received = 0;
    for (uint32_t i = 0; i < ring_.slots(); ++i) {
        SlotWork& place = places_[i];
        if (place.at != At::kPosted) continue;
        const mcast::PostState state = group_.inbox().state(place.post);
        if (state == mcast::PostState::kPending) continue;
        const bool is_right = state == mcast::PostState::kDone;
        // If not, advance() finds it contradicted.
        const size_t bytes = is_right ? group_.inbox().message_bytes(place.post) : kTooLong;
        if (!ring_.publish(place.number, bytes)) return;
        group_.release(now_ns, place.post);
        newest_ = std::max(newest_, place.number);
        move_on(place);
        ++received;
    }
    if (received > 0) ring_.header().received.fetch_add(received, std::memory_order_relaxed);
}

void Feed::post_free(uint64_t now_ns) {
    const uint64_t freed = ring_.header().freed.load(std::memory_order_seq_cst);
    if (freed == freed_seen_ && !has_freed_) return;
    freed_seen_ = freed;
    has_freed_ = false;
    for (uint32_t i = 0; i < ring_.slots(); ++i) {
        SlotWork& place = places_[i];
        if (place.at != At::kIdle || !ring_.is_open(place.number)) continue;
        const auto posted = group_.post_any(now_ns, name_of(place.number),
                                            {ring_.data(place.number), kMulticastBytesMax});
        TUTTI_ASSERT(posted, "a group can post every slot");
        place.post = posted.value();
        place.at = At::kPosted;
    }
}

void Feed::move_on(SlotWork& place) {
    place.number += ring_.slots();
    place.at = At::kIdle;
}

// ---------------------------------------------------------------- waiting

void Feed::watch_waits(uint64_t now_ns) {
    const uint32_t waits = ring_.header().waits.load(std::memory_order_seq_cst);
    if (waits == waits_seen_) return;
    waits_seen_ = waits;
    for (mcast::Member member = 0; member < ring_.members(); ++member) {
        if (member == group_.params().member) continue;
        const bool is_wanted = ring_.waiters(member).load(std::memory_order_relaxed) > 0;
        if (is_wanted == waits_for_[member]) continue;
        waits_for_[member] = is_wanted;
        if (is_wanted) {
            group_.expect(now_ns, member);
        } else {
            group_.end_expect(member);
        }
    }
}

// First the word, then a last look; ranks do it the other way round, all sequentially consistent.
bool Feed::may_sleep() {
    RingHeader& header = ring_.header();
    const bool wants_slots = !is_frozen_ && group_.inbox().pooled_packets() > 0;
    header.sleep.store(wants_slots ? RingHeader::kWakeIfFilledOrFreed : RingHeader::kWakeIfFilled,
                       std::memory_order_seq_cst);
    const bool is_idle = header.left.load(std::memory_order_seq_cst) == left_seen_ &&
                         (is_frozen_ || has_seen_all(wants_slots));
    if (!is_idle) header.sleep.store(RingHeader::kAwake, std::memory_order_seq_cst);
    return is_idle;
}

bool Feed::has_seen_all(bool wants_slots) const {
    const RingHeader& header = ring_.header();
    return header.filled.load(std::memory_order_seq_cst) == filled_seen_ &&
           !ring_.is_contradicted() &&
           header.waits.load(std::memory_order_seq_cst) == waits_seen_ &&
           (!wants_slots || header.freed.load(std::memory_order_seq_cst) == freed_seen_) &&
           is_closed_ == group_.given_up().has_value() && !group_.failure();
}

void Feed::wake_for_all() {
    ring_.header().sleep.store(RingHeader::kWakeIfFilledOrFreed, std::memory_order_seq_cst);
}

void Feed::wake_up() { ring_.header().sleep.store(RingHeader::kAwake, std::memory_order_relaxed); }

}  // namespace tutti::transport::carrier
