// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan along a chain in the order of ranks: the canonical left fold; the lanes make the
// pipeline.
//
// Source: as scan_chain.cpp. Letters: p ranks, S lanes.
//
// What rank r receives from r - 1 is its result; folded with its own vector (right) it is sent to
// r + 1. So each result is ((0 + 1) + 2) + ... (r - 1): the order of TUTTI_REPRODUCIBLE. Every link
// carries each byte once. Time (p - 2 + S) segments.
//
// The result lands in output, where in place the own vector stands. So that is copied to scratch
// while the rank waits for the message, and is folded there.
//
// Example, p = 4, one lane:  0->1  1->2  2->3
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  what rank r sends is the fold of 0 ... r, and stands in its scratch
//   I2  nothing lands in output before the own vector has been copied
//   I3  rank 0 has no output, and the last rank's input is not read
#include "plan/algo/algorithms.h"

namespace tutti::algo {
namespace {

class ExscanChain final : public Program {
  public:
    ExscanChain(const Shape& shape, Rank rank) : p_(shape.ranks), r_(rank), n_(shape.bytes) {}

    static constexpr std::string_view kName = "chain";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0 || p_ == 1) return {1, 1, 0, 0};
        const bool is_end = r_ == 0 || r_ + 1 == p_;
        return {1, 1, is_end ? uint64_t{1} : uint64_t{3}, is_end ? 0 : align_up(n_)};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        const sched::Block own = sched::input(0, n_);
        const sched::Block result = sched::output(0, n_);
        const sched::Block folded = sched::scratch(0, n_);
        if (r_ == 0) {
            out.add(sched::send(1, 0, own));
        } else if (r_ + 1 == p_) {
            out.add(sched::recv(r_ - 1, 0, result));
        } else if (round == 0) {
            out.add(sched::copy(folded, own));
        } else if (round == 1) {
            out.add(sched::recv_reduce_left(r_ - 1, 0, folded, result, folded));
        } else {
            out.add(sched::send(r_ + 1, 0, folded));
        }
    }

  private:
    Rank p_;
    Rank r_;
    uint64_t n_;
};

}  // namespace

Algorithm exscan_chain() {
    return {.name = ExscanChain::kName,
            .collective = TUTTI_EXSCAN,
            .summary = "segments along a chain, folded from the left: the canonical order",
            .make = make<ExscanChain>,
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                return shape.ranks <= 2 ? 0 : align_up(shape.bytes);
            },
            .steps = passing_steps,
            .segment_bytes = kChainSegment,
            .folds_from_left = true};
}

}  // namespace tutti::algo
