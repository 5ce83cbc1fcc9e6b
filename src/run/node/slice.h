// SPDX-License-Identifier: BSD-3-Clause
// A team's slice of a node's shared segment: which rank writes which word. docs/node.md has the
// table.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/bell.h"
#include "run/node/layout.h"
#include "run/node/word.h"

namespace tutti::node {

inline constexpr size_t kLineBytes = 64;
// Two lines: the adjacent-line prefetcher of today's processors pulls pairs.
inline constexpr size_t kControlStride = 128;
// Slices are mapped at multiples of this, and areas begin there: the largest page that Linux may
// have on this kind of processor. On x86 there is but one; ARM and POWER have kernels with 4 and
// with 64 KiB. TUTTI_PAGE_BYTES pretends another, for tests.
#if defined(TUTTI_PAGE_BYTES)
inline constexpr size_t kPageBytes = TUTTI_PAGE_BYTES;
#elif defined(__x86_64__)
inline constexpr size_t kPageBytes = 4096;
#else
inline constexpr size_t kPageBytes = 65536;
#endif
constexpr size_t whole_pages(size_t bytes) {
    return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// A slot line carries payload and, in its last word, the flag that makes it valid (word.h).
inline constexpr size_t kLinePayloadBytes = kLineBytes - sizeof(uint64_t);
// 19 lines: the smallest number that holds 1 KiB. Measured on 2 cores, one line more costs about as
// much as the copy that it saves, so the border is not sharp.
inline constexpr size_t kSlotLines = 19;
inline constexpr size_t kSlotBytes = kSlotLines * kLineBytes;
inline constexpr size_t kInlineBytesMax = 1024;
static_assert(kSlotLines * kLinePayloadBytes >= kInlineBytesMax);
// Calls that a rank may run ahead of the slowest before it must look; a power of two.
inline constexpr uint64_t kSlotCount = 8;
// And with payloads of one line before it must wait; a power of two. Programs count on some tens: a
// root that goes on sending. All in one rotation would make each call slower, by a tenth.
inline constexpr uint64_t kSpareCount = 64;
// Chunks in a rank's ring: a power of two. The split reduction needs at least 5 (split.cpp).
inline constexpr uint64_t kChunkCountMin = 8;
inline constexpr uint64_t kChunkCountMax = 256;

static_assert(std::atomic<uint64_t>::is_always_lock_free);

// Words of rank r. Written by r alone, except `inbox` slots, which the root of that call writes.
struct alignas(kControlStride) ReadyWords {
    // Chunk events of r so far. Release after the chunk is written; readers acquire.
    std::atomic<uint64_t> published{0};
    // Notes (word.h) of the last calls in which r wrote chunks, by number modulo kChunkNotes:
    // before the first event of the call, whose release makes it visible. In the line that its
    // readers have at hand.
    std::atomic<uint64_t> chunk_notes[4] = {};
    // Of a lean team: which chunk of r's pool has the chunk with this number, modulo kChunksOut.
    // Before the event that says it is written; r's readers have read it before it changes.
    std::atomic<uint16_t> places[8] = {};
    // SpareWord::last of a lean team, which has no spare lines: nobody writes it.
    std::atomic<uint64_t> spare_word{0};
};
// Chunks of one lean team that a rank has written and others may still read: as in a ring of so
// many.
inline constexpr uint64_t kChunksOut = 8;
struct alignas(kControlStride) DoneWords {
    // The last call that r has finished, and the chunks (cumulative) that r will not read again.
    // Release after the last read; a writer acquires before it overwrites.
    std::atomic<uint64_t> calls_done{0};
    std::atomic<uint64_t> chunks_consumed{0};
    // The last call that r is known to have entered; written only when r has waited a while, or
    // when the embedder asks. For messages to people, never for synchronization.
    std::atomic<uint64_t> calls_entered{0};
    // The last call of a vector form in which r has written all its cells. r stores it (release)
    // only when it has waited long; a member that has waited long for such a cell loads it
    // (acquire).
    std::atomic<uint64_t> cells_written{0};
    // Identity handshake at creation: the token of r, then what r has read of the others.
    std::atomic<uint64_t> token{0};
};

// The same of all calls that r began lately, by number modulo so many: of more than r may be ahead.
// Release at the start of a call; read by members that have waited long, to find out with whom they
// disagree.
using NoteWord = std::atomic<uint64_t>;
inline constexpr uint64_t kLeanNotes = 16;
constexpr uint64_t notes_for(uint64_t spare_count) {
    return std::max<uint64_t>(2 * spare_count, kLeanNotes);
}
static_assert(notes_for(kSpareCount) < uint64_t{1} << CallNote::kNumberLow,
              "a note's number tells it from that of the call which had its place before");

// What r offers others to read in its own memory (offer.h). `state` is changed by r and by its
// readers; the rest is r's, written before the state's release and read only by who is counted in,
// or is in a call that r cannot leave before.
struct OfferWords {
    std::atomic<uint64_t> state{0};
    uint64_t note = 0;  // a packed CallNote
    uint64_t data = 0;  // addresses in r's process
    uint64_t result = 0;
};
// A rank may write chunks of so many calls ahead of the slowest before it must look.
inline constexpr uint64_t kChunkNotes = 4;

// Where a rank writes what goes one way in a call, from the beginning of its area: a slot, and the
// line that takes a payload of one line while the slot is not free.
struct SlotPlace {
    size_t lines = 0;
    size_t spare = 0;
};
struct Slot {
    std::byte* lines = nullptr;
    std::byte* spare = nullptr;
    const std::atomic<uint64_t>* spare_word = nullptr;  // SpareWord::last of the writer
};

// The flag of a call up to which a rank may have written spare lines, stored before these; relaxed,
// a hint. A reader that waits for a slot looks at this one line, not at the spare lines, which are
// others in each call.
struct alignas(kControlStride) SpareWord {
    std::atomic<uint64_t> last{0};
};

// Where things lie in the memory of a team. Every rank computes the same from the same numbers.
//
// A team has a slice of its own: slots for payloads of up to 1 KiB, of 8 calls, spare lines of 64,
// and a ring of chunks a rank. Or it is *lean*, so that a node may have thousands: an entry of 640
// bytes a rank in the memory that the rank has for all of its lean teams (its home), with slots of
// one line, of 2 calls; longer payloads go through chunks from the rank's pool (chunk_pool.h).
struct Geometry {
    uint32_t ranks = 0;
    size_t chunk_bytes = 0;  // a multiple of 64
    uint64_t chunk_count = kChunkCountMin;
    size_t ring_bytes = 0;   // there are, of which these chunks may be a part
    size_t rank_bytes = 0;   // one rank's area, a multiple of the page; of a lean team, an entry
    size_t slice_bytes = 0;  // a header page and all areas; of a lean team, nothing

    // Of slots: payloads go there up to so many bytes.
    size_t inline_max = kInlineBytesMax;
    uint64_t slot_mask = kSlotCount - 1;  // of the calls in rotation, a power of two
    size_t slot_bytes = kSlotBytes;
    uint64_t spare_mask = 0;  // of the calls whose spare lines are in rotation; 0: there are none
    uint64_t note_mask = kLeanNotes - 1;
    // From the beginning of an area; down and inbox: from an up slot to the one of its call.
    size_t offer_offset = 0;
    size_t notes_offset = 0;
    size_t spare_word_offset = 0;
    size_t slots_offset = 0;
    size_t spares_offset = 0;
    size_t down_offset = 0;
    size_t inbox_offset = 0;
    size_t chunks_offset = 0;
    bool is_lean = false;

    static Geometry make(uint32_t ranks, size_t chunk_bytes, uint64_t chunk_count = kChunkCountMin,
                         uint64_t spare_count = kSpareCount);
    static Geometry make_lean(uint32_t ranks, size_t chunk_bytes);
    // The same memory in chunks of this size, where it has room for a right number of them; else as
    // it is. used_bytes: of a ring at most. For times at which no chunk is written and not yet
    // consumed.
    [[nodiscard]] Geometry recut(size_t chunk_bytes_wanted, size_t used_bytes = SIZE_MAX) const;

    // Of what goes up in this call.
    [[nodiscard]] SlotPlace slot_place(uint64_t call) const {
        return {slots_offset + (call & slot_mask) * slot_bytes,
                spares_offset + (call & spare_mask) * kLineBytes};
    }
};

// The word of an entry in a home: all members of its team have left, so it may be used again.
// Written by the member that leaves last (release), read by the entry's rank.
struct EntryState {
    std::atomic<uint32_t> is_left{0};
};

// Where it is in an entry: behind the offer's words.
inline constexpr size_t kLeanStateOffset = kLineBytes + 32;
static_assert(sizeof(OfferWords) <= 32);

// The first page of a slice; of a lean team, an entry of the member that leads.
struct SliceHeader {
    // Ranks that have left the team. The slice may be used again when all have. Relaxed increments
    // are not enough: release, since the next user's owner clears the slice after reading it.
    std::atomic<uint32_t> detached{0};
    alignas(32) std::byte unused[kLeanStateOffset - 32] = {};
    EntryState entry;
    // Where ranks that wait for the node sleep.
    Bell bell;
    // A member takes part in no further call: 0 nobody; 1 the first one is writing why; 2 it is
    // written (release), for good. Read by members that have waited long.
    alignas(kControlStride) std::atomic<uint32_t> gave_up{0};
    uint32_t gave_up_status = 0;  // a tutti_status
    uint32_t gave_up_call = 0;    // the first call without it, in the team's number; 0: at once
    char gave_up_text[128] = {};  // which rank, and why; zero-terminated
};
static_assert(sizeof(SliceHeader) <= kPageBytes);
static_assert(offsetof(SliceHeader, entry) == kLeanStateOffset);

// An entry: words of two lines each, of which notes take two, and offers stand in the second one of
// ReadyWords; then 2 slots up, of which a scatter's root uses those of its receivers, and 2 down.
inline constexpr uint64_t kLeanSlotCount = 2;
inline constexpr size_t kLeanSlotsOffset = 3 * kControlStride;
inline constexpr size_t kEntryBytes = kLeanSlotsOffset + 2 * kLeanSlotCount * kLineBytes;
static_assert(kEntryBytes % kControlStride == 0);
static_assert(sizeof(SliceHeader) <= kEntryBytes);
static_assert(sizeof(ReadyWords) == kControlStride && sizeof(DoneWords) == kControlStride);
static_assert(kLeanNotes * sizeof(NoteWord) == kControlStride);
static_assert(offsetof(ReadyWords, spare_word) + sizeof(uint64_t) <= kLineBytes);
static_assert(kChunksOut == kChunkCountMin);

// Pointers into the memory of a team.
class Slice {
  public:
    Slice() = default;
    // A slice as it is mapped.
    Slice(std::byte* base, const Geometry& cut) : geometry(cut), base_(base) {
        areas_.reserve(cut.ranks);
        for (Rank rank = 0; rank < cut.ranks; ++rank) {
            areas_.push_back(base + kPageBytes + rank * cut.rank_bytes);
        }
    }
    // Of a lean team: a header, and by rank the entry and the pool.
    Slice(std::byte* header, const Geometry& cut, std::vector<std::byte*> entries,
          std::vector<std::byte*> pools)
        : geometry(cut), base_(header), areas_(std::move(entries)), pools_(std::move(pools)) {}

    Geometry geometry;

    [[nodiscard]] std::byte* base() const { return base_; }
    [[nodiscard]] SliceHeader& header() const { return *reinterpret_cast<SliceHeader*>(base_); }
    [[nodiscard]] std::byte* area(Rank rank) const { return areas_[rank]; }
    [[nodiscard]] ReadyWords& ready(Rank rank) const {
        return *reinterpret_cast<ReadyWords*>(area(rank));
    }
    [[nodiscard]] DoneWords& done(Rank rank) const {
        return *reinterpret_cast<DoneWords*>(area(rank) + sizeof(ReadyWords));
    }
    // All of a rank; of one call.
    [[nodiscard]] NoteWord* notes(Rank rank) const {
        return reinterpret_cast<NoteWord*>(area(rank) + geometry.notes_offset);
    }
    [[nodiscard]] NoteWord& note(Rank rank, uint64_t call) const {
        return notes(rank)[call & geometry.note_mask];
    }
    [[nodiscard]] OfferWords& offer(Rank rank) const {
        return *reinterpret_cast<OfferWords*>(area(rank) + geometry.offer_offset);
    }
    // SpareWord::last of a rank.
    [[nodiscard]] std::atomic<uint64_t>& spare_word(Rank rank) const {
        return *reinterpret_cast<std::atomic<uint64_t>*>(area(rank) + geometry.spare_word_offset);
    }
    // Of a lean team.
    [[nodiscard]] EntryState& entry_state(Rank rank) const {
        return *reinterpret_cast<EntryState*>(area(rank) + kLeanStateOffset);
    }
    // Slots of a call, by Geometry::slot_place(). Written by `rank`: towards the root or to
    // everybody, and down the tree.
    [[nodiscard]] Slot up_slot(Rank rank, const SlotPlace& place) const {
        return {area(rank) + place.lines, area(rank) + place.spare, &spare_word(rank)};
    }
    [[nodiscard]] Slot down_slot(Rank rank, const SlotPlace& place) const {
        std::byte* const from = area(rank) + geometry.down_offset;
        return {from + place.lines, from + place.spare, &spare_word(rank)};
    }
    // Read by `rank`, written by the root of a scatter, in which nobody writes up: so the spare
    // line is that of the up slot.
    [[nodiscard]] Slot inbox_slot(Rank rank, const SlotPlace& place, Rank root) const {
        return {area(rank) + geometry.inbox_offset + place.lines, area(rank) + place.spare,
                &spare_word(root)};
    }
    // Of a lean team, once the rank has found a place for it, and has published it.
    [[nodiscard]] std::byte* chunk(Rank rank, uint64_t index) const {
        if (geometry.is_lean) {
            const auto& place = ready(rank).places[index & (kChunksOut - 1)];
            return pools_[rank] + place.load(std::memory_order_relaxed) * geometry.chunk_bytes;
        }
        return area(rank) + geometry.chunks_offset +
               (index & (geometry.chunk_count - 1)) * geometry.chunk_bytes;
    }

  private:
    std::byte* base_ = nullptr;
    std::vector<std::byte*> areas_;  // by rank
    std::vector<std::byte*> pools_;
};

inline Geometry Geometry::make(uint32_t ranks, size_t chunk_bytes, uint64_t chunk_count,
                               uint64_t spare_count) {
    TUTTI_ASSERT(spare_count > 1 && std::has_single_bit(spare_count), "lines in rotation");
    Geometry geometry;
    geometry.ranks = ranks;
    geometry.chunk_bytes = (chunk_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
    geometry.chunk_count = chunk_count;
    geometry.ring_bytes = chunk_count * geometry.chunk_bytes;
    geometry.spare_mask = spare_count - 1;
    geometry.note_mask = notes_for(spare_count) - 1;
    geometry.offer_offset = 2 * kControlStride;
    geometry.notes_offset = 3 * kControlStride;
    geometry.spare_word_offset = geometry.notes_offset + notes_for(spare_count) * sizeof(NoteWord);
    geometry.slots_offset = geometry.spare_word_offset + sizeof(SpareWord);
    geometry.spares_offset = geometry.slots_offset + kSlotCount * kSlotBytes;
    geometry.down_offset = kSlotCount * kSlotBytes + spare_count * kLineBytes;
    geometry.inbox_offset = 2 * geometry.down_offset;
    const size_t end = geometry.slots_offset + geometry.inbox_offset + kSlotCount * kSlotBytes;
    geometry.chunks_offset = whole_pages(end);
    geometry.rank_bytes = whole_pages(geometry.chunks_offset + geometry.ring_bytes);
    geometry.slice_bytes = kPageBytes + ranks * geometry.rank_bytes;
    return geometry;
}

inline Geometry Geometry::make_lean(uint32_t ranks, size_t chunk_bytes) {
    Geometry geometry;
    geometry.ranks = ranks;
    geometry.chunk_bytes = (chunk_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
    geometry.chunk_count = kChunksOut;
    geometry.rank_bytes = kEntryBytes;
    geometry.inline_max = kLinePayloadBytes;
    geometry.slot_mask = kLeanSlotCount - 1;
    geometry.slot_bytes = kLineBytes;
    geometry.offer_offset = kLineBytes;
    geometry.notes_offset = 2 * kControlStride;
    geometry.spare_word_offset = offsetof(ReadyWords, spare_word);
    geometry.slots_offset = geometry.spares_offset = kLeanSlotsOffset;
    geometry.down_offset = kLeanSlotCount * kLineBytes;
    geometry.is_lean = true;
    return geometry;
}

inline Geometry Geometry::recut(size_t chunk_bytes_wanted, size_t used_bytes) const {
    if (is_lean) return *this;
    const size_t used = std::min(used_bytes, ring_bytes);
    const bool is_right = chunk_bytes_wanted > 0 && chunk_bytes_wanted % kLineBytes == 0 &&
                          chunk_bytes_wanted >= kLineBytes * ranks;
    if (!is_right) return *this;
    const uint64_t count = std::bit_floor(used / chunk_bytes_wanted);
    if (count < kChunkCountMin || count > kChunkCountMax) return *this;
    Geometry cut = *this;
    cut.chunk_bytes = chunk_bytes_wanted;
    cut.chunk_count = count;
    return cut;
}

}  // namespace tutti::node
