// SPDX-License-Identifier: BSD-3-Clause
// Barrier up a binomial tree and down again.
//
// Source: Kini 2003, section 4.1.3 (RGM, here without multicast), with fan-in 1; along switches
// Kandalla, Subramoni, Panda 2010, section 4.2. The tree is that of plan/algo/halving.h: where the
// tree of switches is known, one message comes out of each switch and one goes into it. Letters: p
// ranks, c a rank's children.
//
// A rank waits for all its children and tells its parent; it waits to be told and tells its
// children, the largest subtree first. Depth ceil(log2 p) up and as much down.
//
// Example, p = 4:  1->0, 3->2;  2->0;  0->2;  0->1, 2->3
//
// Differs from barrier_tree.cpp, which knows no switches: there rank r's parent follows from r's
// digits, here from an interval's border, which may lie anywhere.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a rank tells its parent only when its whole subtree has arrived
//   I2  a round has fewer operations than kRoundOpsMax, as a rank of plan/algo/halving.h has
//   children
#include "plan/algo/algorithms.h"
#include "plan/algo/halving.h"

namespace tutti::algo {
namespace {

class BarrierBinomial final : public Program {
  public:
    BarrierBinomial(const Shape& shape, Rank rank, const Tuning& tuning)
        : tree_(shape, rank, tuning), c_(tree_.children()) {}

    static constexpr std::string_view kName = "binomial";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        return {1, 1, (c_ > 0 ? 2u : 0u) + (tree_.is_root() ? 0u : 2u), 0};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (c_ > 0 && round == 0) {
            for (uint32_t j = 0; j < c_; ++j) {
                out.add(sched::recv(tree_.child(j).leader, 0, {}, sched::kAfterNone));
            }
            return;
        }
        const uint64_t step = round - (c_ > 0 ? 1 : 0);
        if (!tree_.is_root() && step == 0) out.add(sched::send(tree_.parent(), 0, {}));
        if (!tree_.is_root() && step == 1) {
            out.add(sched::recv(tree_.parent(), 0, {}, sched::kAfterNone));
        }
        if (step != (tree_.is_root() ? 0 : 2)) return;
        for (uint32_t j = 0; j < c_; ++j) out.add(sched::send(tree_.child(j).leader, 0, {}));
    }

  private:
    HalvingTree tree_;
    uint32_t c_;
};

}  // namespace

Algorithm barrier_binomial() {
    return {.name = BarrierBinomial::kName,
            .collective = TUTTI_BARRIER,
            .summary = "up and down a binomial tree, along the switches",
            .make = make<BarrierBinomial>,
            .steps = [](const Shape& shape,
                        const Tuning& tuning) { return 2 * doubling_steps(shape, tuning); },
            .has_fan_in = true,
            .has_levels = true};
}

}  // namespace tutti::algo
