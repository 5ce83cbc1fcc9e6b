// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/rc.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "base/assert.h"

namespace tutti::transport::verbs {

Rc::Rc(std::shared_ptr<Links> links, uint32_t number, std::vector<Rank> peers,
       std::vector<uint32_t> link_of, size_t direct_bytes)
    : links_(std::move(links)),
      number_(number),
      peers_(std::move(peers)),
      pair_of_link_(links_->size(), kNoPair),
      unexpected_(
          std::make_unique_for_overwrite<std::byte[]>(peers_.size() * kSlotsMax * kSlotBytes)),
      exposures_(links_->endpoint(), direct_bytes),
      pairs_(std::make_unique<Pair[]>(peers_.size())),
      counted_(links_->endpoint(), pool_, static_cast<uint32_t>(peers_.size())),
      adder_(number_) {
    TUTTI_ASSERT(std::ranges::is_sorted(peers_), "peers ascend");
    for (uint32_t pair = 0; pair < peers_.size(); ++pair) {
        pairs_[pair].link = &links_->at(link_of[pair]);
        pair_of_link_[link_of[pair]] = pair;
    }
    links_->join(*this, number_);
}

uint32_t Rc::pair_of(Rank peer) const {
    const auto found = std::lower_bound(peers_.begin(), peers_.end(), peer);
    TUTTI_ASSERT(found != peers_.end() && *found == peer, "the peer is connected");
    return static_cast<uint32_t>(found - peers_.begin());
}

// What came from an end before it left may still be received.
bool Rc::refuses(uint32_t pair, bool is_send) {
    TUTTI_ASSERT(pairs_[pair].link->is_connected(), "the pair is connected");
    if (is_closing_) return true;
    if (!has_failed(pair) || (!is_send && is_done_there(pair))) return false;
    note(pair, "that end has left");
    return true;
}

// nullptr: the ticket has failed.
Operation* Rc::begin(uint32_t pair, bool is_send, const MessageId& id, size_t bytes,
                     Ticket& ticket) {
    TUTTI_ASSERT(id.slot < kSlotsMax && bytes <= kMessageBytesMax, "a message of transport.h");
    ticket.state = State::kFailed;
    if (refuses(pair, is_send)) return nullptr;
    is_used_ = true;
    Operation* operation = pool_.take();
    if (!operation) {
        fail_pair(pair, "no memory for a message");
        return nullptr;
    }
    operation->ticket = &ticket;
    operation->bytes = bytes;
    operation->word = id.word;
    operation->is_counted = id.is_counted && bytes == 0 && is_counted(pair);
    ticket.number = uint64_t{pair} * kSlotsMax + id.slot;
    ticket.handle = nullptr;
    ticket.bytes = bytes;
    ticket.state = State::kPending;
    return operation;
}

void Rc::send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes, Ticket& ticket) {
    const uint32_t pair = pair_of(peer);
    Operation* operation = begin(pair, true, id, bytes, ticket);
    if (!operation) return;
    operation->source = data;
    if (exposures_.goes_straight(data, bytes, pairs_[pair].declined))
        operation->direct = Direct::kWanted;
    pairs_[pair].streams[id.slot].sends.append(operation);
    pairs_[pair].sending |= 1u << id.slot;
    advance_sends(pair);
}

void Rc::recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes, Ticket& ticket) {
    const uint32_t pair = pair_of(peer);
    Operation* operation = begin(pair, false, id, bytes, ticket);
    if (!operation) return;
    if (operation->is_counted) return recv_count(pair, operation);
    operation->target = data;
    Pair& at = pairs_[pair];
    at.streams[id.slot].recvs.append(operation);
    at.recving |= 1u << id.slot;
    advance_recvs(pair, id.slot);
    if (has_failed(pair) && ticket.state == State::kPending) {
        note(pair, "that end has left");
        drop(at.streams[id.slot].recvs);
        at.recving &= ~(1u << id.slot);
        at.offering &= ~(1u << id.slot);
    }
    advance(pair);
}

