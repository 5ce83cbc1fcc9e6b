// SPDX-License-Identifier: BSD-3-Clause
// Broadcast along a chain; one lane hands on one segment, the lanes make the pipeline.
//
// Source: Patarasuk, Faraj, Yuan 2006, "Pipelined broadcast on Ethernet switched clusters",
// doi:10.1109/IPDPS.2006.1639364 (the linear tree). Letters: p ranks, S lanes.
//
// Rank r receives from r - 1 and sends to r + 1, modulo p, beginning at the root. Every link
// carries each byte once; time (p - 2 + S) segments, so S well above p approaches the time of one
// link. On a switch tree free of contention where neighbours follow a depth-first walk (as
// allreduce ring).
//
// Example, p = 4, root 2, one lane:  2->3  3->0  0->1
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a rank sends only after it has received
#include "plan/algo/algorithms.h"

namespace tutti::algo {
namespace {

class BcastChain final : public Program {
  public:
    BcastChain(const Shape& shape, Rank rank)
        : p_(shape.ranks),
          rank_(rank),
          n_(shape.bytes),
          is_root_(rank == shape.root),
          is_last_((rank + 1) % p_ == shape.root) {}

    static constexpr std::string_view kName = "chain";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        return {1, 1, uint64_t{is_root_ ? 0U : 1U} + (is_last_ ? 0U : 1U), 0};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (round == 0 && !is_root_) {
            out.add(sched::recv((rank_ + p_ - 1) % p_, 0, sched::output(0, n_)));
        } else {
            out.add(sched::send((rank_ + 1) % p_, 0, sched::output(0, n_)));
        }
    }

  private:
    Rank p_;
    Rank rank_;
    uint64_t n_;
    bool is_root_;
    bool is_last_;
};

}  // namespace

Algorithm bcast_chain() {
    return {.name = BcastChain::kName,
            .collective = TUTTI_BCAST,
            .summary = "segments along a chain: every link carries each byte once",
            .make = make<BcastChain>,
            .steps = passing_steps,
            .segment_bytes = kChainSegment};
}

}  // namespace tutti::algo
