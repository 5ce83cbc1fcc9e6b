// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/peer_receives.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

namespace tutti::transport::verbs {

void PeerReceives::add(uint32_t stream, Operation* operation) {
    lines_.append(stream, operation);
    advance(stream);
}

void PeerReceives::take(uint32_t stream) {
    advance(stream);
    if (is_unwanted(stream)) drop_pieces(stream);
}

// What has come for the receives of a stream, in order.
void PeerReceives::advance(uint32_t stream) {
    while (lines_.first(stream)) {
        Operation& operation = *lines_.first(stream);
        const bool is_kept = !streams_[stream].kept.empty() && !operation.is_begun;
        if (!(is_kept ? take_kept(stream, operation) : take_piece(stream, operation))) return;
    }
}

// False where there is none, or none that fits, or the link has failed.
bool PeerReceives::take_piece(uint32_t stream, Operation& operation) {
    const uint32_t there = team_.stream(stream);
    if (link_.slots().first(there) == kNoSlot) return false;
    if ((offering_ >> stream & 1) != 0) {
        link_.fail("a piece of a message came before its offer");
        return false;
    }
    const std::byte* end = link_.first_header(there);
    SlotHeader header;
    std::memcpy(&header, end, sizeof header);
    const bool is_first = !operation.is_begun;
    const CallWord word{header.call, header.before, 0};
    if (is_first && !agrees(stream, operation, word, header.bytes)) return false;
    operation.is_begun = true;
    if (header.piece == Piece::kData) return take_data(stream, operation, header, end);
    link_.release(there);
    return take_sign(stream, operation, header.piece, is_first);
}

// False where the link has failed.
bool PeerReceives::take_data(uint32_t stream, Operation& operation, const SlotHeader& header,
                             const std::byte* end) {
    const uint32_t there = team_.stream(stream);
    // The other end could not register its memory.
    team_.exposures.give_back(operation.lease);
    // What the header says of it may be another by now: a broken peer writes there.
    const uint32_t filled = link_.slots().first_count(there);
    const size_t capacity = filled * kSlotBytes - sizeof header;
    const bool is_empty = header.piece_bytes == 0 && operation.bytes > 0;
    if (is_empty || header.piece_bytes > std::min(capacity, operation.bytes - operation.done)) {
        link_.fail("a piece of a message has a wrong size");
        return false;
    }
    if (operation.target && header.piece_bytes > 0) {
        std::memcpy(operation.target + operation.done, end - header.piece_bytes,
                    header.piece_bytes);
    }
    operation.done += header.piece_bytes;
    link_.release(there);
    if (operation.done == operation.bytes) {
        this->end(stream, State::kDone, ++streams_[stream].received);
    }
    return true;
}

// A piece without data for the stream's first receive. False where the link has failed.
bool PeerReceives::take_sign(uint32_t stream, Operation& operation, Piece piece, bool is_first) {
    if (piece == Piece::kGivenUp) {
        if (operation.ticket) team_.failure.note_pair(peer_, "that end gave up a message", "");
        end(stream, State::kFailed);
        return true;
    }
    if (piece == Piece::kAnnounced && is_first && operation.bytes > 0) {
        operation.direct = Direct::kAnnounced;
        operation.lease = team_.exposures.lease_target(operation.target, operation.bytes);
        offering_ |= 1u << stream;
        link_.mark(team_.number);
        return true;
    }
    if (piece == Piece::kWhole && operation.direct == Direct::kAnnounced && operation.done == 0) {
        end(stream, State::kDone, ++streams_[stream].received);
        return true;
    }
    link_.fail("a piece of a message came out of turn");
    return false;
}

bool PeerReceives::take_kept(uint32_t stream, Operation& operation) {
    std::vector<Kept>& kept = streams_[stream].kept;
    const Kept& first = kept.front();
    if (!agrees(stream, operation, first.word, first.bytes.size())) return false;
    if (!first.bytes.empty()) {
        std::memcpy(operation.target, first.bytes.data(), first.bytes.size());
    }
    const uint64_t order = first.order;
    kept.erase(kept.begin());
    end(stream, State::kDone, order);
    return true;
}

bool PeerReceives::agrees(uint32_t stream, Operation& operation, const CallWord& word,
                          size_t bytes) {
    const bool is_word = stream == kRecoverySlot ||
                         (word.call == operation.word.call && word.before == operation.word.before);
    if (is_word && bytes == operation.bytes) return true;
    if (is_word && bytes < operation.bytes && operation.may_be_short) {
        operation.bytes = bytes;
        return true;
    }
    if (is_word) {
        team_.failure.note_size(peer_, bytes, operation.bytes);
    } else {
        team_.failure.note_word(peer_, word);
    }
    end(stream, State::kFailed);
    return false;
}

void PeerReceives::end(uint32_t stream, State state, uint64_t order) {
    Operation* operation = lines_.pop(stream);
    if (operation->ticket) operation->ticket->number = order;  // for withdraw_receive()
    team_.end(operation, state);
}

// Of receives that were called off meanwhile nothing is offered: what comes is thrown away.
void PeerReceives::make_offers() {
    for (uint32_t stream = 0; stream < kSlotsMax && !team_.is_closing; ++stream) {
        if ((offering_ >> stream & 1) == 0) continue;
        const Operation& operation = *lines_.first(stream);
        const Offer offer{.address = reinterpret_cast<uint64_t>(operation.target),
                          .bytes = operation.bytes,
                          .stream = stream,
                          .key = operation.lease.region.key,
                          .is_there = operation.is_registered() ? 1u : 0u};
        const SlotHeader header{.bytes = sizeof offer,
                                .piece_bytes = sizeof offer,
                                .piece = Piece::kOffer,
                                .team = static_cast<uint8_t>(team_.number)};
        const SlotRange range = link_.take_slots(kSigns);
        if (range.slot == kNoSlot) return;
        if (!link_.write_piece(range, header, &offer, true)) return;
        offering_ &= ~(1u << stream);
    }
}

// ---------------------------------------------------------------- receives that end otherwise

void PeerReceives::drop(uint32_t stream) {
    team_.drop(lines_, stream);
    offering_ &= ~(1u << stream);
}

void PeerReceives::fail() {
    team_.drop(lines_);
    offering_ = 0;
}

void PeerReceives::close() {
    team_.drop_but_registered(lines_);
    offering_ = 0;
}

Operation* PeerReceives::call_off(uint32_t stream, const Ticket& ticket) {
    Operation* operation = lines_.find(stream, ticket);
    if (operation) operation->call_off();
    return operation;
}

void PeerReceives::give_up(uint32_t stream, Operation* operation) {
    team_.exposures.give_back(operation->lease);
    operation->target = nullptr;
    if (operation->is_begun) return;
    team_.forget(lines_, stream, operation);
}

bool PeerReceives::withdraw(uint32_t stream, const Ticket& ticket) {
    Operation* operation = lines_.find(stream, ticket);
    if (operation->is_begun) return false;
    team_.forget(lines_, stream, operation);
    return true;
}

// Receives may be withdrawn in any order, and one of what was kept before goes back there.
bool PeerReceives::keep(uint32_t stream, uint64_t order, const CallWord& word,
                        std::span<const std::byte> data) {
    try {
        std::vector<Kept>& all = streams_[stream].kept;
        Kept kept{order, word, {data.begin(), data.end()}};
        const auto behind = std::ranges::upper_bound(all, order, std::less<>{}, &Kept::order);
        all.insert(behind, std::move(kept));
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

// Of a team that was given up, others may still come for what they miss. What a receive waits for
// that was called off in the middle of its message, that takes.
bool PeerReceives::is_unwanted(uint32_t stream) const {
    if (lines_.first(stream)) return false;
    return team_.is_closing || (team_.is_given_up && stream != kRecoverySlot);
}

void PeerReceives::drop_unwanted() {
    for (uint32_t stream = 0; stream < kSlotsMax; ++stream) {
        if (is_unwanted(stream)) drop_pieces(stream);
    }
}

void PeerReceives::drop_pieces() {
    for (uint32_t stream = 0; stream < kSlotsMax; ++stream) drop_pieces(stream);
}

void PeerReceives::drop_pieces(uint32_t stream) {
    const uint32_t there = team_.stream(stream);
    while (link_.slots().first(there) != kNoSlot) link_.release(there);
}

}  // namespace tutti::transport::verbs