// False where it has to wait, or the pair has failed: then there is no operation any more. A
// message that one piece holds goes as one. Else its first piece is a slot, so that its receiver
// has something to do early; those behind it are longer, as each costs both ends a request and a
// completion.
bool Rc::send_piece(uint32_t pair, uint32_t stream, Operation& operation, Piece piece) {
    const size_t left = operation.bytes - operation.done;
    const size_t sent = piece == Piece::kData ? left : 0;
    const size_t needed = (sent + sizeof(SlotHeader) - 1) / kSlotBytes + 1;
    const bool is_long = operation.done > 0 || needed <= kPieceSlots;
    const size_t wanted = is_long ? needed : 1;
    // That a long message is whole rests on an immediate, which says so of the writes before it.
    const bool is_packet =
        std::min(sent + sizeof(SlotHeader), kSlotBytes) <= links_->packet_bytes();
    const bool tells = piece == Piece::kWhole || !is_packet;
    Link& link = *pairs_[pair].link;
    const SlotRange range =
        link.take_slots(stream_at(stream), static_cast<uint32_t>(wanted), tells);
    if (range.slot == kNoSlot) return false;
    const size_t bytes = std::min(link.range_bytes(range), sent);
    const SlotHeader header{.call = operation.word.call,
                            .before = operation.word.before,
                            .bytes = static_cast<uint32_t>(operation.bytes),
                            .piece_bytes = static_cast<uint16_t>(bytes),
                            .slot = static_cast<uint8_t>(stream),
                            .piece = piece,
                            .team = static_cast<uint8_t>(number_)};
    const std::byte* data = bytes > 0 ? operation.source + operation.done : nullptr;
    const bool is_last = piece != Piece::kData || bytes == left;
    if (!link.write_piece(range, header, data, is_last)) return false;
    operation.done += piece == Piece::kGivenUp ? left : bytes;
    operation.is_begun = true;
    return true;
}

void Rc::advance_sends(uint32_t pair) {
    Pair& at = pairs_[pair];
    for (uint32_t stream = 0; stream < kSlotsMax && (at.sending >> stream) != 0; ++stream) {
        Line& line = at.streams[stream].sends;
        while (!has_failed(pair) && line.first) {
            Operation& operation = *line.first;
            const Piece piece = operation.is_given_up ? Piece::kGivenUp : Piece::kData;
            const bool goes_on = operation.is_counted ? send_count(pair, operation)
                                 : operation.direct == Direct::kNo
                                     ? send_piece(pair, stream, operation, piece)
                                     : send_direct(pair, stream, operation);
            if (!goes_on) break;
            if (operation.done < operation.bytes) continue;
            line.pop();
            if (operation.ticket) operation.ticket->state = State::kDone;
            pool_.release(&operation);
        }
        if (!line.first) at.sending &= ~(1u << stream);
    }
    if (at.sending != 0) mark(pair);
}

bool Rc::agrees(uint32_t pair, uint32_t stream, Operation& operation, const CallWord& word,
                size_t bytes) {
    const bool is_word = stream == kRecoverySlot ||
                         (word.call == operation.word.call && word.before == operation.word.before);
    if (is_word && bytes == operation.bytes) return true;
    if (is_word) {
        failure_.note_size(peers_[pair], bytes, operation.bytes);
    } else {
        failure_.note_word(peers_[pair], word);
    }
    end_recv(pair, stream, State::kFailed);
    return false;
}

void Rc::end_recv(uint32_t pair, uint32_t stream, State state, uint64_t order) {
    Pair& at = pairs_[pair];
    Line& line = at.streams[stream].recvs;
    Operation* operation = line.pop();
    if (!line.first) at.recving &= ~(1u << stream);
    exposures_.give_back(operation->lease);
    if (operation->ticket) {
        operation->ticket->state = state;
        operation->ticket->number = order;  // for withdraw_receive()
    }
    pool_.release(operation);
}

// What has come for the receives of a stream, in order. A message that does not fit its receive
// stays where it is.
void Rc::advance_recvs(uint32_t pair, uint32_t stream) {
    Pair& at = pairs_[pair];
    Stream& of = at.streams[stream];
    while (of.recvs.first) {
        Operation& operation = *of.recvs.first;
        if (!of.kept.empty() && !operation.is_begun) {
            if (!take_kept(pair, stream, operation)) return;
            continue;
        }
        if (slots(pair).first(stream_at(stream)) == kNoSlot) return;
        if ((at.offering >> stream & 1) != 0) {
            fail_pair(pair, "a piece of a message came before its offer");
            return;
        }
        const std::byte* end = at.link->first_header(stream_at(stream));
        SlotHeader header;
        std::memcpy(&header, end, sizeof header);
        const CallWord word{header.call, header.before, 0};
        if (!operation.is_begun && !agrees(pair, stream, operation, word, header.bytes)) return;
        const bool is_first = !operation.is_begun;
        operation.is_begun = true;
        if (header.piece != Piece::kData) {
            release_piece(pair, stream);
            if (!take_sign(pair, stream, operation, header.piece, is_first)) return;
            continue;
        }
        // The other end could not register its memory.
        exposures_.give_back(operation.lease);
        // What the header says of it may be another by now: a broken peer writes there.
        const uint32_t filled = slots(pair).first_count(stream_at(stream));
        const size_t capacity = filled * kSlotBytes - sizeof header;
        const bool is_empty = header.piece_bytes == 0 && operation.bytes > 0;
        if (is_empty || header.piece_bytes > std::min(capacity, operation.bytes - operation.done)) {
            fail_pair(pair, "a piece of a message has a wrong size");
            return;
        }
        if (operation.target && header.piece_bytes > 0) {
            std::memcpy(operation.target + operation.done, end - header.piece_bytes,
                        header.piece_bytes);
        }
        operation.done += header.piece_bytes;
        release_piece(pair, stream);
        if (operation.done == operation.bytes) {
            end_recv(pair, stream, State::kDone, ++of.received);
        }
    }
}

