// SPDX-License-Identifier: BSD-3-Clause
// Long messages, straight from the sender's memory into the receiver's. No copy; each end registers
// its memory for this message alone, but what is exposed (exposures.h): of memory that is
// unmapped a program has no reliable word, so nothing is remembered.
//
//   sender                                     receiver
//   kAnnounced: word, size       -- slot -->   compares them with its receive, once that is posted;
//                                              registers its memory
//   compares the size          <-- slot --     Offer: address and key
//   registers, writes            -- data -->
//   kWhole                       -- slot -->   gives up the registration: the message has come
//   gives up the registration once the writes are complete: the message is sent
//
// Where either end cannot register, the data follow by slots. Offers go by the stream of signs, so
// they wait for nothing that nobody reads.
#include <algorithm>
#include <cstring>

#include "run/transport/verbs/rc.h"

namespace tutti::transport::verbs {

// A write of another team's that is still to be sent would fail with what is given up.
void Rc::give_up() {
    if (!is_closing_ && !is_given_up_) {
        is_given_up_ = true;
        drop_unwanted();
        links_->fail(*this);
    }
    if (links_->has_others(*this)) return;
    pool_.for_all([&](Operation& one) {
        if (one.is_given_up) exposures_.give_back(one.lease);
    });
}

bool Rc::is_read_from() const {
    if (!links_->has_others(*this)) return false;
    bool is_read = false;
    pool_.for_all([&](const Operation& one) { is_read |= one.is_given_up && one.is_registered(); });
    return is_read;
}

// Operations that are not under way have none registered.
Rc::~Rc() {
    for (uint32_t pair = 0; pair < peers_.size(); ++pair) {
        for (uint32_t stream = 0; stream < kSlotsMax; ++stream) drop_pieces(pair, stream);
    }
    pool_.for_all([&](Operation& one) { exposures_.give_back(one.lease); });
    exposures_.conceal_all();
    links_->forget(*this);
}

// True where the message is over, or goes by slots from here on; false where it has to wait, or the
// pair has failed.
bool Rc::send_direct(uint32_t pair, uint32_t stream, Operation& operation) {
    const Slots& slots = this->slots(pair);
    if (operation.direct == Direct::kAnnounced) return false;
    if (operation.direct == Direct::kWanted) {
        if (!send_piece(pair, stream, operation, Piece::kAnnounced)) return false;
        operation.direct = Direct::kAnnounced;
        return false;
    }
    if (operation.direct == Direct::kOffered) {
        if (!write_direct(pair, operation)) return false;
        const Piece piece = operation.is_given_up ? Piece::kGivenUp : Piece::kWhole;
        // Nothing follows it, so whether its receiver hears of it counts only for others.
        if (!is_closing_ && !send_piece(pair, stream, operation, piece)) return false;
        operation.direct = Direct::kTold;
    }
    for (const uint64_t number : operation.writes) {
        if (!slots.writes().is_complete(number)) return false;
    }
    exposures_.give_back(operation.lease);
    operation.done = operation.bytes;
    return true;
}

// True once all is posted, or nothing more is to be.
bool Rc::write_direct(uint32_t pair, Operation& operation) {
    Slots& slots = this->slots(pair);
    while (!operation.is_given_up && operation.done < operation.bytes) {
        uint64_t& number = operation.writes[operation.done / kWriteBytesMax % kWritesAtOnce];
        if (!slots.writes().may_begin_long() || !slots.writes().is_complete(number)) return false;
        DirectWrite write{.from = operation.lease.region,
                          .source = operation.source + operation.done,
                          .bytes = std::min(kWriteBytesMax, operation.bytes - operation.done),
                          .address = operation.offer.address + operation.done,
                          .key = operation.offer.key,
                          .number = slots.write()};
        number = write.number;
        operation.done += write.bytes;
        if (!is_posted(pair, endpoint().write_direct(pairs_[pair].link->number(), write)))
            return false;
    }
    return true;
}

// The answer to what the stream's first send has announced.
void Rc::take_offer(uint32_t pair, const SlotHeader& header, const std::byte* end) {
    Pair& at = pairs_[pair];
    Offer offer;
    if (header.piece_bytes != sizeof offer) {
        fail_pair(pair, "an offer of memory has a wrong size");
        return;
    }
    std::memcpy(&offer, end - sizeof offer, sizeof offer);
    at.link->release(kSigns);
    if (is_closing_) return;
    Operation* operation =
        offer.stream < kSlotsMax ? at.streams[offer.stream].sends.first : nullptr;
    if (!operation || operation->direct != Direct::kAnnounced || offer.bytes != operation->bytes) {
        fail_pair(pair, "an offer of memory came out of turn");
        return;
    }
    operation->offer = offer;
    operation->direct = Direct::kOffered;
    if (operation->is_given_up) return;
    if (offer.is_there != 0) {
        operation->lease = exposures_.lease_source(operation->source, operation->bytes);
    } else if (!exposures_.is_long(operation->bytes)) {
        at.declined = exposures_.count();
    }
    if (operation->is_registered()) {
        ++sent_straight_;
        return;
    }
    operation->direct = Direct::kNo;
    if (exposures_.is_long(operation->bytes)) ++sent_copied_;
}

// A piece without data for the stream's first receive. False where the pair has failed.
bool Rc::take_sign(uint32_t pair, uint32_t stream, Operation& operation, Piece piece,
                   bool is_first) {
    Pair& at = pairs_[pair];
    if (piece == Piece::kGivenUp) {
        if (operation.ticket) note(pair, "that end gave up a message");
        end_recv(pair, stream, State::kFailed);
        return true;
    }
    if (piece == Piece::kAnnounced && is_first && operation.bytes > 0) {
        operation.direct = Direct::kAnnounced;
        operation.lease = exposures_.lease_target(operation.target, operation.bytes);
        at.offering |= 1u << stream;
        mark(pair);
        return true;
    }
    if (piece == Piece::kWhole && operation.direct == Direct::kAnnounced && operation.done == 0) {
        end_recv(pair, stream, State::kDone, ++at.streams[stream].received);
        return true;
    }
    fail_pair(pair, "a piece of a message came out of turn");
    return false;
}

// Of receives that were called off meanwhile nothing is offered: what comes is thrown away.
void Rc::make_offers(uint32_t pair) {
    Pair& at = pairs_[pair];
    for (uint32_t stream = 0; stream < kSlotsMax && !is_closing_; ++stream) {
        if ((at.offering >> stream & 1) == 0) continue;
        const Operation& operation = *at.streams[stream].recvs.first;
        const Offer offer{.address = reinterpret_cast<uint64_t>(operation.target),
                          .bytes = operation.bytes,
                          .stream = stream,
                          .key = operation.lease.region.key,
                          .is_there = operation.is_registered() ? 1u : 0u};
        const SlotHeader header{.bytes = sizeof offer,
                                .piece_bytes = sizeof offer,
                                .piece = Piece::kOffer,
                                .team = static_cast<uint8_t>(number_)};
        const SlotRange range = at.link->take_slots(kSigns);
        if (range.slot == kNoSlot) return;
        if (!at.link->write_piece(range, header, &offer, true)) return;
        at.offering &= ~(1u << stream);
    }
}

// Of a team that closes: memory that is being written from stays registered until that is complete.
// What stands behind in the line is the result.
Line Rc::all_but_writing(Line& line) {
    Operation* first = line.first;
    Line rest = line;
    line = {};
    if (!first || !first->is_registered()) return rest;
    rest.first = first->next;
    first->next = nullptr;
    first->is_given_up = true;
    if (first->ticket) first->ticket->state = State::kFailed;
    first->ticket = nullptr;
    line = {first, first};
    return rest;
}

}  // namespace tutti::transport::verbs
