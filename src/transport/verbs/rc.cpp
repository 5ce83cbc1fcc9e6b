// SPDX-License-Identifier: BSD-3-Clause
#include "transport/verbs/rc.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/assert.h"

namespace tutti::transport::verbs {
namespace {

// The clock costs as much as a look into the queue.
constexpr uint32_t kPollsPerClock = 256;

}  // namespace

Need need_of(uint32_t peers, uint32_t mtu_bytes) {
    return {peers, kSends, kRecvs, size_t{2} * kSlots * mtu_bytes, kWords, mtu_bytes};
}

Rc::Rc(std::unique_ptr<Endpoint> endpoint, Clock& clock, uint32_t mtu_bytes,
       std::vector<Rank> peers, size_t direct_bytes, bool polls_tails)
    : endpoint_(std::move(endpoint)),
      clock_(clock),
      slot_bytes_(mtu_bytes),
      peers_(std::move(peers)),
      direct_bytes_(direct_bytes),
      polls_tails_(polls_tails),
      pairs_(std::make_unique<Pair[]>(peers_.size())),
      looked_ns_(clock.now_ns()) {
    TUTTI_ASSERT(std::ranges::is_sorted(peers_), "peers ascend");
    TUTTI_ASSERT(slot_bytes_ > sizeof(SlotHeader) && kPieceSlots * slot_bytes_ <= UINT16_MAX &&
                     slot_bytes_ % alignof(SlotHeader) == 0,
                 "a slot has room for a message");
    if (polls_tails_) prepare_tails();
}

Result<Done> Rc::connect(uint32_t pair, const PortCard& port, const PairCard& other) {
    auto connected = endpoint_->connect(pair, port, other);
    pairs_[pair].is_connected = static_cast<bool>(connected);
    if (other.polls_tails != 0) pairs_[pair].slots.choose_ahead();
    pairs_[pair].is_counted = other.words != 0 && !endpoint_->words().empty();
    return connected;
}

PairCard Rc::card(uint32_t pair) const {
    PairCard card = endpoint_->card(pair);
    card.polls_tails = polls_tails_ ? 1 : 0;
    return card;
}

uint32_t Rc::pair_of(Rank peer) const {
    const auto found = std::lower_bound(peers_.begin(), peers_.end(), peer);
    TUTTI_ASSERT(found != peers_.end() && *found == peer, "the peer is connected");
    return static_cast<uint32_t>(found - peers_.begin());
}

// A pair's memory: the slots that the peer writes, then those from which this end sends. A slot's
// header stands at its end.
std::byte* Rc::header_memory(uint32_t pair, uint32_t slot, bool is_own) const {
    const size_t number = (size_t{2} * pair + (is_own ? 1 : 0)) * kSlots + slot;
    return endpoint_->memory().data() + (number + 1) * slot_bytes_ - sizeof(SlotHeader);
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
    const Pair& at = pairs_[pair];
    TUTTI_ASSERT(at.is_connected, "the pair is connected");
    if (is_closing_) return true;
    if (!at.has_failed || (!is_send && at.is_left_by_peer)) return false;
    note(pair, "that end has left");
    return true;
}

// nullptr: the ticket has failed.
Rc::Operation* Rc::begin(uint32_t pair, bool is_send, const MessageId& id, size_t bytes,
                         Ticket& ticket) {
    TUTTI_ASSERT(id.slot < kSlotsMax && bytes <= kMessageBytesMax, "a message of transport.h");
    ticket.state = State::kFailed;
    if (refuses(pair, is_send)) return nullptr;
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
    operation->is_counted = id.is_counted && bytes == 0 && pairs_[pair].is_counted;
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
    if (at.has_failed && ticket.state == State::kPending) {
        note(pair, "that end has left");
        drop(at.streams[id.slot].recvs);
        at.recving &= ~(1u << id.slot);
        at.offering &= ~(1u << id.slot);
    }
    advance(pair);
}

bool Rc::post(uint32_t pair, const Write& write) {
    return is_posted(pair, endpoint_->write(pair, write));
}

// Else the pair has failed.
bool Rc::is_posted(uint32_t pair, int outcome) {
    if (outcome == 0) return true;
    fail_pair(pair, "a write could not be posted: ", std::strerror(outcome));
    return false;
}

// That a long message is whole rests on an immediate, which says so of the writes before it; other
// pieces on their own end.
Room Rc::take_room(uint32_t pair, uint32_t stream, uint32_t wanted, Piece piece) {
    Slots& slots = pairs_[pair].slots;
    if (!slots.may_write()) return {};
    return slots.take(stream, wanted, piece == Piece::kWhole);
}

// False where the pair has failed. Who sleeps there is woken by the last piece of a message, and by
// one behind which the next has to wait, for slots that it may have to give back: so what is posted
// at once ends with one that wakes.
bool Rc::write_piece(uint32_t pair, const Room& room, SlotHeader header, const void* data,
                     bool is_last) {
    Slots& slots = pairs_[pair].slots;
    header.slots = static_cast<uint8_t>(room.count);
    slots.sign(header, room.tells);
    std::byte* end = header_memory(pair, room.slot, true);
    std::byte* memory = end - header.piece_bytes;
    std::memcpy(end, &header, sizeof header);
    if (header.piece_bytes > 0) std::memcpy(memory, data, header.piece_bytes);
    Write write;
    write.offset = static_cast<size_t>(memory - endpoint_->memory().data());
    write.bytes = sizeof header + header.piece_bytes;
    write.remote_offset = (room.slot + 1) * slot_bytes_ - write.bytes;
    write.tells = room.tells;
    write.immediate = room.slot;
    write.number = slots.write(room);
    write.is_signaled = slots.must_signal(write.number, true);
    write.wakes = is_last || !slots.may_go_on(header.stream);
    return post(pair, write);
}

// False where it has to wait, or the pair has failed: then there is no operation any more. A
// message's first piece is a packet, so that its receiver has something to do early; those behind
// it are longer, as each costs both ends a request and a completion.
bool Rc::send_piece(uint32_t pair, uint32_t stream, Operation& operation, Piece piece) {
    const size_t left = operation.bytes - operation.done;
    const bool is_long = piece == Piece::kData && operation.done > 0;
    const size_t wanted = is_long ? (left + sizeof(SlotHeader) - 1) / slot_bytes_ + 1 : 1;
    const Room room = take_room(pair, stream, static_cast<uint32_t>(wanted), piece);
    if (room.slot == kNoSlot) return false;
    const size_t room_bytes = room.count * slot_bytes_ - sizeof(SlotHeader);
    const size_t bytes = piece == Piece::kData ? std::min(room_bytes, left) : 0;
    const SlotHeader header{.call = operation.word.call,
                            .before = operation.word.before,
                            .bytes = static_cast<uint32_t>(operation.bytes),
                            .piece_bytes = static_cast<uint16_t>(bytes),
                            .stream = static_cast<uint8_t>(stream),
                            .piece = piece};
    const std::byte* data = bytes > 0 ? operation.source + operation.done : nullptr;
    const bool is_last = piece != Piece::kData || bytes == left;
    if (!write_piece(pair, room, header, data, is_last)) return false;
    operation.done += piece == Piece::kGivenUp ? left : bytes;
    operation.is_begun = true;
    return true;
}

void Rc::advance_sends(uint32_t pair) {
    Pair& at = pairs_[pair];
    for (uint32_t stream = 0; stream < kSlotsMax && (at.sending >> stream) != 0; ++stream) {
        Line& line = at.streams[stream].sends;
        while (!at.has_failed && line.first) {
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
        operation->ticket->number = order;  // for set_aside()
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
        const uint32_t slot = at.slots.first(stream);
        if (slot == kNoSlot) return;
        if ((at.offering >> stream & 1) != 0) {
            fail_pair(pair, "a piece of a message came before its offer");
            return;
        }
        const std::byte* end = header_memory(pair, slot, false);
        SlotHeader header;
        std::memcpy(&header, end, sizeof header);
        const CallWord word{header.call, header.before, 0};
        if (!operation.is_begun && !agrees(pair, stream, operation, word, header.bytes)) return;
        const bool is_first = !operation.is_begun;
        operation.is_begun = true;
        if (header.piece != Piece::kData) {
            at.slots.release(stream);
            if (!take_sign(pair, stream, operation, header.piece, is_first)) return;
            continue;
        }
        // The other end could not register its memory.
        give_back(operation);
        // What the header says of it may be another by now: a broken peer writes there.
        const uint32_t filled = at.slots.first_count(stream);
        const size_t room = filled * slot_bytes_ - sizeof header;
        if (header.piece_bytes != std::min(room, operation.bytes - operation.done)) {
            fail_pair(pair, "a piece of a message has a wrong size");
            return;
        }
        if (operation.target && header.piece_bytes > 0) {
            std::memcpy(operation.target + operation.done, end - header.piece_bytes,
                        header.piece_bytes);
        }
        operation.done += header.piece_bytes;
        if (polls_tails_) hide_data(pair, {slot, filled}, header.number);
        at.slots.release(stream);
        if (operation.done == operation.bytes) {
            end_recv(pair, stream, State::kDone, ++of.received);
        }
    }
}

// also: kIsLast, whose completion is waited for, or nothing.
void Rc::tell(uint32_t pair, uint32_t also) {
    Slots& slots = pairs_[pair].slots;
    Write write;
    write.immediate = kIsWord | also | slots.freed();
    write.number = slots.write();
    write.is_signaled = also != 0 || slots.must_signal(write.number);
    if (also != 0) pairs_[pair].last_number = write.number;
    slots.count_immediate();
    slots.told();
    post(pair, write);
}

void Rc::advance(uint32_t pair) {
    Pair& at = pairs_[pair];
    if (at.has_failed || !at.is_connected) return;
    if (at.offering != 0) make_offers(pair);
    if (at.sending != 0) advance_sends(pair);
    if (pair == kAdderPair) post_addition();
    if (at.has_failed || at.last_number != 0 || !at.slots.may_write()) return;
    if (is_closing_) {
        tell(pair, kIsLast);
    } else if (at.slots.must_tell()) {
        tell(pair, 0);
    }
}

// What was written before it is there, whatever a device does.
void Rc::arrive(uint32_t pair, uint32_t immediate) {
    Pair& at = pairs_[pair];
    if (const int outcome = endpoint_->recv(pair); outcome != 0) {
        fail_pair(pair, "a receive could not be posted: ", std::strerror(outcome));
        return;
    }
    take_tails(pair);
    if (at.has_failed) return;
    at.slots.hear_immediate();
    if ((immediate & kIsWord) != 0) {
        at.slots.hear(immediate);
        at.is_left_by_peer |= (immediate & kIsLast) != 0;
    } else {
        take_piece(pair, immediate);
    }
}

void Rc::take_piece(uint32_t pair, uint32_t slot) {
    Pair& at = pairs_[pair];
    SlotHeader header;
    const std::byte* end = slot < kSlots ? header_memory(pair, slot, false) : nullptr;
    if (end) std::memcpy(&header, end, sizeof header);
    if (!end || !at.slots.arrive(slot, header)) {
        fail_pair(pair, "a piece of a message came out of turn");
        return;
    }
    at.slots.hear(header.freed);
    if (header.stream == kOffers) {
        take_offer(pair, header, end);
    } else {
        advance_recvs(pair, header.stream);
    }
}

void Rc::complete(const Completion& completion) {
    const uint32_t pair = completion.pair;
    if (completion.status != 0) {
        fail_by(completion);
        return;
    }
    if (pairs_[pair].has_failed) return;
    if (completion.is_recv) {
        arrive(pair, completion.immediate);
    } else {
        pairs_[pair].slots.complete(completion.number);
        if (pair == kAdderPair) complete_addition(completion.number);
    }
    advance(pair);
}

// Once: a peer that sends on and on keeps nobody here. False where there was none.
bool Rc::take_completions() {
    const int found = endpoint_->poll(completions_);
    if (found < 0) {
        for (uint32_t pair = 0; pair < peers_.size(); ++pair) {
            fail_pair(pair, "the completion queue was overrun");
        }
        return true;
    }
    for (int i = 0; i < found; ++i) complete(completions_[i]);
    look_for_cause();
    return found > 0;
}

void Rc::poll() {
    take_completions();
    if (polls_tails_) look_for_tails();
    if (counted_.first) take_counts();
    if (++polls_ % kPollsPerClock == 0) look_if_due();
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

void Rc::make_up() {
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

// What is still to be sent then was cancelled, and may wait for slots that nobody gives back.
void Rc::close() {
    is_closing_ = true;
    for (uint32_t pair = 0; pair < peers_.size(); ++pair) {
        Pair& at = pairs_[pair];
        at.sending = at.offering = 0;
        for (uint32_t stream = 0; stream < kSlotsMax; ++stream) {
            Line& line = at.streams[stream].sends;
            Line rest = all_but_writing(line);
            drop(rest);
            if (line.first) at.sending |= 1u << stream;
        }
        advance(pair);
    }
}

// Nothing is under way to that end any more, or never was, or it is given up.
bool Rc::is_over(const Pair& at) {
    const bool is_sent = at.last_number != 0 && at.slots.is_complete(at.last_number);
    return at.has_failed || !at.is_connected || is_sent;
}

// An end that has left wants nothing more, and may be gone, so that nothing sent to it completes.
bool Rc::has_left() {
    poll();
    return std::all_of(pairs_.get(), pairs_.get() + peers_.size(),
                       [](const Pair& at) { return is_over(at) || at.is_left_by_peer; });
}

// One that has left and is there still waits for this end's last word.
bool Rc::is_closed() {
    poll();
    return std::all_of(pairs_.get(), pairs_.get() + peers_.size(), [](const Pair& at) {
        return is_over(at) && (at.has_failed || !at.is_connected || at.is_left_by_peer);
    });
}

}  // namespace tutti::transport::verbs
