// SPDX-License-Identifier: BSD-3-Clause
// Who meets whom where [0, p) is halved again and again, the first half longer by one where it must
// be: the i-th of the first half and the i-th of the second. Where the first half has one rank
// more, that one has no partner of its own, and meets the second half's first rank, which so meets
// two. For p = 2^k these are the pairs of a hypercube. Inside algo/ only.
#pragma once

#include <array>
#include <cstdint>

#include "plan/sched/shape.h"

namespace tutti::algo {

// One rank in one interval.
struct HalfPair {
    sched::Rank begin = 0;
    sched::Rank middle = 0;
    sched::Rank end = 0;
    bool is_left = false;       // the rank is in the first half
    bool is_alone = false;      // it has no partner of its own
    bool meets_second = false;  // it meets rank middle - 1, too
    sched::Rank peer = 0;
};

// Of all intervals that a rank is in, the whole first.
class HalfPairs {
  public:
    HalfPairs(sched::Rank ranks, sched::Rank rank) {
        sched::Rank begin = 0;
        sched::Rank end = ranks;
        while (end - begin > 1) {
            const sched::Rank middle = begin + (end - begin + 1) / 2;
            pairs_[count_++] = pair(begin, middle, end, rank);
            (rank < middle ? end : begin) = middle;
        }
    }
    [[nodiscard]] uint32_t count() const { return count_; }
    const HalfPair& operator[](uint32_t depth) const { return pairs_[depth]; }

  private:
    static HalfPair pair(sched::Rank begin, sched::Rank middle, sched::Rank end, sched::Rank rank) {
        const sched::Rank second = end - middle;  // ranks of that half
        HalfPair one{.begin = begin, .middle = middle, .end = end};
        one.is_left = rank < middle;
        const sched::Rank i = one.is_left ? rank - begin : rank - middle;
        one.is_alone = one.is_left && i == second;
        one.peer = one.is_alone ? middle : one.is_left ? middle + i : begin + i;
        one.meets_second = rank == middle && middle - begin > second;
        return one;
    }

    uint32_t count_ = 0;
    std::array<HalfPair, 32> pairs_;
};

}  // namespace tutti::algo
