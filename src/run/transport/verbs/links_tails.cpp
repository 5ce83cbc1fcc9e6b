// SPDX-License-Identifier: BSD-3-Clause
// Pieces that come without immediates: this end looks for them in memory, as in Kini 2003, Section
// 5.3. It rests on the promise that the last eight bytes of a write of a packet at most, the number
// of its piece, are placed last. What is read behind them, Endpoint::look() has read first.
//
// A link is looked at where the team that polls awaits something of it, if only a bye, at one word:
// the piece before has said in which slot the next one comes. What nobody waits for stays where it
// is, and the sender, short of slots that were chosen ahead, goes on by immediates.
//
// Pieces are taken in the order in which they were written, so that `freed` is heard in the order
// in which it was said. Before an immediate, all pieces that were written before it: they are there
// once its receive is complete, whatever is promised of ends. A piece behind an immediate that has
// not been polled yet, or with one, which its header says, waits for that.
#include <cstddef>
#include <cstring>

#include "run/transport/verbs/links.h"

namespace tutti::transport::verbs {

// No slot looks as if its first piece were there.
void Links::prepare_tails() {
    SlotHeader none;
    none.number = kFirstPiece - 1;
    for (uint32_t link = 0; link < count_; ++link) {
        links_[link].slots.await_ahead();
        for (uint32_t slot = 0; slot < kSlots; ++slot) {
            std::memcpy(header_memory(link, slot, false), &none, sizeof none);
        }
    }
}

// True where there was one. No more than there are slots: before an immediate that is all, and a
// peer that sends on and on keeps nobody here.
bool Links::take_tails(uint32_t link) {
    const Link& at = links_[link];
    const Slots& slots = at.slots;
    bool has_taken = false;
    for (uint32_t i = 0; i < kSlots && !at.has_failed; ++i) {
        const uint32_t slot = slots.awaited();
        if (slot == kNoSlot) break;
        const std::byte* end = header_memory(link, slot, false);
        const uint64_t number = endpoint_->look(end + offsetof(SlotHeader, number));
        if (!has_come(number, slots.awaited_number())) break;
        const auto told = std::to_integer<uint8_t>(end[offsetof(SlotHeader, told)]);
        if (told != slots.immediates()) break;
        take_piece(link, slot);
        has_taken = true;
    }
    return has_taken;
}

// What looks like a number in a slot that is given back, since data of a longer piece lay there.
void Links::hide_data(uint32_t link, const SlotRange& range, uint64_t number) {
    for (uint32_t i = 1; i < range.count; ++i) {
        std::byte* end = header_memory(link, range.slot - i, false);
        std::memcpy(end + offsetof(SlotHeader, number), &number, sizeof number);
    }
}

}  // namespace tutti::transport::verbs
