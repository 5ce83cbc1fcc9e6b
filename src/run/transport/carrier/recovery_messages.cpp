// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/recovery_messages.h"

#include "base/assert.h"

namespace tutti::transport::carrier {
namespace {

MessageId id_of(RecoveryWay way, uint64_t number) {
    return {static_cast<uint32_t>(number), static_cast<uint32_t>(way), kRecoverySlot,
            static_cast<uint32_t>(number >> 32)};
}

}  // namespace

void RecoveryMessages::send(Rank to, RecoveryWay way, uint64_t number, const void* data,
                            size_t bytes, Ticket& ticket) {
    TUTTI_ASSERT(ticket.state != State::kPending, "a ticket is of one message");
    network_.send(to, id_of(way, number), static_cast<const std::byte*>(data), bytes, ticket);
}

void RecoveryMessages::recv(Rank from, RecoveryWay way, uint64_t number, void* data, size_t bytes,
                            Ticket& ticket) {
    TUTTI_ASSERT(ticket.state != State::kPending, "a ticket is of one message");
    network_.recv(from, id_of(way, number), static_cast<std::byte*>(data), bytes, ticket);
}

bool RecoveryMessages::is_done(Ticket& ticket) {
    const State state = network_.test(ticket);
    if (state == State::kFailed) has_failed_ = true;
    return state == State::kDone;
}

void RecoveryMessages::send(Rank to, RecoveryWay way, uint64_t number, const void* data,
                            size_t bytes) {
    TUTTI_ASSERT(!is_posted_, "one message at a time");
    send(to, way, number, data, bytes, ticket_);
    is_posted_ = true;
}

void RecoveryMessages::recv(Rank from, RecoveryWay way, uint64_t number, void* data, size_t bytes) {
    TUTTI_ASSERT(!is_posted_, "one message at a time");
    recv(from, way, number, data, bytes, ticket_);
    is_posted_ = true;
}

bool RecoveryMessages::has_arrived() {
    TUTTI_ASSERT(is_posted_, "a message is under way");
    is_posted_ = !is_done(ticket_);
    return !is_posted_;
}

void RecoveryMessages::send_to(Rank rank, RecoveryWay way, uint64_t number, const void* data,
                               size_t bytes) {
    send(rank, way, number, data, bytes, of_rank_[rank]);
}

void RecoveryMessages::recv_from(Rank rank, RecoveryWay way, uint64_t number, void* data,
                                 size_t bytes) {
    recv(rank, way, number, data, bytes, of_rank_[rank]);
}

void RecoveryMessages::call_off(Ticket& ticket) {
    if (ticket.state == State::kPending) network_.cancel(ticket);
    ticket = {};
}

void RecoveryMessages::call_off(Rank rank) { call_off(of_rank_[rank]); }

void RecoveryMessages::call_off() {
    call_off(ticket_);
    is_posted_ = false;
    for (Ticket& ticket : of_rank_) call_off(ticket);
}

}  // namespace tutti::transport::carrier