// False where it has to wait, or the pair has failed.
bool Rc::send_count(uint32_t pair, const Operation& operation) {
    Slots& slots = this->slots(pair);
    if (!slots.writes().may_begin()) return false;
    Add add;
    add.word = kCounter;
    add.amount = counted_amount(operation.word);
    add.former = kFormer;
    add.number = slots.write();
    add.is_signaled = slots.must_signal(add.number);
    ++counts_sent_;
    return is_posted(pair, endpoint().add(pairs_[pair].link->number(), add));
}

void Rc::recv_count(uint32_t pair, Operation* operation) {
    counted_.add(pair, operation);
    take_counts();
    if (!counted_.is_waiting(pair) || !has_failed(pair)) return;
    note(pair, "that end has left");
    counted_.drop(pair);
}

void Rc::use_adders(Rank ranks) {
    TUTTI_ASSERT(is_counted_at(0), "all add to rank 0's word");
    adder_.use(ranks, *pairs_[kAdderPair].link);
}

bool Rc::is_counted_at(Rank peer) const {
    const auto found = std::ranges::find(peers_, peer);
    return found != peers_.end() && is_counted(static_cast<uint32_t>(found - peers_.begin()));
}

void Rc::fetch_add(uint64_t amount, Ticket& ticket) {
    TUTTI_ASSERT(adders() != 0, "all can add");
    ticket.state = State::kFailed;
    if (!refuses(kAdderPair, true)) adder_.begin(amount, ticket);
}

bool Rc::advance_on(uint32_t link) {
    const uint32_t pair = pair_of_link_[link];
    Pair& at = pairs_[pair];
    if (at.offering != 0) make_offers(pair);
    if (at.sending != 0) advance_sends(pair);
    if (is_adding(pair)) adder_.go_on();
    if (must_send_bye(pair) && at.sending == 0) send_bye(pair);
    return at.offering != 0 || at.sending != 0 || must_send_bye(pair) || is_adding(pair);
}

// Of the last team on the links, their last word says it.
void Rc::send_bye(uint32_t pair) {
    Link& link = *pairs_[pair].link;
    const SlotHeader header{.piece = Piece::kBye, .team = static_cast<uint8_t>(number_)};
    const SlotRange range = link.take_slots(kSigns);
    if (range.slot == kNoSlot) return;
    link.write_piece(range, header, nullptr, true);
    pairs_[pair].bye_number = slots(pair).writes().last();
}

void Rc::take_piece(uint32_t link, const SlotHeader& header, const std::byte* end) {
    const uint32_t pair = pair_of_link_[link];
    if (header.piece == Piece::kOffer) {
        take_offer(pair, header, end);
    } else {
        advance_recvs(pair, header.slot);
        if (is_unwanted(pair, header.slot)) drop_pieces(pair, header.slot);
    }
}

// Others' are taken when their teams look.
void Rc::look_for_tails() {
    for (uint32_t pair = 0; pair < peers_.size(); ++pair) {
        const Pair& at = pairs_[pair];
        const bool is_idle = (at.recving | at.sending) == 0 && !is_parting(pair);
        if (is_idle || has_failed(pair)) continue;
        if (at.link->take_tails()) advance(pair);
    }
}

void Rc::poll() {
    links_->poll();
    if (links_->polls_tails()) look_for_tails();
    if (counted_.is_waiting()) take_counts();
}

bool Rc::is_awaiting(uint32_t link) const {
    const uint32_t pair = pair_of_link_[link];
    const Pair& at = pairs_[pair];
    return (at.recving | at.sending) != 0 || counted_.is_waiting(pair) || is_parting(pair);
}

bool Rc::is_parting(uint32_t pair) const {
    const Pair& at = pairs_[pair];
    if (!is_closing_ || links_->teams().is_closing() || is_left_by_peer(pair)) return false;
    return at.bye_number == 0 || !slots(pair).writes().is_complete(at.bye_number) ||
           !at.has_heard_bye;
}

bool Rc::awaits_completion(uint32_t link) const {
    const uint32_t pair = pair_of_link_[link];
    const Pair& at = pairs_[pair];
    if (is_adding(pair)) return true;
    if (is_parting(pair) &&
        (must_send_bye(pair) || !slots(pair).writes().is_complete(at.bye_number))) {
        return true;
    }
    if (at.offering != 0 && slots(pair).awaits_completion(kSigns)) return true;
    for (uint32_t left = at.sending; left != 0; left &= left - 1) {
        const auto stream = static_cast<uint32_t>(std::countr_zero(left));
        const Direct direct = at.streams[stream].sends.first->direct;
        if (direct == Direct::kAnnounced) continue;  // an offer wakes
        if (direct == Direct::kOffered || direct == Direct::kTold) return true;
        if (slots(pair).awaits_completion(stream_at(stream))) return true;
    }
    return false;
}

