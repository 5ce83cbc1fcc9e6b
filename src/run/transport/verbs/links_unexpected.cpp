// SPDX-License-Identifier: BSD-3-Clause
// Unexpected pieces, for which no receive was posted, where own slots run short (slots.h): copied
// into the memory that their team has for them, and told to the other end, by which their stream
// waits until they are read there. What the other end needs to know goes in one piece: a slot is
// not told to be free without the note that its piece was buffered.
#include <algorithm>
#include <cstring>

#include "run/transport/verbs/links.h"
#include "run/transport/verbs/rc.h"

namespace tutti::transport::verbs {

void Links::buffer_unexpected(uint32_t link) {
    Slots& slots = links_[link].slots;
    while (!links_[link].has_failed && slots.has_to_tell_unexpected()) {
        const SlotRange range = take_slots(link, kSigns);
        if (range.slot == kNoSlot) return;
        std::array<UnexpectedNote, kUnexpectedNotes> notes;
        size_t count = std::min(slots.read_unexpected().size(), notes.size());
        const auto first = slots.read_unexpected().end() - static_cast<std::ptrdiff_t>(count);
        std::transform(first, slots.read_unexpected().end(), notes.begin(), [](uint32_t stream) {
            return UnexpectedNote{stream, 1};
        });
        slots.told_unexpected(count);
        for (; count < notes.size(); ++count) {
            const uint32_t slot = slots.crowded();
            if (slot == kNoSlot) break;
            const uint32_t stream = slots.stream_in(slot);
            const std::byte* end = header_memory(link, slot, false) + sizeof(SlotHeader);
            std::byte* unexpected =
                teams_[team_of(stream)]->unexpected_memory(link, slot_of(stream));
            std::memcpy(unexpected, end - kSlotBytes, kSlotBytes);
            slots.buffer_unexpected(slot);
            notes[count] = {stream, 0};
        }
        const SlotHeader header{
            .piece_bytes = static_cast<uint16_t>(count * sizeof(UnexpectedNote)),
            .piece = Piece::kUnexpected};
        if (!write_piece(link, range, header, notes.data(), true)) return;
    }
}

// False where the other end is wrong.
bool Links::take_notes(uint32_t link, const SlotHeader& header, const std::byte* end) {
    Slots& slots = links_[link].slots;
    const size_t count = header.piece_bytes / sizeof(UnexpectedNote);
    if (count > kUnexpectedNotes || header.piece_bytes % sizeof(UnexpectedNote) != 0) return false;
    for (const std::byte* at = end - header.piece_bytes; at != end; at += sizeof(UnexpectedNote)) {
        UnexpectedNote note;
        std::memcpy(&note, at, sizeof note);
        if (!slots.hear(note)) return false;
    }
    release(link, kSigns);
    return true;
}

}  // namespace tutti::transport::verbs
