// SPDX-License-Identifier: BSD-3-Clause
// Any number of ranks on algorithms for powers of two that keep the order of ranks.
//
// Source: Kini 2003, section 5.2.1 (set G of N' ranks, N' the largest power of two; ranks of set G'
// hand their data to a rank in G first and are handed the result at the end).
// Differs from the paper: G' holds the odd ones among the first 2 (p - N') ranks, each handing to
// its left neighbour, instead of the last ranks. So every partial result covers an interval of
// ranks, which non-commutative operators need, and the hand-over mostly stays between near ranks.
// Where only the root is to have the result, it is in G itself: if it is one of these odd ones, its
// left neighbour hands to it.
#pragma once

#include <bit>

#include "plan/sched/shape.h"

namespace tutti::algo {

struct Pairs {
    Pairs(sched::Rank p, sched::Rank rank, sched::Rank call_root = 0)
        : power(std::bit_floor(p)),
          extra(p - power),
          root(call_root),
          neighbour(rank ^ 1),
          is_outside(rank < 2 * extra && (neighbour == root || (rank != root && rank % 2 == 1))),
          has_guest(rank < 2 * extra && !is_outside),
          v(number_of(rank)) {}

    // The rank whose number in G is w, and its number: of a rank in G' that of whom it hands to.
    [[nodiscard]] sched::Rank rank_of(sched::Rank w) const {
        if (w >= extra) return w + extra;
        return 2 * w + 1 == root ? root : 2 * w;
    }
    [[nodiscard]] sched::Rank number_of(sched::Rank rank) const {
        return rank < 2 * extra ? rank / 2 : rank - extra;
    }

    sched::Rank power;  // N'
    sched::Rank extra;  // ranks in G'
    sched::Rank root;
    sched::Rank neighbour;  // to whom, or from whom, this rank hands, if it does
    bool is_outside;        // this rank is in G'
    bool has_guest;         // this rank serves its neighbour, which is in G'
    sched::Rank v;          // this rank's number in G
};

}  // namespace tutti::algo
