// SPDX-License-Identifier: BSD-3-Clause
// Broadcast down a binomial tree, the whole vector in each message.
//
// Source: Kini 2003, section 3.2 (the multi-stage broadcast of the figure there); the tree is
// that of plan/algo/halving.h. Letters: p ranks, n bytes.
//
// Tuning::fan_in 4 or 8 makes two or three levels one (plan/algo/halving.h).
// Every rank receives from its parent, then sends to its children, the largest subtree first.
// Depth ceil(log2 p); each rank but the root receives n bytes, the root sends ceil(log2 p) n.
//
// Example, p = 8, root 0:  round  0     1     2
//                                 0->4  0->2  0->1
//                                       4->6  4->5, 2->3, 6->7
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a rank sends only after it has received
//   I2  at most two sends of a rank are under way, so that the largest subtree gets its data first
#pragma once

#include "plan/algo/algorithms.h"
#include "plan/algo/halving.h"

namespace tutti::algo {

class BcastBinomial final : public Program {
  public:
    BcastBinomial(const Shape& shape, Rank rank, const Tuning& tuning)
        : tree_(shape, rank, tuning), n_(shape.bytes) {}

    static constexpr std::string_view kName = "binomial";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        return {1, 1, n_ == 0 ? 0 : received() + tree_.children(), 0};
    }
    void read(uint64_t, uint64_t k, sched::Round& out) const override {
        out.clear();
        if (k < received()) {
            out.add(sched::recv(tree_.parent(), 0, sched::output(0, n_)));
            return;
        }
        const auto j = static_cast<uint32_t>(k - received());
        const uint64_t after = j == 0 ? sched::kAfterAll : sched::kAfterNone;
        out.add(sched::send(tree_.child(j).leader, 0, sched::output(0, n_), after));
    }

  private:
    [[nodiscard]] uint64_t received() const { return tree_.is_root() ? 0 : 1; }

    HalvingTree tree_;
    uint64_t n_;
};

}  // namespace tutti::algo
