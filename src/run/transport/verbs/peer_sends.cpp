// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/peer_sends.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tutti::transport::verbs {

void PeerSends::add(uint32_t stream, Operation* operation) {
    if (team_.exposures.goes_straight(operation->source, operation->bytes, declined_)) {
        operation->direct = Direct::kWanted;
    }
    lines_.append(stream, operation);
    advance();
}

void PeerSends::advance() {
    for (uint32_t stream = 0; stream < kSlotsMax && (lines_.busy() >> stream) != 0; ++stream) {
        while (!link_.has_failed() && lines_.first(stream)) {
            Operation& operation = *lines_.first(stream);
            const Piece piece = operation.is_given_up ? Piece::kGivenUp : Piece::kData;
            const bool goes_on = operation.is_counted ? send_count(operation)
                                 : operation.direct == Direct::kNo
                                     ? send_piece(stream, operation, piece)
                                     : send_direct(stream, operation);
            if (!goes_on) break;
            if (operation.done < operation.bytes) continue;
            lines_.pop(stream);
            if (operation.ticket) operation.ticket->state = State::kDone;
            team_.pool.release(&operation);
        }
    }
    if (any()) link_.mark(team_.number);
}

// False where it has to wait, or the link has failed: then there is no operation any more. A
// message that one piece holds goes as one. Else its first piece is a slot, so that its receiver
// has something to do early; those behind it are longer, as each costs both ends a request and a
// completion.
bool PeerSends::send_piece(uint32_t stream, Operation& operation, Piece piece) {
    const size_t left = operation.bytes - operation.done;
    const size_t sent = piece == Piece::kData ? left : 0;
    const size_t needed = (sent + sizeof(SlotHeader) - 1) / kSlotBytes + 1;
    const bool is_long = operation.done > 0 || needed <= kPieceSlots;
    const size_t wanted = is_long ? needed : 1;
    // That a long message is whole rests on an immediate, which says so of the writes before it.
    const bool is_packet =
        std::min(sent + sizeof(SlotHeader), kSlotBytes) <= link_.share().packet_bytes;
    const bool tells = piece == Piece::kWhole || !is_packet;
    const SlotRange range =
        link_.take_slots(team_.stream(stream), static_cast<uint32_t>(wanted), tells);
    if (range.slot == kNoSlot) return false;
    const size_t bytes = std::min(link_.range_bytes(range), sent);
    const SlotHeader header{.call = operation.word.call,
                            .before = operation.word.before,
                            .bytes = static_cast<uint32_t>(operation.bytes),
                            .piece_bytes = static_cast<uint16_t>(bytes),
                            .slot = static_cast<uint8_t>(stream),
                            .piece = piece,
                            .team = static_cast<uint8_t>(team_.number)};
    const std::byte* data = bytes > 0 ? operation.source + operation.done : nullptr;
    const bool is_last = piece != Piece::kData || bytes == left;
    if (!link_.write_piece(range, header, data, is_last)) return false;
    operation.done += piece == Piece::kGivenUp ? left : bytes;
    operation.is_begun = true;
    return true;
}

// False where it has to wait, or the link has failed.
bool PeerSends::send_count(const Operation& operation) {
    Slots& slots = link_.slots();
    if (!slots.writes().may_begin()) return false;
    Add add;
    add.word = kCounter;
    add.amount = counted_amount(operation.word);
    add.former = kFormer;
    add.number = slots.write();
    add.is_signaled = slots.must_signal(add.number);
    ++team_.sent_counted;
    return link_.is_posted(link_.share().endpoint.add(link_.number(), add));
}

// True where the message is over, or goes by slots from here on; false where it has to wait, or the
// link has failed.
bool PeerSends::send_direct(uint32_t stream, Operation& operation) {
    if (operation.direct == Direct::kAnnounced) return false;
    if (operation.direct == Direct::kWanted) {
        if (!send_piece(stream, operation, Piece::kAnnounced)) return false;
        operation.direct = Direct::kAnnounced;
        return false;
    }
    if (operation.direct == Direct::kOffered) {
        if (!write_direct(operation)) return false;
        const Piece piece = operation.is_given_up ? Piece::kGivenUp : Piece::kWhole;
        // Nothing follows it, so whether its receiver hears of it counts only for others.
        if (!team_.is_closing && !send_piece(stream, operation, piece)) return false;
        operation.direct = Direct::kTold;
    }
    for (const uint64_t number : operation.writes) {
        if (!link_.slots().writes().is_complete(number)) return false;
    }
    team_.exposures.give_back(operation.lease);
    operation.done = operation.bytes;
    return true;
}

// True once all is posted, or nothing more is to be.
bool PeerSends::write_direct(Operation& operation) {
    Slots& slots = link_.slots();
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
        const int outcome = link_.share().endpoint.write_direct(link_.number(), write);
        if (!link_.is_posted(outcome)) return false;
    }
    return true;
}

void PeerSends::take_offer(const SlotHeader& header, const std::byte* end) {
    Offer offer;
    if (header.piece_bytes != sizeof offer) {
        link_.fail("an offer of memory has a wrong size");
        return;
    }
    std::memcpy(&offer, end - sizeof offer, sizeof offer);
    link_.release(kSigns);
    if (team_.is_closing) return;
    Operation* operation = offer.stream < kSlotsMax ? lines_.first(offer.stream) : nullptr;
    if (!operation || operation->direct != Direct::kAnnounced || offer.bytes != operation->bytes) {
        link_.fail("an offer of memory came out of turn");
        return;
    }
    operation->offer = offer;
    operation->direct = Direct::kOffered;
    if (operation->is_given_up) return;
    Exposures& exposures = team_.exposures;
    if (offer.is_there != 0) {
        operation->lease = exposures.lease_source(operation->source, operation->bytes);
    } else if (!exposures.is_long(operation->bytes)) {
        declined_ = exposures.count();
    }
    if (operation->is_registered()) {
        ++team_.sent_straight;
        return;
    }
    operation->direct = Direct::kNo;
    if (exposures.is_long(operation->bytes)) ++team_.sent_copied;
}

bool PeerSends::awaits_completion() const {
    for (uint32_t left = lines_.busy(); left != 0; left &= left - 1) {
        const auto stream = static_cast<uint32_t>(std::countr_zero(left));
        const Direct direct = lines_.first(stream)->direct;
        if (direct == Direct::kAnnounced) continue;  // an offer wakes
        if (direct == Direct::kOffered || direct == Direct::kTold) return true;
        if (link_.slots().awaits_completion(team_.stream(stream))) return true;
    }
    return false;
}

void PeerSends::cancel(uint32_t stream, const Ticket& ticket) {
    Operation* operation = lines_.find(stream, ticket);
    if (!operation) return;
    operation->call_off();
    operation->source = nullptr;
    if (operation->is_begun) return;
    team_.forget(lines_, stream, operation);
}

}  // namespace tutti::transport::verbs
