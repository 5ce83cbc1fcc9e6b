// SPDX-License-Identifier: BSD-3-Clause
// Barrier by gathering up a tree of settable fan-in and telling all down the same tree.
//
// Source: Kini 2003, section 4.1.3 (RGM, here without multicast). Letters:
//   N ranks, l the fan-in, at most l messages a level.
//
// The tree is that of plan/algo/gather_tree.h. A rank waits for all its children, tells its parent,
// waits to be told and tells its children, the largest subtrees first. ceil(log_{l+1} N) levels up
// and as many down.
//
// Example, N = 8, l = 3:  up 1,2,3->0, 5,6,7->4;  4->0   down 0->4, 0->3,2,1, 4->7,6,5
//
// Tuning::fan_in is l (otherwise 7, which the source found best, section 4.4.2).
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a rank tells its parent only when its whole subtree has arrived
//   I2  a round has at most kRoundOpsMax operations, however large fan_in is
#include "plan/algo/algorithms.h"
#include "plan/algo/gather_tree.h"

namespace tutti::algo {
namespace {

class BarrierTree final : public Program {
  public:
    BarrierTree(const Shape& shape, Rank rank, const Tuning& tuning)
        : tree_(shape.ranks, rank, tuning),
          chunks_((tree_.children() + sched::kRoundOpsMax - 1) / sched::kRoundOpsMax) {}

    static constexpr std::string_view kName = "tree";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        return {1, 1, 2 * chunks_ + (tree_.is_root() ? 0 : 2), 0};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (round < chunks_) {
            gather(round * sched::kRoundOpsMax, out);
            return;
        }
        uint64_t step = round - chunks_;
        if (!tree_.is_root()) {
            if (step == 0) out.add(sched::send(tree_.parent(), 0, {}));
            if (step == 1) out.add(sched::recv(tree_.parent(), 0, {}, sched::kAfterNone));
            if (step < 2) return;
            step -= 2;
        }
        tell(step * sched::kRoundOpsMax, out);
    }

  private:
    void gather(uint64_t first, sched::Round& out) const {
        for (uint64_t c = first; c < std::min(first + sched::kRoundOpsMax, tree_.children()); ++c) {
            out.add(sched::recv(tree_.child(c), 0, {}, sched::kAfterNone));
        }
    }
    void tell(uint64_t first, sched::Round& out) const {
        for (uint64_t c = first; c < std::min(first + sched::kRoundOpsMax, tree_.children()); ++c) {
            out.add(sched::send(tree_.child(tree_.children() - 1 - c), 0, {}));
        }
    }

    GatherTree tree_;
    uint64_t chunks_;  // rounds that hear, or tell, all children
};

}  // namespace

Algorithm barrier_tree() {
    return {.name = BarrierTree::kName,
            .collective = TUTTI_BARRIER,
            .summary = "up and down a tree of settable fan-in",
            .make = make<BarrierTree>,
            .steps = [](const Shape& shape,
                        const Tuning& tuning) { return 2 * tree_levels(shape.ranks, tuning); },
            .has_fan_in = true};
}

}  // namespace tutti::algo
