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
      direct_bytes_(direct_bytes),
      pairs_(std::make_unique<Pair[]>(peers_.size())) {
    TUTTI_ASSERT(std::ranges::is_sorted(peers_), "peers ascend");
    for (uint32_t pair = 0; pair < peers_.size(); ++pair) {
        pairs_[pair].link = link_of[pair];
        pair_of_link_[link_of[pair]] = pair;
    }
    links_->join(*this, number_);
}

uint32_t Rc::pair_of(Rank peer) const {
    const auto found = std::lower_bound(peers_.begin(), peers_.end(), peer);
    TUTTI_ASSERT(found != peers_.end() && *found == peer, "the peer is connected");
    return static_cast<uint32_t>(found - peers_.begin());
}

void Rc::append(Line& line, Operation* operation) {
    (line.first ? line.last->next : line.first) = operation;
    line.last = operation;
}

void Rc::remove(Line& line, Operation* operation) {
    Operation* before = nullptr;
    for (Operation* at = line.first; at != operation; at = at->next) before = at;
    (before ? before->next : line.first) = operation->next;
    if (line.last == operation) line.last = before;
}

Rc::Operation* Rc::find(const Line& line, const Ticket& ticket) {
    Operation* at = line.first;
    while (at && at->ticket != &ticket) at = at->next;
    return at;
}

void Rc::release(Operation* operation) {
    operation->next = free_;
    free_ = operation;
}

// What came from an end before it left may still be received.
bool Rc::refuses(uint32_t pair, bool is_send) {
    TUTTI_ASSERT(links_->is_connected(pairs_[pair].link), "the pair is connected");
    if (is_closing_) return true;
    if (!has_failed(pair) || (!is_send && is_done_there(pair))) return false;
    note(pair, "that end has left");
    return true;
}

// nullptr: the ticket has failed.
Rc::Operation* Rc::begin(uint32_t pair, bool is_send, const MessageId& id, size_t bytes,
                         Ticket& ticket) {
    TUTTI_ASSERT(id.slot < kSlotsMax && bytes <= kMessageBytesMax, "a message of transport.h");
    ticket.state = State::kFailed;
    if (refuses(pair, is_send)) return nullptr;
    is_used_ = true;
    if (!free_) {
        // The vector first: what it throws leaves nothing behind.
        try {
            operations_.push_back(std::make_unique<Operation[]>(kOperationsAtOnce));
        } catch (const std::bad_alloc&) {
            fail_pair(pair, "no memory for a message");
            return nullptr;
        }
        for (size_t i = kOperationsAtOnce; i-- > 0;) release(&operations_.back()[i]);
    }
    Operation* operation = free_;
    free_ = operation->next;
    *operation = Operation{};
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
    if (goes_straight(pair, data, bytes)) operation->direct = Direct::kWanted;
    append(pairs_[pair].streams[id.slot].sends, operation);
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
    append(at.streams[id.slot].recvs, operation);
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
    const uint32_t link = pairs_[pair].link;
    const SlotRange range =
        links_->take_slots(link, stream_at(stream), static_cast<uint32_t>(wanted), tells);
    if (range.slot == kNoSlot) return false;
    const size_t bytes = std::min(links_->range_bytes(range), sent);
    const SlotHeader header{.call = operation.word.call,
                            .before = operation.word.before,
                            .bytes = static_cast<uint32_t>(operation.bytes),
                            .piece_bytes = static_cast<uint16_t>(bytes),
                            .slot = static_cast<uint8_t>(stream),
                            .piece = piece,
                            .team = static_cast<uint8_t>(number_)};
    const std::byte* data = bytes > 0 ? operation.source + operation.done : nullptr;
    const bool is_last = piece != Piece::kData || bytes == left;
    if (!links_->write_piece(link, range, header, data, is_last)) return false;
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
            line.first = operation.next;
            if (operation.ticket) operation.ticket->state = State::kDone;
            release(&operation);
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
    if (failure_ == Failure::kNone) {
        failure_ = is_word ? Failure::kSize : Failure::kWord;
        disagreement_ = {true, !is_word, peers_[pair], {}, is_word && bytes < operation.bytes};
        if (!is_word) disagreement_.word = {word.call, word.before, 0};
        sent_bytes_ = bytes;
        wanted_bytes_ = operation.bytes;
    }
    end_recv(pair, stream, State::kFailed);
    return false;
}

