// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a call must agree on, as one word, so that ranks that disagree notice.
//
// A slot line's flag is the number of the call and, above it, a tag made of collective, root, bytes
// and the calls before. Readers compare the whole flag, as they would a bare number; only where it
// is not the one that they wait for do they look whether it is the same call with another tag.
//
// A note is a rank's full word of a recent call. Ranks read it to find out what is wrong.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "run/node/layout.h"
#include "tutti/tutti.h"

namespace tutti::node {

// From the top: number, size, and a hash of collective, root and the calls before. So the number
// needs no mask: what is too high of it goes where the word ends. 2^40 calls of 100 ns last 30
// hours: a line that was not written for exactly so many calls, and then has the tag of the call
// that is waited for, is not to be feared.
inline constexpr unsigned kKindBits = 13;
// Sizes of slots, whole: 0 to 1024. More is told apart by the hash of the kind alone, as chunks
// are not read by flags.
inline constexpr unsigned kSizeBits = 11;
inline constexpr uint64_t kSizeMax = (uint64_t{1} << kSizeBits) - 1;
inline constexpr unsigned kNumberShift = kKindBits + kSizeBits;

// `size` is at most kSizeMax; of the hash, the high bits count.
inline uint64_t pack_flag(uint64_t number, uint64_t size, uint64_t hash) {
    return number << kNumberShift | size << kKindBits | hash >> (64 - kKindBits);
}
inline uint64_t with_size(uint64_t flag, size_t bytes) {
    return (flag & ~(kSizeMax << kKindBits)) | std::min<uint64_t>(bytes, kSizeMax) << kKindBits;
}

// Of two flags: of one call number.
inline bool is_same_number(uint64_t one, uint64_t other) {
    return (one ^ other) >> kNumberShift == 0;
}
// And of one collective and root, after the same calls.
inline bool is_same_kind(uint64_t one, uint64_t other) {
    return ((one ^ other) & ~(kSizeMax << kKindBits)) == 0;
}
inline size_t flag_bytes(uint64_t flag) { return flag >> kKindBits & kSizeMax; }

// Collective and root in a word of 17 bits. Never 0.
inline uint64_t pack_kind(tutti_collective collective, Rank root) {
    return (static_cast<uint64_t>(collective) + 1) << 12 | (root & 0xfff);
}
static_assert(TUTTI_COLLECTIVE_COUNT < 31, "a collective has 5 bits of a kind");

// In words, the collective of a call that the host MPI runs: nothing else of it is compared.
inline constexpr tutti_collective kLeftToHost = TUTTI_COLLECTIVE_COUNT;

// One atomic word, from the top: bytes, collective, root, number (its low bits).
struct CallNote {
    uint32_t number = 0;  // kNumberLow bits of it
    uint32_t collective = 0;
    Rank root = 0;
    uint64_t bytes = 0;

    static constexpr unsigned kNumberLow = 8;
    static constexpr unsigned kBytesShift = 25;
    static constexpr uint64_t kBytesMax = (uint64_t{1} << 39) - 1;
    bool operator==(const CallNote&) const = default;
    static CallNote of(uint64_t number, tutti_collective collective, Rank root, uint64_t bytes) {
        return {static_cast<uint8_t>(number), static_cast<uint32_t>(collective), root & 0xfff,
                std::min(bytes, kBytesMax)};
    }
    // Never 0, which is the word of nothing. `size` is at most kBytesMax.
    static uint64_t pack(uint64_t call_number, uint64_t kind, uint64_t size) {
        return size << kBytesShift | kind << kNumberLow | static_cast<uint8_t>(call_number);
    }
    // The same of another number: a part has its own, by which its note is found.
    static uint64_t renumber(uint64_t packed, uint64_t call_number) {
        return (packed & ~uint64_t{0xff}) | static_cast<uint8_t>(call_number);
    }
    [[nodiscard]] uint64_t pack() const {
        return pack(number, pack_kind(static_cast<tutti_collective>(collective), root), bytes);
    }
    static CallNote unpack(uint64_t word) {
        return {static_cast<uint32_t>(word & 0xff), static_cast<uint32_t>(word >> 20 & 0x1f) - 1,
                static_cast<Rank>(word >> 8 & 0xfff), word >> kBytesShift};
    }
    [[nodiscard]] bool is_kind_of(const CallNote& other) const {
        return number == other.number && collective == other.collective && root == other.root;
    }
};
}  // namespace tutti::node