// All of it fails.
void Rc::drop(Line& line) {
    while (line.first) {
        Operation* operation = line.pop();
        exposures_.give_back(operation->lease);
        if (operation->ticket) operation->ticket->state = State::kFailed;
        pool_.release(operation);
    }
}

std::string Rc::error() const {
    const std::string text = failure_.text();
    return text.empty() && is_closing_ ? "the team is gone" : text;
}

// The tickets of all that is under way with this peer fail. One that has said that it sends no more
// may be gone: that is none, and what it has sent lies in the slots.
bool Rc::fail(uint32_t link, const char* why, const char* more) {
    const uint32_t pair = pair_of_link_[link];
    Pair& at = pairs_[pair];
    const bool is_lost = (at.sending | at.recving) != 0 || counted_.is_waiting(pair) ||
                         is_adding(pair) || !is_done_there(pair);
    counted_.drop(pair);
    if (is_adding(pair)) adder_.fail();
    for (Stream& stream : at.streams) {
        drop(stream.sends);
        drop(stream.recvs);
    }
    at.sending = at.recving = at.offering = 0;
    const bool is_first = !failure_.is_pair();
    if (is_lost) note(pair, why, more);
    return is_lost && is_first;
}

void Rc::tell_cause(uint32_t link, const char* why, const char* more) {
    const uint32_t pair = pair_of_link_[link];
    failure_.tell_cause(pair, peers_[pair], why, more);
}

void Rc::give_up_pair(uint32_t pair) {
    links_->give_up(*pairs_[pair].link);
    failure_.forget();
}

// Of a team that was given up, others may still come for what they miss. What a receive waits for
// that was called off in the middle of its message, that takes.
bool Rc::is_unwanted(uint32_t pair, uint32_t stream) const {
    if (pairs_[pair].streams[stream].recvs.first) return false;
    return is_closing_ || (is_given_up_ && stream != kRecoverySlot);
}

// They have come, and nobody will ask for them.
void Rc::drop_pieces(uint32_t pair, uint32_t stream) {
    while (slots(pair).first(stream_at(stream)) != kNoSlot) release_piece(pair, stream);
}

void Rc::drop_unwanted() {
    for (uint32_t pair = 0; pair < peers_.size(); ++pair) {
        for (uint32_t stream = 0; stream < kSlotsMax; ++stream) {
            if (is_unwanted(pair, stream)) drop_pieces(pair, stream);
        }
    }
}

// What is still to be sent then was cancelled, and may wait for slots that nobody gives back.
void Rc::close() {
    if (is_closing_) return;
    is_closing_ = true;
    for (uint32_t pair = 0; pair < peers_.size(); ++pair) {
        Pair& at = pairs_[pair];
        at.sending = at.recving = at.offering = 0;
        for (uint32_t stream = 0; stream < kSlotsMax; ++stream) {
            Stream& of = at.streams[stream];
            for (Line* line : {&of.sends, &of.recvs}) {
                Line rest = all_but_writing(*line);
                drop(rest);
                if (line->first) (line == &of.sends ? at.sending : at.recving) |= 1u << stream;
            }
        }
        mark(pair);
    }
    drop_unwanted();
    links_->leave(*this);
}

bool Rc::has_gone() const {
    for (uint32_t pair = 0; pair < peers_.size(); ++pair) {
        const bool is_over = !pairs_[pair].link->can_go();
        if (is_over || links_->teams().is_closing()) continue;
        const Pair& at = pairs_[pair];
        if (at.sending != 0) return false;
        if (is_left_by_peer(pair)) continue;
        if (at.bye_number == 0 || !slots(pair).writes().is_complete(at.bye_number)) return false;
    }
    return true;
}

bool Rc::has_parted() const {
    if (!is_used_ && !is_closing_) return true;
    if (!is_closing_ || !has_gone()) return false;
    for (uint32_t pair = 0; pair < peers_.size(); ++pair) {
        const bool is_over = !pairs_[pair].link->can_go();
        if (!is_over && !pairs_[pair].has_heard_bye && !is_left_by_peer(pair)) return false;
    }
    return true;
}

bool Rc::has_left() {
    poll();
    return links_->teams().is_closing() ? links_->has_left() : has_gone();
}

bool Rc::is_closed() {
    poll();
    return links_->teams().is_closing() ? links_->is_closed() : has_parted();
}

}  // namespace tutti::transport::verbs
