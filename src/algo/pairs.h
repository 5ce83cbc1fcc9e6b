// SPDX-License-Identifier: BSD-3-Clause
// Any number of ranks on algorithms for powers of two that keep the order of ranks.
//
// Source: Kini 2003, section 5.2.1 (set G of N' ranks, N' the largest power of two; ranks of set G'
// hand their data to a rank in G first and are handed the result at the end).
// Differs from the paper: G' holds the odd ones among the first 2 (p - N') ranks, each handing to
// its left neighbour, instead of the last ranks. So every partial result covers an interval of
// ranks, which non-commutative operators need, and the hand-over mostly stays between near ranks.
#pragma once

#include <bit>

#include "sched/shape.h"

namespace tutti::algo {

struct Pairs {
    Pairs(sched::Rank p, sched::Rank rank)
        : power(std::bit_floor(p)),
          extra(p - power),
          is_outside(rank < 2 * extra && rank % 2 == 1),
          has_guest(rank < 2 * extra && rank % 2 == 0),
          v(rank < 2 * extra ? rank / 2 : rank - extra) {}

    // The rank whose number in G is w.
    [[nodiscard]] sched::Rank rank_of(sched::Rank w) const { return w < extra ? 2 * w : w + extra; }

    sched::Rank power;  // N'
    sched::Rank extra;  // ranks in G'
    bool is_outside;    // this rank is in G': it hands to, and is handed by, rank - 1
    bool has_guest;     // this rank serves rank + 1
    sched::Rank v;      // this rank's number in G
};

}  // namespace tutti::algo
