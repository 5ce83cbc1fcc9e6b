// SPDX-License-Identifier: BSD-3-Clause
// Receives that a call has given back, to begin anew as one of fewer bytes. A short one stays
// posted: its memory is the transport's, and what has come, or will, is for the next receive of
// that peer and tag. A long one is cancelled; what had come to it goes along.
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "run/transport/p2p/p2p.h"

namespace tutti::transport {

// What is posted must not be written to any more. A message that has met its receive comes soon.
// If it does not, its memory is never freed.
P2p::~P2p() {
    bool are_over = true;
    for (Unexpected& unexpected : unexpected_)
        are_over = (unexpected.has_come || stop(unexpected)) && are_over;
    if (are_over) return;
    for (std::unique_ptr<Parcel[]>& parcels : parcels_) static_cast<void>(parcels.release());
}

bool P2p::stop(Unexpected& unexpected) {
    constexpr int kTurnsMax = 10'000;
    int is_done = 0;
    if (callbacks_.cancel(callbacks_.user, &unexpected.handle, &is_done) != 0) return false;
    for (int turn = 0; is_done == 0 && turn < kTurnsMax; ++turn) {
        if (callbacks_.test(callbacks_.user, &unexpected.handle, &is_done) != 0) return false;
        if (is_done == 0) sched_yield();
    }
    return is_done != 0;
}

State P2p::withdraw_receive(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
                            Ticket& ticket) {
    const bool has_failed = ticket.state == State::kFailed;
    const Failure why = ticket.parcel ? Failure::kWord : Failure::kSize;
    if (!callbacks_.cancel || (has_failed && failure_ != why)) return State::kFailed;
    try {
        Unexpected unexpected{peer, tag_of(id, bytes), static_cast<Parcel*>(ticket.parcel),
                              ticket.handle};
        unexpected_.reserve(unexpected_.size() + 1);
        unexpected.has_come = has_failed;
        unexpected.bytes = received_bytes_;
        if (!unexpected.parcel && has_failed) {
            if (unexpected.bytes > bytes) return State::kFailed;
            unexpected.data.assign(data, data + unexpected.bytes);
        } else if (!unexpected.parcel) {
            int is_done = 0;
            if (callbacks_.cancel(callbacks_.user, &ticket.handle, &is_done) != 0) {
                return State::kFailed;
            }
            if (is_done == 0) return State::kPending;
            if (is_done == 1) return State::kDone;
            unexpected.has_come = true;
            unexpected.bytes = reinterpret_cast<uintptr_t>(ticket.handle);
            if (unexpected.bytes <= bytes) unexpected.data.assign(data, data + unexpected.bytes);
        }
        unexpected_.push_back(std::move(unexpected));
    } catch (const std::bad_alloc&) {
        return State::kFailed;
    }
    return State::kDone;
}

void P2p::clear_disagreement() {
    failure_ = Failure::kNone;
    disagreement_ = {};
}

bool P2p::take_unexpected(Rank peer, uint32_t tag, const CallWord& word, std::byte* data,
                          size_t bytes, Ticket& ticket) {
    const auto found =
        std::find_if(unexpected_.begin(), unexpected_.end(),
                     [&](const Unexpected& one) { return one.peer == peer && one.tag == tag; });
    if (found == unexpected_.end()) return false;
    const Unexpected unexpected = std::move(*found);
    unexpected_.erase(found);
    ticket.number = peer;
    ticket.bytes = bytes;
    ticket.handle = unexpected.handle;
    ticket.parcel = unexpected.parcel;
    ticket.state = State::kPending;
    if (unexpected.parcel) {
        unexpected.parcel->word = word;
        unexpected.parcel->target = data;
    } else if (unexpected.bytes == bytes || (ticket.may_be_short && unexpected.bytes < bytes)) {
        std::memcpy(data, unexpected.data.data(), unexpected.bytes);
    }
    if (unexpected.has_come) complete(ticket, unexpected.is_known, unexpected.bytes);
    return true;
}

Rank P2p::rank_of(uint32_t number) const {
    if (peers_.empty()) return number;
    const auto found = std::find(peers_.begin(), peers_.end(), number);
    return static_cast<Rank>(found - peers_.begin());
}

// As the probe has seen it, this does not wait for anybody.
Disagreement P2p::find_unexpected(uint32_t slot) {
    uint32_t number = 0;
    int is_there = 0;
    const uint32_t tag = first_tag_ + slot;
    if (failure_ != Failure::kNone || !callbacks_.probe) return {};
    if (callbacks_.probe(callbacks_.user, tag, &number, &is_there) != 0 || is_there == 0) return {};
    unexpected_.reserve(unexpected_.size() + 1);
    Ticket ticket;
    Parcel* parcel = take_parcel(ticket, {});
    if (!parcel) return {};
    Unexpected unexpected{rank_of(number), tag, parcel};
    if (callbacks_.recv(callbacks_.user, parcel->bytes.data(), parcel->bytes.size(), number, tag,
                        &unexpected.handle) != 0) {
        return {};
    }
    int is_done = 0;
    while (is_done == 0) {
        if (callbacks_.test(callbacks_.user, &unexpected.handle, &is_done) != 0) return {};
        if (is_done == 0) sched_yield();
    }
    unexpected.has_come = true;
    unexpected.is_known = is_done == 2;
    unexpected.bytes = unexpected.is_known ? reinterpret_cast<uintptr_t>(unexpected.handle) : 0;
    unexpected_.push_back(unexpected);
    uint64_t word[2] = {};
    if (unexpected.bytes < sizeof word || unexpected.bytes > parcel->bytes.size()) return {};
    std::memcpy(word, parcel->bytes.data() + unexpected.bytes - sizeof word, sizeof word);
    return {true, true, unexpected.peer, {word[0], word[1], 0}};
}

bool P2p::find_long_unexpected(uint32_t slot, uint32_t kind, uint32_t other, Rank& peer) {
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