void Rc::end_recv(uint32_t pair, uint32_t stream, State state, uint64_t order) {
    Pair& at = pairs_[pair];
    Line& line = at.streams[stream].recvs;
    Operation* operation = line.first;
    line.first = operation->next;
    if (!line.first) at.recving &= ~(1u << stream);
    give_back(*operation);
    if (operation->ticket) {
        operation->ticket->state = state;
        operation->ticket->number = order;  // for withdraw_receive()
    }
    release(operation);
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
        const std::byte* end = links_->first_header(at.link, stream_at(stream));
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
        give_back(operation);
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

bool Rc::advance_on(uint32_t link) {
    const uint32_t pair = pair_of_link_[link];
    Pair& at = pairs_[pair];
    if (at.offering != 0) make_offers(pair);
    if (at.sending != 0) advance_sends(pair);
    if (pair == kAdderPair && is_adding()) post_addition();
    if (must_send_bye(pair) && at.sending == 0) send_bye(pair);
    return at.offering != 0 || at.sending != 0 || must_send_bye(pair) ||
           (pair == kAdderPair && is_adding());
}

// Of the last team on the links, their last word says it.
void Rc::send_bye(uint32_t pair) {
    const uint32_t link = pairs_[pair].link;
    const SlotHeader header{.piece = Piece::kBye, .team = static_cast<uint8_t>(number_)};
    const SlotRange range = links_->take_slots(link, kSigns);
    if (range.slot == kNoSlot) return;
    links_->write_piece(link, range, header, nullptr, true);
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
        if (links_->take_tails(at.link)) advance(pair);
    }
}

void Rc::poll() {
    links_->poll();
    if (links_->polls_tails()) look_for_tails();
    if (counted_.first) take_counts();
}

bool Rc::is_awaiting(uint32_t link) const {
    const Pair& at = pairs_[pair_of_link_[link]];
    return (at.recving | at.sending | at.counting) != 0 || is_parting(pair_of_link_[link]);
}

bool Rc::is_parting(uint32_t pair) const {
    const Pair& at = pairs_[pair];
    if (!is_closing_ || links_->is_closing() || is_left_by_peer(pair)) return false;
    return at.bye_number == 0 || !slots(pair).writes().is_complete(at.bye_number) ||
           !at.has_heard_bye;
}

bool Rc::awaits_completion(uint32_t link) const {
    const uint32_t pair = pair_of_link_[link];
    const Pair& at = pairs_[pair];
    if (pair == kAdderPair && is_adding()) return true;
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
        Operation* operation = line.first;
        line.first = operation->next;
        give_back(*operation);
        if (operation->ticket) operation->ticket->state = State::kFailed;
        release(operation);
    }
}

void Rc::clear_disagreement() {
    if (failure_ == Failure::kPair) return;
    failure_ = Failure::kNone;
    disagreement_ = {};
}

std::string Rc::error() const {
    const std::string peer = "rank " + std::to_string(disagreement_.peer);
    switch (failure_) {
        case Failure::kSize:
            return peer + " sent " + std::to_string(sent_bytes_) + " bytes, not " +
                   std::to_string(wanted_bytes_);
        case Failure::kWord:
            return peer + " runs another call";
        case Failure::kPair:
            return pair_error_.data();
        case Failure::kCount:
            return "a rank that was counted runs another call";
        default:
            return is_closing_ ? "the team is gone" : "";
    }
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
        const bool is_over = has_failed(pair) || !links_->is_connected(pairs_[pair].link);
        if (is_over || links_->is_closing()) continue;
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
        const bool is_over = has_failed(pair) || !links_->is_connected(pairs_[pair].link);
        if (!is_over && !pairs_[pair].has_heard_bye && !is_left_by_peer(pair)) return false;
    }
    return true;
}

bool Rc::has_left() {
    poll();
    return links_->is_closing() ? links_->has_left() : has_gone();
}

bool Rc::is_closed() {
    poll();
    return links_->is_closing() ? links_->is_closed() : has_parted();
}

}  // namespace tutti::transport::verbs
