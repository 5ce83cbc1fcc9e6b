// SPDX-License-Identifier: BSD-3-Clause
// A team's slice of a node's shared segment: who writes which word. docs/node.md has the table.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/bell.h"
#include "node/layout.h"

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
// Chunks in a rank's ring: a power of two. The split reduction needs at least 5 (split.cpp).
inline constexpr uint64_t kChunkCountMin = 8;
inline constexpr uint64_t kChunkCountMax = 32;

static_assert(std::atomic<uint64_t>::is_always_lock_free);

// Words of rank r. Written by r alone, except `inbox` slots, which the root of that call writes.
struct alignas(kControlStride) ReadyWords {
    // Chunk events of r so far. Release after the chunk is written; readers acquire.
    std::atomic<uint64_t> published{0};
    // Notes (word.h) of the last calls in which r wrote chunks, by number modulo kChunkNotes:
    // before the first event of the call, whose release makes it visible. In the line that its
    // readers have at hand.
    std::atomic<uint64_t> chunk_notes[4] = {};
};
struct alignas(kControlStride) DoneWords {
    // The last call that r has finished, and the chunks (cumulative) that r will not read again.
    // Release after the last read; a writer acquires before it overwrites.
    std::atomic<uint64_t> calls_done{0};
    std::atomic<uint64_t> chunks_consumed{0};
    // The last call that r is known to have entered; written only when r has waited a while, or
    // when the embedder asks. For messages to people, never for synchronization.
    std::atomic<uint64_t> calls_entered{0};
    // What r compares with the others before its next call, after calls of its own have failed
    // (notes/rejections.h). Release; read by members that compare too, or have waited long.
    std::atomic<uint64_t> rejections{0};
    // Identity handshake at creation: the token of r, then what r has read of the others.
    std::atomic<uint64_t> token{0};
};

// The same of all calls that r began lately, by number modulo kNotes. Release at the start of a
// call; read by members that have waited long, to find out with whom they disagree.
struct alignas(kControlStride) NoteWords {
    std::atomic<uint64_t> notes[16] = {};
};
inline constexpr uint64_t kNotes = 16;

// What r offers others to read in its own memory (offer.h). `state` is changed by r and by its
// readers; the rest is r's, written before the state's release and read only by who is counted in,
// or is in a call that r cannot leave before.
struct alignas(kControlStride) OfferWords {
    std::atomic<uint64_t> state{0};
    uint64_t note = 0;  // a packed CallNote
    uint64_t data = 0;  // addresses in r's process
    uint64_t result = 0;
};
// A rank may write chunks of so many calls ahead of the slowest before it must look.
inline constexpr uint64_t kChunkNotes = 4;

// Where things lie in a slice. Every rank of a team computes the same from the same two numbers.
struct Geometry {
    uint32_t ranks = 0;
    size_t chunk_bytes = 0;  // a multiple of 64
    uint64_t chunk_count = kChunkCountMin;
    size_t rank_bytes = 0;   // one rank's area, a multiple of the page
    size_t slice_bytes = 0;  // a header page and all areas

    static Geometry make(uint32_t ranks, size_t chunk_bytes, uint64_t chunk_count = kChunkCountMin);
    // The same memory in chunks of this size, where it has room for a right number of them; else as
    // it is. For times at which no chunk is written and not yet consumed.
    [[nodiscard]] Geometry recut(size_t chunk_bytes_wanted) const;
};

// The first page of a slice.
struct SliceHeader {
    // Ranks that have left the team. The slice may be used again when all have. Relaxed increments
    // are not enough: release, since the next user's owner clears the slice after reading it.
    std::atomic<uint32_t> detached{0};
    // Where ranks that wait for the node sleep.
    Bell bell;
    // A member takes part in no further call: 0 nobody; 1 the first one is writing why; 2 it is
    // written (release), for good. Read by members that have waited long.
    alignas(kControlStride) std::atomic<uint32_t> gave_up{0};
    uint32_t gave_up_status = 0;  // a tutti_status
    char gave_up_text[128] = {};  // who and why, zero-terminated
};
static_assert(sizeof(SliceHeader) <= kPageBytes);

