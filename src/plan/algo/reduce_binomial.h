// SPDX-License-Identifier: BSD-3-Clause
// Reduce up a binomial tree, the whole vector in each message.
//
// Source: Kini 2003, section 5.2.2 (the reduction phase of RGM with fan-in 1 is a binomial tree);
// the tree is that of plan/algo/halving.h. Letters: p ranks, n bytes, c a rank's children, j one of
// them.
//
// Every rank folds its children's partial results into its own vector, the smallest subtree first,
// then sends to its parent. Since every subtree is an interval of ranks that adjoins what is folded
// already, the order of ranks is kept, for every root. Depth ceil(log2 p).
//
// Example, p = 4, root 2:  round  0           2            (root: 3 on the right, then [0,2) left)
//                                 1->0, 3->2  0->2
//
// Round j receives child j while child j - 1 is folded; two landing areas are used by turns.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  what is folded at any time covers an interval of ranks
//   I2  output is written at the root only
#pragma once

#include "plan/algo/algorithms.h"
#include "plan/algo/halving.h"

namespace tutti::algo {

class ReduceBinomial final : public Program {
  public:
    ReduceBinomial(const Shape& shape, Rank rank, const Tuning& tuning)
        : tree_(shape, rank, tuning), n_(shape.bytes), c_(tree_.children()) {}

    static constexpr std::string_view kName = "binomial";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        if (tree_.is_leaf()) return {1, 1, 1, 0};
        return {1, 1, c_ + 1 + (tree_.is_root() ? 0 : 1), 3 * align_up(n_)};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (tree_.is_root() && tree_.is_leaf()) {
            out.add(sched::copy(sched::output(0, n_), sched::input(0, n_)));
        } else if (tree_.is_leaf()) {
            out.add(sched::send(tree_.parent(), 0, sched::input(0, n_)));
        } else if (round == c_ + 1) {
            out.add(sched::send(tree_.parent(), 0, folded()));
        } else {
            // The fold first: the receive of the next round waits for it alone.
            if (round > 0) out.add(fold(round - 1));
            if (round < c_) out.add(arrival(round));
        }
    }

  private:
    // In the order of folding: the smallest, which was split off last, first.
    [[nodiscard]] const Interval& child(uint64_t j) const {
        return tree_.child(c_ - 1 - static_cast<uint32_t>(j));
    }
    [[nodiscard]] sched::Block landing(uint64_t j) const {
        return sched::scratch(j % 2 == 0 ? 0 : align_up(n_), n_);
    }
    [[nodiscard]] sched::Block folded() const {
        return tree_.is_root() ? sched::output(0, n_) : sched::scratch(2 * align_up(n_), n_);
    }
    // Its area was folded by the fold of the round before, if at all.
    [[nodiscard]] sched::Operation arrival(uint64_t j) const {
        const uint64_t after = j < 2 ? sched::kAfterNone : sched::after_op(0);
        return sched::recv(child(j).leader, 0, landing(j), after);
    }
    [[nodiscard]] sched::Operation fold(uint64_t j) const {
        const sched::Block own = j == 0 ? sched::input(0, n_) : folded();
        const bool is_left = child(j).begin < tree_.own().leader;
        return is_left ? sched::reduce(folded(), landing(j), own)
                       : sched::reduce(folded(), own, landing(j));
    }

    HalvingTree tree_;
    uint64_t n_;
    uint32_t c_;
};

inline uint64_t reduce_binomial_scratch(const Shape& shape, const Tuning&) {
    // The root of more than one rank always has a child.
    return shape.ranks == 1 ? 0 : 3 * align_up(shape.bytes);
}

}  // namespace tutti::algo
