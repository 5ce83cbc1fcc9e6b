// SPDX-License-Identifier: BSD-3-Clause
#include "transport/verbs/slots.h"

#include <bit>

#include "base/assert.h"

namespace tutti::transport::verbs {
namespace {

constexpr uint32_t kShared = kAllSlots & ~((1u << kStreams) - 1);

}  // namespace

Slots::Slots() {
    first_.fill(kNoSlot);
    last_.fill(kNoSlot);
    next_.fill(kNoSlot);
}

uint32_t Slots::available(uint32_t stream) const {
    uint32_t found = 0;
    uint32_t candidates = ~(taken_ ^ heard_) & (kShared | (1u << stream));
    for (; candidates != 0; candidates &= candidates - 1) {
        const auto slot = static_cast<uint32_t>(std::countr_zero(candidates));
        if (is_complete(write_of_[slot])) found |= 1u << slot;
    }
    return found;
}

// The stream's own first, so that the shared ones are there for whoever has more to send.
uint32_t Slots::take(uint32_t stream) {
    TUTTI_ASSERT(stream < kStreams, "the stream has a slot");
    const uint32_t found = available(stream);
    if (found == 0) return kNoSlot;
    const auto slot = static_cast<uint32_t>(std::countr_zero(found));
    taken_ ^= 1u << slot;
    return slot;
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
    const bool is_allowed = ((kShared | (1u << header.stream)) & bit) != 0;
    if (!is_allowed || (occupied_ & bit) != 0) return false;
    if (header.sequence != received_[header.stream]) return false;
    ++received_[header.stream];
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
    return std::popcount(untold) >= static_cast<int>(kTellAfter) ||
           (kShared & ~(untold | occupied_)) == 0;
}

}  // namespace tutti::transport::verbs
