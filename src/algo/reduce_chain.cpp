// SPDX-License-Identifier: BSD-3-Clause
// Reduce along a chain in the order of ranks; the lanes make the pipeline.
//
// Source: the pipelined chain of Patarasuk, Faraj, Yuan 2006, "Pipelined broadcast on Ethernet
// switched clusters", doi:10.1109/IPDPS.2006.1639364, run backwards. Letters: p ranks, S lanes.
//
// Rank r folds what comes from r - 1 (left) with its own vector (right) and sends it to r + 1. Rank
// p - 1 hands the result to the root, if that is another rank. So the result is the left fold
// ((0 + 1) + 2) + ... whatever the root: the canonical order of TUTTI_REPRODUCIBLE.
// Every link carries each byte once, the root's twice where it is not the last; time (p - 1 + S)
// segments.
//
// Example, p = 4, root 1, one lane:  0->1  1->2  2->3  3->1
//
// Invariants (checked in sched/check.cpp and the property test):
//   I1  what rank r sends on is the fold of 0 ... r
//   I2  output is written at the root only, at the end
#include "algo/algorithms.h"

namespace tutti::algo {
namespace {

class ReduceChain final : public Program {
  public:
    ReduceChain(const Shape& shape, Rank rank)
        : p_(shape.ranks), rank_(rank), root_(shape.root), n_(shape.bytes) {}

    [[nodiscard]] std::string_view name() const override { return "chain"; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        if (p_ == 1) return {1, 1, 1, 0};
        // Fold, send on, and at a root that is not the last, receive.
        const uint64_t folds = rank_ > 0 ? 1 : 0;
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
        const uint64_t step = round + (rank_ > 0 ? 0 : 1);
        if (step == 0) {
            out.add(sched::recv_reduce_left(rank_ - 1, 0, folded(), sched::scratch(0, n_), own()));
        } else if (step == 1) {
            out.add(sched::send(is_last() ? root_ : rank_ + 1, 0, folded()));
        } else {
            out.add(sched::recv(p_ - 1, 0, sched::output(0, n_)));
        }
    }

  private:
    [[nodiscard]] bool is_last() const { return rank_ == p_ - 1; }
    [[nodiscard]] sched::Block own() const { return sched::input(0, n_); }
    [[nodiscard]] sched::Block folded() const {
        if (rank_ == 0) return own();
        if (is_last() && rank_ == root_) return sched::output(0, n_);
        return sched::scratch(align_up(n_), n_);
    }

    Rank p_;
    Rank rank_;
    Rank root_;
    uint64_t n_;
};

}  // namespace

std::unique_ptr<Program> reduce_chain(const Shape& shape, Rank rank, const Tuning&) {
    return std::make_unique<ReduceChain>(shape, rank);
}

uint64_t reduce_chain_scratch(const Shape& shape, const Tuning&) {
    return shape.ranks == 1 ? 0 : 2 * align_up(shape.bytes);
}

}  // namespace tutti::algo
