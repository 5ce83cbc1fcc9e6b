// SPDX-License-Identifier: BSD-3-Clause
// Receives that a call has given back, to begin anew as one of fewer bytes. A short one stays
// posted: its memory is the transport's, and what has come, or will, is for the next receive of that
// peer and tag. A long one is cancelled; what had come to it goes along.
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "transport/p2p/p2p.h"

namespace tutti::transport {

// What is posted must not be written to any more. A message that has met its receive comes soon;
// who waits in vain all the same leaves the memory to it.
P2p::~P2p() {
    bool are_over = true;
    for (Aside& aside : aside_) are_over = (aside.has_come || stop(aside)) && are_over;
    if (are_over) return;
    for (std::unique_ptr<Parcel[]>& parcels : parcels_) static_cast<void>(parcels.release());
}

bool P2p::stop(Aside& aside) {
    constexpr int kTurnsMax = 10'000;
    int is_done = 0;
    if (callbacks_.cancel(callbacks_.user, &aside.handle, &is_done) != 0) return false;
    for (int turn = 0; is_done == 0 && turn < kTurnsMax; ++turn) {
        if (callbacks_.test(callbacks_.user, &aside.handle, &is_done) != 0) return false;
        if (is_done == 0) sched_yield();
    }
    return is_done != 0;
}

State P2p::set_aside(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
                     Ticket& ticket) {
    const bool has_failed = ticket.state == State::kFailed;
    const Failure why = ticket.parcel ? Failure::kWord : Failure::kSize;
    if (has_failed && failure_ != why) return State::kFailed;
    try {
        Aside aside{peer, tag_of(id, bytes), static_cast<Parcel*>(ticket.parcel), ticket.handle};
        aside_.reserve(aside_.size() + 1);
        aside.has_come = has_failed;
        aside.bytes = received_bytes_;
        if (!aside.parcel && has_failed) {
            if (aside.bytes > bytes) return State::kFailed;
            aside.data.assign(data, data + aside.bytes);
        } else if (!aside.parcel) {
            int is_done = 0;
            if (callbacks_.cancel(callbacks_.user, &ticket.handle, &is_done) != 0) {
                return State::kFailed;
            }
            if (is_done == 0) return State::kPending;
            if (is_done == 1) return State::kDone;
            aside.has_come = true;
            aside.bytes = reinterpret_cast<uintptr_t>(ticket.handle);
            if (aside.bytes <= bytes) aside.data.assign(data, data + aside.bytes);
        }
        aside_.push_back(std::move(aside));
    } catch (const std::bad_alloc&) {
        return State::kFailed;
    }
    return State::kDone;
}

void P2p::make_up() {
    failure_ = Failure::kNone;
    disagreement_ = {};
}

bool P2p::take_aside(Rank peer, uint32_t tag, const CallWord& word, std::byte* data, size_t bytes,
                     Ticket& ticket) {
    const auto found = std::find_if(aside_.begin(), aside_.end(), [&](const Aside& one) {
        return one.peer == peer && one.tag == tag;
    });
    if (found == aside_.end()) return false;
    const Aside aside = std::move(*found);
    aside_.erase(found);
    ticket.number = peer;
    ticket.bytes = bytes;
    ticket.handle = aside.handle;
    ticket.parcel = aside.parcel;
    ticket.state = State::kPending;
    if (aside.parcel) {
        aside.parcel->word = word;
        aside.parcel->target = data;
    } else if (aside.bytes == bytes) {
        std::memcpy(data, aside.data.data(), bytes);
    }
    if (aside.has_come) complete(ticket, aside.is_known, aside.bytes);
    return true;
}

Rank P2p::rank_of(uint32_t number) const {
    if (peers_.empty()) return number;
    const auto found = std::find(peers_.begin(), peers_.end(), number);
    return static_cast<Rank>(found - peers_.begin());
}

// As the probe has seen it, this does not wait for anybody.
Disagreement P2p::take_stray(uint32_t slot) {
    uint32_t number = 0;
    int is_there = 0;
    const uint32_t tag = first_tag_ + slot;
    if (failure_ != Failure::kNone || !callbacks_.probe) return {};
    if (callbacks_.probe(callbacks_.user, tag, &number, &is_there) != 0 || is_there == 0) return {};
    aside_.reserve(aside_.size() + 1);
    Ticket ticket;
    Parcel* parcel = take_parcel(ticket, {});
    if (!parcel) return {};
    Aside aside{rank_of(number), tag, parcel};
    if (callbacks_.recv(callbacks_.user, parcel->bytes.data(), parcel->bytes.size(), number, tag,
                        &aside.handle) != 0) {
        return {};
    }
    int is_done = 0;
    while (is_done == 0) {
        if (callbacks_.test(callbacks_.user, &aside.handle, &is_done) != 0) return {};
        if (is_done == 0) sched_yield();
    }
    aside.has_come = true;
    aside.is_known = is_done == 2;
    aside.bytes = aside.is_known ? reinterpret_cast<uintptr_t>(aside.handle) : 0;
    aside_.push_back(aside);
    uint64_t word[2] = {};
    if (aside.bytes < sizeof word || aside.bytes > parcel->bytes.size()) return {};
    std::memcpy(word, parcel->bytes.data() + aside.bytes - sizeof word, sizeof word);
    return {true, true, aside.peer, {word[0], word[1], 0}};
}

bool P2p::find_stray(uint32_t slot, uint32_t kind, uint32_t other, Rank& peer) {
    uint32_t number = 0;
    int is_there = 0;
    if (kind % kinds_ == other % kinds_) return false;
    if (failure_ != Failure::kNone || !callbacks_.probe) return false;
    const uint32_t tag = long_tag(slot, kind);
    if (callbacks_.probe(callbacks_.user, tag, &number, &is_there) != 0) return false;
    peer = rank_of(number);
    return is_there != 0;
}

}  // namespace tutti::transport
