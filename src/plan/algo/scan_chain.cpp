// SPDX-License-Identifier: BSD-3-Clause
// Scan along a chain in the order of ranks: the canonical left fold; the lanes make the pipeline.
//
// Source: the pipelined chain of Patarasuk, Faraj, Yuan 2006, "Pipelined broadcast on Ethernet
// switched clusters", doi:10.1109/IPDPS.2006.1639364, with a fold at each rank. As a scan it is the
// linear pipeline to which Sanders, Träff 2006, "Parallel prefix (scan) algorithms for MPI",
// doi:10.1007/11846802_15, compare their trees. Letters: p ranks, S lanes.
//
// Rank r folds what comes from r - 1 (left) with its own vector (right). That is its result, and
// what it sends to r + 1. So each result is ((0 + 1) + 2) + ... r: the order of TUTTI_REPRODUCIBLE.
// Every link carries each byte once. Time (p - 2 + S) segments.
//
// Example, p = 4, one lane:  0->1  1->2  2->3
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  what rank r sends is the fold of 0 ... r, and stands in its output
//   I2  in place, the own vector is the right operand of the fold that overwrites it
#include "plan/algo/algorithms.h"

namespace tutti::algo {
namespace {

class ScanChain final : public Program {
  public:
    ScanChain(const Shape& shape, Rank rank) : p_(shape.ranks), r_(rank), n_(shape.bytes) {}

    static constexpr std::string_view kName = "chain";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        const bool has_two_rounds = r_ > 0 && r_ + 1 < p_;
        return {1, 1, has_two_rounds ? uint64_t{2} : uint64_t{1}, r_ == 0 ? 0 : align_up(n_)};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        const sched::Block own = sched::input(0, n_);
        const sched::Block result = sched::output(0, n_);
        if (r_ == 0) {
            out.add(sched::copy(result, own));
            if (p_ > 1) out.add(sched::send(1, 0, own));
        } else if (round == 0) {
            out.add(sched::recv_reduce_left(r_ - 1, 0, result, sched::scratch(0, n_), own));
        } else {
            out.add(sched::send(r_ + 1, 0, result));
        }
    }

  private:
    Rank p_;
    Rank r_;
    uint64_t n_;
};

}  // namespace

Algorithm scan_chain() {
    return {.name = ScanChain::kName,
            .collective = TUTTI_SCAN,
            .summary = "segments along a chain, folded from the left: the canonical order",
            .make = make<ScanChain>,
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                return shape.ranks == 1 ? 0 : align_up(shape.bytes);
            },
            .steps = passing_steps,
            .segment_bytes = kChainSegment,
            .folds_from_left = true};
}

}  // namespace tutti::algo
