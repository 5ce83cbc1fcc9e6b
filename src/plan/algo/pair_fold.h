// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by recursive halving: the first part of allreduce and reduce by Rabenseifner.
//
// Source: Rabenseifner 2004, "Optimization of collective reduction operations",
// doi:10.1007/978-3-540-24685-5_1 (recursive halving); powers of two and guests as in
// plan/algo/pairs.h. Letters: p ranks, p' the largest power of two up to p, q = log2 p', v a rank's
// number among these p', n bytes, m the step. Differs from the paper: step m pairs v with v xor
// 2^m, the nearest first, so that the longest messages stay among near ranks, and partial results
// cover intervals of ranks: the order of ranks is kept and any operator will do. A guest hands over
// its whole vector, not halves.
//
// The stretch that a pair shares is cut in two; the one whose bit m of v is 0 folds the first half,
// its partner the second; each sends the half that it does not fold. After q steps v holds the
// whole result of its stretch. (p' - 1) / p' n bytes a rank, and n for guests.
//
// Example, p = 4, elements 0-7:
//   step 0: 0<->1, 2<->3: v = 0, 2 keep 0-3; 1, 3 keep 4-7
//   step 1: 0<->2, 1<->3: v = 0 keeps 0-1, 2 keeps 2-3, 1 keeps 4-5, 3 keeps 6-7
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  before step m both of a pair share their stretch and hold folds of 2^m neighbouring numbers
//   I2  what is sent in a step and what is folded do not overlap
//   I3  empty stretches (fewer elements than ranks) are not sent
#pragma once

#include <array>

#include "plan/algo/algorithms.h"
#include "plan/algo/pairs.h"

namespace tutti::algo {

// More than one rank.
class PairFold {
  public:
    // Folds are kept in output, at their place in the vector, or in scratch.
    PairFold(const Shape& shape, Rank rank, Rank root, sched::Buffer folds);

    [[nodiscard]] const Pairs& pairs() const { return pairs_; }
    // With whom v shares a stretch before step m; the half of it that v folds, and the other.
    [[nodiscard]] Rank peer(uint32_t m) const { return pairs_.rank_of(pairs_.v ^ (Rank{1} << m)); }
    [[nodiscard]] const Stretch& kept(uint32_t m) const { return kept_[m]; }
    [[nodiscard]] const Stretch& given(uint32_t m) const { return given_[m]; }
    // Where the folds of a stretch stand, which is one that this rank has had before step 0 is
    // over.
    [[nodiscard]] sched::Block folded(const Stretch& stretch) const;

    // A guest has one; all messages are number 0. The last round's first operation is the fold that
    // is behind what is kept then, if that is not empty.
    [[nodiscard]] uint64_t rounds() const {
        return pairs_.is_outside ? 1 : guests() + uint64_t{steps_};
    }
    void read(uint64_t round, sched::Round& out) const;
    [[nodiscard]] uint64_t scratch_bytes() const;

    // The most of any rank, with folds in output.
    [[nodiscard]] static uint64_t scratch_bytes_max(const Shape& shape);

  private:
    [[nodiscard]] uint64_t guests() const { return pairs_.has_guest ? 1 : 0; }
    // What this rank keeps at first.
    [[nodiscard]] Stretch held() const { return pairs_.has_guest ? Stretch{0, n_} : kept_[0]; }
    void serve(sched::Round& out) const;
    void halve(uint32_t m, sched::Round& out) const;

    Pairs pairs_;
    uint32_t steps_;  // q
    uint64_t n_;
    sched::Buffer folds_;
    std::array<Stretch, 32> kept_;
    std::array<Stretch, 32> given_;
};

}  // namespace tutti::algo
