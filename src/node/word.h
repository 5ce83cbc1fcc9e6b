// SPDX-License-Identifier: BSD-3-Clause
// What ranks of one call must agree on, in a word: so that those who disagree notice.
//
// A slot line's flag is the number of the call and, above it, a tag made of collective, root, bytes
// and the calls before. Readers compare the whole flag, as they would a bare number; only where it
// is not the one that they wait for do they look whether it is the same call with another tag.
//
// A note is a rank's word of a recent call, whole, for whoever has to find out what is the matter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "node/layout.h"
#include "tutti/tutti.h"

namespace tutti::node {

// 2^40 calls of 100 ns last 30 hours: a line that was not written for exactly so many calls, and
// then has the tag of the call that is waited for, is not to be feared.
inline constexpr unsigned kNumberBits = 40;
inline constexpr uint64_t kNumberMask = (uint64_t{1} << kNumberBits) - 1;
// Sizes of slots, whole: 0 to 1024. More is told apart by the hash of the kind alone, as chunks
// are not read by flags.
inline constexpr unsigned kSizeBits = 11;
inline constexpr uint64_t kSizeMax = (uint64_t{1} << kSizeBits) - 1;
inline constexpr unsigned kSizeShift = kNumberBits;
inline constexpr unsigned kKindShift = kNumberBits + kSizeBits;

// Of two flags: of one call number.
inline bool is_same_number(uint64_t one, uint64_t other) {
    return ((one ^ other) & kNumberMask) == 0;
}
// And of one collective and root, after the same calls.
inline bool is_same_kind(uint64_t one, uint64_t other) {
    return is_same_number(one, other) && (one ^ other) >> kKindShift == 0;
}
inline size_t flag_bytes(uint64_t flag) { return (flag >> kSizeShift) & kSizeMax; }

inline uint64_t with_size(uint64_t flag, size_t bytes) {
    return (flag & ~(kSizeMax << kSizeShift)) | std::min<uint64_t>(bytes, kSizeMax) << kSizeShift;
}

// One atomic word: number (its low bits), collective, root, bytes.
struct CallNote {
    uint32_t number = 0;  // kNoteNumberBits of it
    uint32_t collective = 0;
    Rank root = 0;
    uint64_t bytes = 0;

    static constexpr unsigned kNumberLow = 8;
    static constexpr uint64_t kBytesMax = (uint64_t{1} << 40) - 1;
    bool operator==(const CallNote&) const = default;
    static CallNote of(uint64_t number, tutti_collective collective, Rank root, uint64_t bytes) {
        return {static_cast<uint32_t>(number & ((1u << kNumberLow) - 1)),
                static_cast<uint32_t>(collective), root & 0xfff, std::min(bytes, kBytesMax)};
    }
    // Never 0, which is the word of nothing.
    [[nodiscard]] uint64_t pack() const {
        return uint64_t{number} << 56 | uint64_t{collective + 1} << 52 | uint64_t{root} << 40 |
               bytes;
    }
    static CallNote unpack(uint64_t word) {
        return {static_cast<uint32_t>(word >> 56), static_cast<uint32_t>(word >> 52 & 0xf) - 1,
                static_cast<Rank>(word >> 40 & 0xfff), word & kBytesMax};
    }
    [[nodiscard]] bool is_kind_of(const CallNote& other) const {
        return number == other.number && collective == other.collective && root == other.root;
    }
};
static_assert(TUTTI_COLLECTIVE_COUNT < 15, "a collective has 4 bits of a note");

}  // namespace tutti::node
