// SPDX-License-Identifier: BSD-3-Clause
#include "transport/verbs/slots.h"

#include <bit>

#include "base/assert.h"

namespace tutti::transport::verbs {
namespace {

constexpr uint32_t kShared = kAllSlots & ~((1u << kStreams) - 1);
constexpr uint32_t kFirstAhead = kStreams;

constexpr uint32_t slots_of(uint32_t stream) { return kShared | (1u << stream); }

}  // namespace

Slots::Slots() {
    first_.fill(kNoSlot);
    last_.fill(kNoSlot);
    next_.fill(kNoSlot);
}

uint32_t Slots::available(uint32_t slots) const {
    uint32_t found = 0;
    uint32_t candidates = ~(taken_ ^ heard_) & slots;
    for (; candidates != 0; candidates &= candidates - 1) {
        const auto slot = static_cast<uint32_t>(std::countr_zero(candidates));
        if (is_complete(write_of_[slot])) found |= 1u << slot;
    }
    return found;
}

bool Slots::has_none(uint32_t stream) const {
    return chooses_ahead_ ? ahead_ == kNoSlot : available(slots_of(stream)) == 0;
}

// The stream's own first, so that the shared ones are there for whoever has more to send.
uint32_t Slots::take(uint32_t stream) {
    TUTTI_ASSERT(stream < kStreams, "the stream has a slot");
    const uint32_t found = available(slots_of(stream));
    if (found == 0) return kNoSlot;
    const auto slot = static_cast<uint32_t>(std::countr_zero(found));
    taken_ ^= 1u << slot;
    return slot;
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

uint64_t Slots::write(uint32_t slot) {
    ++written_;
    if (slot != kNoSlot) write_of_[slot] = written_;
    return written_;
}

void Slots::complete(uint64_t number) {
    TUTTI_ASSERT(number <= written_, "only what was written is complete");
    if (number > complete_) complete_ = number;
}

bool Slots::arrive(uint32_t slot, const SlotHeader& header) {
    if (slot >= kSlots || header.stream >= kStreams) return false;
    const uint32_t bit = 1u << slot;
    const bool is_allowed = (slots_of(header.stream) & bit) != 0;
    if (!is_allowed || (occupied_ & bit) != 0) return false;
    if (header.number != received_) return false;
    if (awaits_ahead_) awaited_ = header.next < kSlots ? header.next : kNoSlot;
    ++received_;
    occupied_ |= bit;
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
    occupied_ &= ~(1u << slot);
    freed_ ^= 1u << slot;
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
