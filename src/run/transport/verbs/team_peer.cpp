// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/team_peer.h"

#include "base/assert.h"

namespace tutti::transport::verbs {

bool TeamPeer::refuses(bool is_send) {
    TUTTI_ASSERT(link_.is_connected(), "the pair is connected");
    if (team_.is_closing) return true;
    if (!link_.has_failed() || (!is_send && is_done_there())) return false;
    note("that end has left");
    return true;
}

// nullptr: the ticket has failed.
Operation* TeamPeer::begin(bool is_send, const MessageId& id, size_t bytes, Ticket& ticket) {
    TUTTI_ASSERT(id.slot < kSlotsMax && bytes <= kMessageBytesMax, "a message of transport.h");
    ticket.state = State::kFailed;
    if (refuses(is_send)) return nullptr;
    team_.is_used = true;
    Operation* operation = team_.pool.take();
    if (!operation) {
        link_.fail("no memory for a message");
        return nullptr;
    }
    operation->ticket = &ticket;
    operation->bytes = bytes;
    operation->word = id.word;
    operation->may_be_short = id.may_be_short;
    operation->is_counted = id.is_counted && bytes == 0 && is_counted();
    ticket.number = uint64_t{index_} * kSlotsMax + id.slot;
    ticket.handle = nullptr;
    ticket.bytes = bytes;
    ticket.state = State::kPending;
    return operation;
}

void TeamPeer::send(const MessageId& id, const std::byte* data, size_t bytes, Ticket& ticket) {
    Operation* operation = begin(true, id, bytes, ticket);
    if (!operation) return;
    operation->source = data;
    sends_.add(id.slot, operation);
}

void TeamPeer::recv(const MessageId& id, std::byte* data, size_t bytes, Ticket& ticket) {
    Operation* operation = begin(false, id, bytes, ticket);
    if (!operation) return;
    if (operation->is_counted) return recv_count(operation);
    operation->target = data;
    receives_.add(id.slot, operation);
    if (link_.has_failed() && ticket.state == State::kPending) {
        note("that end has left");
        receives_.drop(id.slot);
    }
    link_.advance();
}

void TeamPeer::recv_count(Operation* operation) {
    team_.counted.add(index_, operation);
    team_.take_counts();
    if (!team_.counted.is_waiting(index_) || !link_.has_failed()) return;
    note("that end has left");
    team_.counted.drop(index_);
}

void TeamPeer::take_piece(const SlotHeader& header, const std::byte* end) {
    if (header.piece == Piece::kOffer) {
        sends_.take_offer(header, end);
    } else {
        receives_.take(header.slot);
    }
}

bool TeamPeer::advance() {
    if (receives_.has_offers()) receives_.make_offers();
    if (sends_.any()) sends_.advance();
    if (is_adding()) adder_->go_on();
    if (must_send_bye() && !sends_.any()) send_bye();
    return receives_.has_offers() || sends_.any() || must_send_bye() || is_adding();
}

// Others' are taken when their teams look.
void TeamPeer::look_for_tails() {
    const bool is_idle = !receives_.any() && !sends_.any() && !is_parting();
    if (is_idle || link_.has_failed()) return;
    if (link_.take_tails()) link_.advance();
}

bool TeamPeer::is_awaiting() const {
    return receives_.any() || sends_.any() || team_.counted.is_waiting(index_) || is_parting();
}

bool TeamPeer::awaits_completion() const {
    if (is_adding() || (is_parting() && !has_said_bye())) return true;
    if (receives_.has_offers() && link_.slots().awaits_completion(kSigns)) return true;
    return sends_.awaits_completion();
}

// ---------------------------------------------------------------- failure

// The tickets of all that is under way with this peer fail. One that has said that it sends no more
// may be gone: that is none, and what it has sent lies in the slots.
bool TeamPeer::fail(const char* why, const char* more) {
    const bool is_lost = receives_.any() || sends_.any() || team_.counted.is_waiting(index_) ||
                         is_adding() || !is_done_there();
    team_.counted.drop(index_);
    if (is_adding()) adder_->fail();
    sends_.fail();
    receives_.fail();
    const bool is_first = !team_.failure.is_pair();
    if (is_lost) note(why, more);
    return is_lost && is_first;
}

void TeamPeer::tell_cause(const char* why, const char* more) {
    team_.failure.tell_cause(rank_, why, more);
}

// ---------------------------------------------------------------- the parting

// What is still to be sent then was cancelled, and may wait for slots that nobody gives back.
void TeamPeer::close() {
    sends_.close();
    receives_.close();
    link_.mark(team_.number);
}

// Of the last team on the links, their last word says it.
bool TeamPeer::must_send_bye() const {
    return team_.is_closing && bye_number_ == 0 && !link_.share().teams.is_closing() &&
           !link_.is_left_by_peer();
}

void TeamPeer::send_bye() {
    const SlotHeader header{.piece = Piece::kBye, .team = static_cast<uint8_t>(team_.number)};
    const SlotRange range = link_.take_slots(kSigns);
    if (range.slot == kNoSlot) return;
    link_.write_piece(range, header, nullptr, true);
    bye_number_ = link_.slots().writes().last();
}

bool TeamPeer::is_parting() const {
    if (!team_.is_closing || link_.share().teams.is_closing() || link_.is_left_by_peer()) {
        return false;
    }
    return !has_said_bye() || !has_heard_bye_;
}

bool TeamPeer::has_gone() const {
    if (!link_.can_go() || link_.share().teams.is_closing()) return true;
    if (sends_.any()) return false;
    return link_.is_left_by_peer() || has_said_bye();
}

}  // namespace tutti::transport::verbs
