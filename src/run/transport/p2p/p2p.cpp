// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/p2p/p2p.h"

#include <cstring>
#include <new>

#include "base/assert.h"

namespace tutti::transport {

P2p::P2p(const tutti_p2p& callbacks, uint32_t first_tag, std::span<const uint32_t> peers,
         uint32_t kinds)
    : callbacks_(callbacks), first_tag_(first_tag), peers_(peers), kinds_(kinds) {
    TUTTI_ASSERT(callbacks.send && callbacks.recv && callbacks.test, "all callbacks are there");
    TUTTI_ASSERT(kinds > 0, "long messages have tags of their own");
    TUTTI_ASSERT(
        first_tag <= callbacks.tag_max && callbacks.tag_max - first_tag >= tags_of(kinds) - 1,
        "a tag for every slot and kind");
    make_parcels();
}

// After a failure nothing is given to the embedder any more.
State P2p::fail(Failure what, int outcome, Rank peer, size_t bytes) {
    if (failure_ == Failure::kNone) {
        failure_ = what;
        outcome_ = outcome;
        failed_peer_ = peer;
        failed_bytes_ = bytes;
    }
    return State::kFailed;
}

void P2p::begin(Ticket& ticket, int outcome, Failure what, Rank peer, size_t bytes) {
    ticket.number = peer;
    ticket.state = outcome == 0 ? State::kPending : fail(what, outcome, peer, bytes);
}

// How ranks go on after a failure is no part of a call. A message that may be shorter than its
// receive goes as long ones do, so that the two meet.
bool P2p::is_worded(const MessageId& id, size_t bytes) {
    return bytes <= kWordedBytesMax && id.slot != kRecoverySlot && !id.may_be_short;
}

uint32_t P2p::tag_of(const MessageId& id, size_t bytes) const {
    TUTTI_ASSERT(id.slot < kSlotsMax, "the slot has a tag");
    if (is_worded(id, bytes) || id.slot == kRecoverySlot) return first_tag_ + id.slot;
    return long_tag(id.slot, id.word.kind);
}

// There is room for all of them when they come back.
void P2p::make_parcels() {
    free_.reserve((parcels_.size() + 1) * kParcelsAtOnce);
    parcels_.push_back(std::make_unique<Parcel[]>(kParcelsAtOnce));
    for (size_t i = kParcelsAtOnce; i-- > 0;) free_.push_back(&parcels_.back()[i]);
}

P2p::Parcel* P2p::take_parcel(Ticket& ticket, const CallWord& word) {
    if (free_.empty()) {
        try {
            make_parcels();
        } catch (const std::bad_alloc&) {
            fail(Failure::kMemory, 0, 0, 0);
            return nullptr;
        }
    }
    Parcel* parcel = free_.back();
    free_.pop_back();
    parcel->word = word;
    ticket.parcel = parcel;
    return parcel;
}

void P2p::send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
               Ticket& ticket) {
    ticket.handle = nullptr;
    ticket.parcel = nullptr;
    ticket.state = State::kFailed;
    if (failure_ != Failure::kNone) return;
    const uint32_t tag = tag_of(id, bytes);
    size_t sent = bytes;
    if (is_worded(id, bytes)) {
        Parcel* parcel = take_parcel(ticket, id.word);
        if (!parcel) return;
        if (bytes > 0) std::memcpy(parcel->bytes.data(), data, bytes);
        const uint64_t word[2] = {id.word.call, id.word.before};
        std::memcpy(parcel->bytes.data() + bytes, word, sizeof word);
        data = parcel->bytes.data();
        sent += sizeof word;
    }
    const int outcome =
        callbacks_.send(callbacks_.user, data, sent, number_of(peer), tag, &ticket.handle);
    ticket.bytes = kNoBytes;
    begin(ticket, outcome, Failure::kSend, peer, bytes);
}

void P2p::recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes, Ticket& ticket) {
    ticket.handle = nullptr;
    ticket.parcel = nullptr;
    ticket.state = State::kFailed;
    if (failure_ != Failure::kNone) return;
    ticket.may_be_short = id.may_be_short;
    const uint32_t tag = tag_of(id, bytes);
    if (!unexpected_.empty() && take_unexpected(peer, tag, id.word, data, bytes, ticket)) return;
    size_t room = bytes;
    if (is_worded(id, bytes)) {
        Parcel* parcel = take_parcel(ticket, id.word);
        if (!parcel) return;
        parcel->target = data;
        data = parcel->bytes.data();
        room = parcel->bytes.size();
    }
    const int outcome =
        callbacks_.recv(callbacks_.user, data, room, number_of(peer), tag, &ticket.handle);
    ticket.bytes = bytes;
    begin(ticket, outcome, Failure::kRecv, peer, bytes);
}

