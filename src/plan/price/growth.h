// SPDX-License-Identifier: BSD-3-Clause
// From small clusters to a large one of the same structure, in integers.
//
// A schedule's time is followed among h hosts on each of L switches, and with twice as many of
// either or of both. What it takes among more depends on how it grows: by as much with each
// doubling (trees, pairs), twice as much with each (rings, chains, gathered bytes), or half as much
// with each (the part (n - 1) / n of a vector that others have). Which of these holds is told by
// what is known of the large cluster beforehand, counts of steps and bytes.
#pragma once

#include <array>
#include <cstdint>

namespace tutti::price {

enum class Growth : uint8_t { kLogarithmic, kLinear, kSaturating };

// Of one amount: (h, L), (2 h, L), (h, 2 L), (2 h, 2 L).
using Corners = std::array<uint64_t, 4>;

// How often larger the large cluster is in both directions: a quotient of two numbers, 1 where it
// is followed at its whole size.
struct Quotient {
    uint64_t large = 1;
    uint64_t small = 1;
};
struct Reach {
    Quotient hosts;
    Quotient switches;
};

// log2(large / small) in 1024ths, rounded down; 0 < small <= large < 2^32.
uint64_t log2_1024(Quotient quotient);

// What the corners' amount becomes, if it grows so.
uint64_t grown(const Corners& corners, const Reach& reach, Growth growth);
// The growth that comes nearest to what is known to become of it.
Growth growth_towards(const Corners& corners, const Reach& reach, uint64_t known);

// amount * large / small, without overflow on the way where the result has none.
uint64_t scaled(uint64_t amount, Quotient by);

}  // namespace tutti::price