// Pointers into a mapped slice.
struct Slice {
    std::byte* base = nullptr;
    Geometry geometry;

    [[nodiscard]] SliceHeader& header() const { return *reinterpret_cast<SliceHeader*>(base); }
    [[nodiscard]] std::byte* area(Rank rank) const {
        return base + kPageBytes + rank * geometry.rank_bytes;
    }
    [[nodiscard]] ReadyWords& ready(Rank rank) const {
        return *reinterpret_cast<ReadyWords*>(area(rank));
    }
    [[nodiscard]] DoneWords& done(Rank rank) const {
        return *reinterpret_cast<DoneWords*>(area(rank) + sizeof(ReadyWords));
    }
    [[nodiscard]] NoteWords& note_words(Rank rank) const {
        return *reinterpret_cast<NoteWords*>(area(rank) + sizeof(ReadyWords) + sizeof(DoneWords));
    }
    [[nodiscard]] OfferWords& offer(Rank rank) const {
        return *reinterpret_cast<OfferWords*>(area(rank) + kOfferOffset);
    }
    // Slots written by `rank`: towards the root or to everybody, and down the tree.
    [[nodiscard]] std::byte* up_slot(Rank rank, uint64_t call) const { return slot(rank, 0, call); }
    [[nodiscard]] std::byte* down_slot(Rank rank, uint64_t call) const {
        return slot(rank, 1, call);
    }
    // Slots read by `rank`, written by the root of a scatter.
    [[nodiscard]] std::byte* inbox_slot(Rank rank, uint64_t call) const {
        return slot(rank, 2, call);
    }
    [[nodiscard]] std::byte* chunk(Rank rank, uint64_t index) const {
        return area(rank) + kChunksOffset +
               (index & (geometry.chunk_count - 1)) * geometry.chunk_bytes;
    }

    static constexpr size_t kOfferOffset =
        sizeof(ReadyWords) + sizeof(DoneWords) + sizeof(NoteWords);
    static constexpr size_t kSlotsOffset = kOfferOffset + sizeof(OfferWords);
    static constexpr size_t kChunksOffset =
        (kSlotsOffset + 3 * kSlotCount * kSlotBytes + kPageBytes - 1) / kPageBytes * kPageBytes;

  private:
    [[nodiscard]] std::byte* slot(Rank rank, size_t kind, uint64_t call) const {
        return area(rank) + kSlotsOffset + (kind * kSlotCount + call % kSlotCount) * kSlotBytes;
    }
};

inline Geometry Geometry::make(uint32_t ranks, size_t chunk_bytes, uint64_t chunk_count) {
    Geometry geometry;
    geometry.ranks = ranks;
    geometry.chunk_bytes = (chunk_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
    geometry.chunk_count = chunk_count;
    const size_t raw = Slice::kChunksOffset + chunk_count * geometry.chunk_bytes;
    geometry.rank_bytes = (raw + kPageBytes - 1) / kPageBytes * kPageBytes;
    geometry.slice_bytes = kPageBytes + ranks * geometry.rank_bytes;
    return geometry;
}

inline Geometry Geometry::recut(size_t chunk_bytes_wanted) const {
    const size_t ring_bytes = chunk_bytes * chunk_count;
    const bool is_whole = chunk_bytes_wanted % kLineBytes == 0 &&
                          chunk_bytes_wanted >= kLineBytes * ranks &&
                          ring_bytes % std::max<size_t>(chunk_bytes_wanted, 1) == 0;
    if (!is_whole) return *this;
    const uint64_t count = ring_bytes / chunk_bytes_wanted;
    const bool fits =
        std::has_single_bit(count) && count >= kChunkCountMin && count <= kChunkCountMax;
    return fits ? make(ranks, chunk_bytes_wanted, count) : *this;
}

}  // namespace tutti::node