State P2p::wrong_size(const Ticket& ticket, size_t bytes) {
    const auto peer = static_cast<Rank>(ticket.number);
    received_bytes_ = bytes;
    const bool is_short = !ticket.parcel && bytes < ticket.bytes;
    disagreement_ = {true, false, peer, {}, is_short};
    return fail(Failure::kSize, 0, peer, ticket.bytes);
}

// A message that was shorter or longer than its receive may have its word all the same.
State P2p::receive_parcel(Ticket& ticket, bool is_known, size_t bytes) {
    Parcel& parcel = *static_cast<Parcel*>(ticket.parcel);
    const size_t wanted = ticket.bytes + Parcel::kWordBytes;
    const size_t there = is_known ? bytes : wanted;
    const auto peer = static_cast<Rank>(ticket.number);
    if (there >= Parcel::kWordBytes && there <= parcel.bytes.size()) {
        uint64_t word[2];
        std::memcpy(word, parcel.bytes.data() + there - sizeof word, sizeof word);
        const bool is_same = word[0] == parcel.word.call && word[1] == parcel.word.before;
        if (is_same && there == wanted) {
            if (ticket.bytes > 0) std::memcpy(parcel.target, parcel.bytes.data(), ticket.bytes);
            return State::kDone;
        }
        if (!is_same) {
            received_bytes_ = there;
            disagreement_ = {true, true, peer, {word[0], word[1], 0}};
            return fail(Failure::kWord, 0, peer, ticket.bytes);
        }
        bytes = there - sizeof word;
    }
    return wrong_size(ticket, bytes);
}

State P2p::received(Ticket& ticket, bool is_known, size_t bytes) {
    if (ticket.parcel) return receive_parcel(ticket, is_known, bytes);
    const bool fits =
        !is_known || (ticket.may_be_short ? bytes <= ticket.bytes : bytes == ticket.bytes);
    return fits ? State::kDone : wrong_size(ticket, bytes);
}

State P2p::test(Ticket& ticket) {
    if (ticket.state != State::kPending) return ticket.state;
    if (failure_ != Failure::kNone) {
        // Nobody waits for it from now on.
        cancel(ticket);
        return ticket.state = State::kFailed;
    }
    int is_done = 0;
    const int outcome = callbacks_.test(callbacks_.user, &ticket.handle, &is_done);
    if (outcome != 0) {
        return ticket.state = fail(Failure::kTest, outcome, static_cast<Rank>(ticket.number), 0);
    }
    if (is_done == 0) return State::kPending;
    complete(ticket, is_done == 2, reinterpret_cast<uintptr_t>(ticket.handle));
    return ticket.state;
}

void P2p::complete(Ticket& ticket, bool is_known, size_t bytes) {
    ticket.state = ticket.bytes == kNoBytes ? State::kDone : received(ticket, is_known, bytes);
    if (ticket.parcel && ticket.state == State::kDone) {
        free_.push_back(static_cast<Parcel*>(ticket.parcel));
    }
}

// What comes into a parcel never reaches anybody's memory. What cannot be cancelled is as if
// nothing had been asked for.
void P2p::cancel(Ticket& ticket) {
    const bool is_receive = ticket.bytes != kNoBytes && !ticket.parcel;
    if (ticket.state != State::kPending || !is_receive || !callbacks_.cancel) return;
    int is_done = 0;
    if (callbacks_.cancel(callbacks_.user, &ticket.handle, &is_done) != 0 || is_done == 0) return;
    ticket.handle = nullptr;
    ticket.state = State::kFailed;
}

std::string P2p::error() const {
    const std::string where = " rank " + std::to_string(failed_peer_);
    const std::string code = " failed with status " + std::to_string(outcome_);
    const std::string size = " of " + std::to_string(failed_bytes_) + " bytes";
    switch (failure_) {
        case Failure::kSend:
            return "the send" + size + " to" + where + code;
        case Failure::kRecv:
            return "the receive" + size + " from" + where + code;
        case Failure::kTest:
            return "a message to or from" + where + code;
        case Failure::kSize:
            return where.substr(1) + " sent " +
                   (received_bytes_ == SIZE_MAX ? "more than " + std::to_string(failed_bytes_)
                                                : std::to_string(received_bytes_)) +
                   " bytes, not " + std::to_string(failed_bytes_);
        case Failure::kWord:
            return where.substr(1) + " runs another call";
        case Failure::kMemory:
            return "no memory for a message";
        default:
            return "";
    }
}

}  // namespace tutti::transport
