// SPDX-License-Identifier: BSD-3-Clause
// Barrier by gathering up a tree of settable fan-in and telling all by one multicast.
//
// Source: Kini 2003, section 4.1.3 (RGM). Letters: N ranks, l the fan-in.
//
// The tree is that of plan/algo/gather_tree.h. A rank waits for all its children and tells its
// parent; rank 0 tells everybody at once. ceil(log_{l+1} N) levels up and one step down. Among
// nodes the multicast reaches every rank of each, so no closing barrier follows inside.
//
// Example, N = 8, l = 3 (figure 4.3):  up 1,2,3->0, 5,6,7->4;  4->0;  0 -> all
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

class BarrierGatherMulticast final : public Program {
  public:
    BarrierGatherMulticast(const Shape& shape, Rank rank, const Tuning& tuning)
        : tree_(shape.ranks, rank, tuning),
          chunks_((tree_.children() + sched::kRoundOpsMax - 1) / sched::kRoundOpsMax) {}

    static constexpr std::string_view kName = "gather_multicast";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override { return {1, 1, chunks_ + 1, 0, 1}; }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (round < chunks_) {
            const uint64_t first = round * sched::kRoundOpsMax;
            const uint64_t end = std::min(first + sched::kRoundOpsMax, tree_.children());
            for (uint64_t c = first; c < end; ++c) {
                out.add(sched::recv(tree_.child(c), 0, {}, sched::kAfterNone));
            }
        } else if (tree_.is_root()) {
            out.add(sched::multicast(0, {}));
        } else {
            out.add(sched::recv_multicast(0, 0, {}, sched::kAfterNone));
            out.add(sched::send(tree_.parent(), 0, {}));
        }
    }

  private:
    GatherTree tree_;
    uint64_t chunks_;  // rounds that hear all children
};

}  // namespace

Algorithm barrier_gather_multicast() {
    return {.name = BarrierGatherMulticast::kName,
            .collective = TUTTI_BARRIER,
            .summary = "up a tree of settable fan-in, then one multicast",
            .obstacle = unless_multicast,
            .make = make<BarrierGatherMulticast>,
            .steps = [](const Shape& shape,
                        const Tuning& tuning) { return tree_levels(shape.ranks, tuning) + 1; },
            .has_fan_in = true,
            .has_multicast = true};
}

}  // namespace tutti::algo
