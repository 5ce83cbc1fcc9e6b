// SPDX-License-Identifier: BSD-3-Clause
// Lengths of blocks by which vector forms are tried, where all ranks know them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/collectives.h"
#include "plan/sched/block_lengths.h"

namespace tutti::check {

enum class LengthPattern : uint8_t {
    kEqual,
    kRagged,  // some of them empty, the longest one three times as long as the shortest other
    kOneLong  // the others have one element or none
};
inline constexpr std::array kLengthPatterns = {LengthPattern::kEqual, LengthPattern::kRagged,
                                               LengthPattern::kOneLong};
inline constexpr std::array<std::string_view, kLengthPatterns.size()> kLengthPatternNames = {
    "equal", "ragged", "one"};

// The longest block has so many bytes, which are whole elements. None where all are equal.
sched::OwnLengths lengths_of(LengthPattern pattern, uint32_t ranks, uint64_t longest,
                             uint64_t element_bytes);

// Whether calls of the collective have lengths that all ranks know.
constexpr bool has_patterns(tutti_collective collective) {
    return facts(collective).lengths == tutti::Lengths::kKnownToAll;
}

}  // namespace tutti::check
