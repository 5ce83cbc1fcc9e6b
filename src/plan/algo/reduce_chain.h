// SPDX-License-Identifier: BSD-3-Clause
// Reduce along a chain; the lanes make the pipeline. Two orders of the ranks: canonical ("chain"),
// or rotated so that the root is the last ("rotated_chain").
//
// Source: the pipelined chain of Patarasuk, Faraj, Yuan 2006, "Pipelined broadcast on Ethernet
// switched clusters", doi:10.1109/IPDPS.2006.1639364, run backwards. Letters: p ranks, S lanes.
//
// Position i of the chain is rank (first + i) mod p. Each rank folds what comes from the position
// before (left) with its own vector (right) and sends it to the position behind. The last hands the
// result to the root, if that is another rank.
//   first = 0: the result is the left fold ((0 + 1) + 2) + ... whatever the root, the canonical
//     order of TUTTI_REPRODUCIBLE. The root's link carries each byte twice where it is not the
//     last.
//   first = root + 1: every link carries each byte once, but the order follows the root, so the
//     operator must commute.
// Time (p - 1 + S) segments, one less where the root is the last.
//
// Example, p = 4, root 1, one lane:  canonical 0->1  1->2  2->3  3->1;  rotated 2->3  3->0  0->1
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  what position i sends on is the fold of positions 0 ... i
//   I2  output is written at the root only, at the end
#pragma once

#include "plan/algo/algorithms.h"

namespace tutti::algo {

class ReduceChain final : public Program {
  public:
    ReduceChain(const Shape& shape, Rank rank, bool is_rotated)
        : p_(shape.ranks),
          rank_(rank),
          root_(shape.root),
          position_(is_rotated ? (rank + p_ - root_ + p_ - 1) % p_ : rank),
          n_(shape.bytes),
          is_rotated_(is_rotated) {}

    static constexpr std::string_view kName = "chain";
    static constexpr std::string_view kRotatedName = "rotated_chain";
    [[nodiscard]] std::string_view name() const override {
        return is_rotated_ ? kRotatedName : kName;
    }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        if (p_ == 1) return {1, 1, 1, 0};
        // Fold, send on, and at a root that is not the last, receive.
        const uint64_t folds = position_ > 0 ? 1 : 0;
        const uint64_t sends = is_last() && rank_ == root_ ? 0 : 1;
        const uint64_t takes = rank_ == root_ && !is_last() ? 1 : 0;
        return {1, 1, folds + sends + takes, folds * 2 * align_up(n_)};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (p_ == 1) {
            out.add(sched::copy(sched::output(0, n_), own()));
            return;
        }
        const uint64_t step = round + (position_ > 0 ? 0 : 1);
        if (step == 0) {
            out.add(sched::recv_reduce_left((rank_ + p_ - 1) % p_, 0, folded(),
                                            sched::scratch(0, n_), own()));
        } else if (step == 1) {
            out.add(sched::send(is_last() ? root_ : (rank_ + 1) % p_, 0, folded()));
        } else {
            out.add(sched::recv(p_ - 1, 0, sched::output(0, n_)));  // canonical only
        }
    }

  private:
    [[nodiscard]] bool is_last() const { return position_ == p_ - 1; }
    [[nodiscard]] sched::Block own() const { return sched::input(0, n_); }
    [[nodiscard]] sched::Block folded() const {
        if (position_ == 0) return own();
        if (is_last() && rank_ == root_) return sched::output(0, n_);
        return sched::scratch(align_up(n_), n_);
    }

    Rank p_;
    Rank rank_;
    Rank root_;
    Rank position_;
    uint64_t n_;
    bool is_rotated_;
};

inline uint64_t reduce_chain_scratch(const Shape& shape, const Tuning&) {
    return shape.ranks == 1 ? 0 : 2 * align_up(shape.bytes);
}

}  // namespace tutti::algo
