// SPDX-License-Identifier: BSD-3-Clause
#include "transport/p2p/p2p.h"

#include "base/assert.h"

namespace tutti::transport {

P2p::P2p(const tutti_p2p& callbacks, uint32_t first_tag, std::span<const uint32_t> peers)
    : callbacks_(callbacks), first_tag_(first_tag), peers_(peers) {
    TUTTI_ASSERT(callbacks.send && callbacks.recv && callbacks.test, "all callbacks are there");
    TUTTI_ASSERT(first_tag <= callbacks.tag_max && callbacks.tag_max - first_tag >= kSlotsMax - 1,
                 "a tag for every slot");
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

void P2p::send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
               Ticket& ticket) {
    TUTTI_ASSERT(id.slot < kSlotsMax, "the slot has a tag");
    ticket.handle = nullptr;
    ticket.state = State::kFailed;
    if (failure_ != Failure::kNone) return;
    const int outcome = callbacks_.send(callbacks_.user, data, bytes, number_of(peer),
                                        first_tag_ + id.slot, &ticket.handle);
    ticket.bytes = kNoBytes;
    begin(ticket, outcome, Failure::kSend, peer, bytes);
}

void P2p::recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes, Ticket& ticket) {
    TUTTI_ASSERT(id.slot < kSlotsMax, "the slot has a tag");
    ticket.handle = nullptr;
    ticket.state = State::kFailed;
    if (failure_ != Failure::kNone) return;
    const int outcome = callbacks_.recv(callbacks_.user, data, bytes, number_of(peer),
                                        first_tag_ + id.slot, &ticket.handle);
    ticket.bytes = bytes;
    begin(ticket, outcome, Failure::kRecv, peer, bytes);
}

State P2p::test(Ticket& ticket) {
    if (ticket.state != State::kPending) return ticket.state;
    if (failure_ != Failure::kNone) return ticket.state = State::kFailed;
    int is_done = 0;
    const int outcome = callbacks_.test(callbacks_.user, &ticket.handle, &is_done);
    const auto received = reinterpret_cast<uintptr_t>(ticket.handle);
    if (outcome != 0) {
        ticket.state = fail(Failure::kTest, outcome, static_cast<Rank>(ticket.number), 0);
    } else if (is_done == 2 && ticket.bytes != kNoBytes && received != ticket.bytes) {
        received_bytes_ = received;
        ticket.state = fail(Failure::kSize, 0, static_cast<Rank>(ticket.number), ticket.bytes);
    } else if (is_done != 0) {
        ticket.state = State::kDone;
    }
    return ticket.state;
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
        default:
            return "";
    }
}

}  // namespace tutti::transport
