// SPDX-License-Identifier: BSD-3-Clause
#include "transport/verbs/slots.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace tutti::transport::verbs {
namespace {

constexpr uint32_t kShared = kAllSlots & ~((1u << kStreams) - 1);
constexpr uint32_t kFirstAhead = kStreams;

constexpr uint32_t slots_of(uint32_t stream) { return kShared | (1u << stream); }

// So many, of which slot is the last: count <= slot + 1.
constexpr uint32_t bits_of(uint32_t slot, uint32_t count) {
    return ((1u << count) - 1) << (slot + 1 - count);
}

}  // namespace

Slots::Slots() {
    first_.fill(kNoSlot);
    last_.fill(kNoSlot);
    next_.fill(kNoSlot);
}

uint32_t Slots::available(uint32_t slots) const {
    uint32_t found = 0;
    uint32_t candidates = given_back(slots);
    for (; candidates != 0; candidates &= candidates - 1) {
        const auto slot = static_cast<uint32_t>(std::countr_zero(candidates));
        if (is_complete(write_of_[slot])) found |= 1u << slot;
    }
    return found;
}

bool Slots::has_none() const {
    return chooses_ahead_ ? ahead_ == kNoSlot : available(kShared) == 0;
}

bool Slots::may_go_on(uint32_t stream) const {
    return may_write() && (ahead_ != kNoSlot || available(slots_of(stream)) != 0);
}

bool Slots::awaits_completion(uint32_t stream) const {
    return available(slots_of(stream)) != given_back(slots_of(stream));
}

// Single ones: the stream's own first, so that the shared ones are there for whoever has more to
// send.
Room Slots::take(uint32_t stream, uint32_t wanted, bool tells) {
    TUTTI_ASSERT(stream < kStreams, "the stream has a slot");
    if (wanted > 1) {
        const Room row = take_row(std::min(wanted, kPieceSlots));
        if (row.count > 1) return row;
    }
    const uint32_t found = tells || ahead_ == kNoSlot ? available(slots_of(stream)) : 0;
    if (found == 0) return {std::exchange(ahead_, kNoSlot), 1, tells};
    const auto slot = static_cast<uint32_t>(std::countr_zero(found));
    taken_ ^= 1u << slot;
    return {slot};
}

// The longest row of shared ones, from the other end than single ones, which break up no more of
// them than they have to.
Room Slots::take_row(uint32_t wanted) {
    const uint32_t found = available(kShared);
    Room row;
    uint32_t ends = found;  // of rows of so many
    for (; row.count < wanted && (found & ends << 1) != 0; ++row.count) ends = found & ends << 1;
    if (row.count == 1) return row;
    row.slot = static_cast<uint32_t>(std::bit_width(ends)) - 1;
    taken_ ^= bits_of(row.slot, row.count);
    return row;
}

// Both ends know the first one.
void Slots::choose_ahead() {
    TUTTI_ASSERT(taken_ == 0, "nothing has been sent");
    chooses_ahead_ = true;
    ahead_ = kFirstAhead;
    taken_ = 1u << kFirstAhead;
}

void Slots::await_ahead() {
    awaits_ahead_ = true;
    awaited_ = kFirstAhead;
}

void Slots::sign(SlotHeader& header, bool tells) {
    const uint32_t found = chooses_ahead_ && ahead_ == kNoSlot ? available(kShared) : 0;
    if (found != 0) {
        ahead_ = static_cast<uint32_t>(std::countr_zero(found));
        taken_ ^= 1u << ahead_;
    }
    header.next = static_cast<uint8_t>(ahead_);  // kNoSlot: 0xff
    header.freed = freed_;
    header.number = sent_++;
    if (tells) count_immediate();
    header.told = told_immediates_;
    told();
}

uint64_t Slots::write(const Room& room) {
    ++written_;
    if (room.slot == kNoSlot) return written_;
    for (uint32_t i = 0; i < room.count; ++i) write_of_[room.slot - i] = written_;
    return written_;
}

void Slots::complete(uint64_t number) {
    TUTTI_ASSERT(number <= written_, "only what was written is complete");
    if (number > complete_) complete_ = number;
}

bool Slots::arrive(uint32_t slot, const SlotHeader& header) {
    if (slot >= kSlots || header.stream >= kStreams) return false;
    if (header.slots == 0 || header.slots > std::min(slot + 1, kPieceSlots)) return false;
    const uint32_t filled = bits_of(slot, header.slots);
    const uint32_t allowed = header.slots == 1 ? slots_of(header.stream) : kShared;
    if ((filled & ~allowed) != 0 || (filled & occupied_) != 0) return false;
    if (header.number != received_) return false;
    if (awaits_ahead_) awaited_ = header.next < kSlots ? header.next : kNoSlot;
    ++received_;
    occupied_ |= filled;
    filled_[slot] = filled;
    next_[slot] = kNoSlot;
    uint32_t& last = last_[header.stream];
    (last == kNoSlot ? first_[header.stream] : next_[last]) = slot;
    last = slot;
    return true;
}

void Slots::release(uint32_t stream) {
    const uint32_t slot = first_[stream];
    TUTTI_ASSERT(slot != kNoSlot, "a piece has come");
    first_[stream] = next_[slot];
    if (first_[stream] == kNoSlot) last_[stream] = kNoSlot;
    occupied_ &= ~filled_[slot];
    freed_ ^= filled_[slot];
}

// Early where many are untold; and always where none of the shared ones is sure to be free for a
// stream whose own one is untold (I2).
bool Slots::must_tell() const {
    const uint32_t untold = freed_ ^ told_;
    if (untold == 0) return false;
    const uint32_t enough = awaits_ahead_ ? kTellTailsAfter : kTellAfter;
    return std::popcount(untold) >= static_cast<int>(enough) ||
           (kShared & ~(untold | occupied_)) == 0;
}

}  // namespace tutti::transport::verbs
