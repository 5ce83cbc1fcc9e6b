// SPDX-License-Identifier: BSD-3-Clause
// Scatter down a binomial tree, subtrees' blocks together.
//
// Source: Kandalla, Subramoni, Panda, "Designing topology-aware collective communication algorithms
// for large scale InfiniBand clusters", section 4.1 (the default algorithm); the tree is that of
// plan/algo/halving.h. Letters: p ranks, n bytes a block.
//
// Every rank receives the blocks of the interval that it leads in one message, then sends its
// children theirs, the largest subtree first. Depth ceil(log2 p); the root sends ceil(log2 p)
// messages and (p - 1) n bytes, and all blocks together cross links up to log2 p / 2 times as often
// as in the direct algorithm.
//
// Example, p = 4, root 2:  2->0 blocks 0 1, 2->3 block 3;  0->1 block 1
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a rank receives once: the blocks of its interval
//   I2  nobody but the root holds more than the root's largest subtree
#include "plan/algo/algorithms.h"
#include "plan/algo/halving.h"

namespace tutti::algo {
namespace {

class ScatterBinomial final : public Program {
  public:
    ScatterBinomial(const Shape& shape, Rank rank, const Tuning& tuning)
        : shape_(shape), tree_(shape, rank, tuning), rank_(rank) {}

    static constexpr std::string_view kName = "binomial";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        if (tree_.is_root()) return {1, 1, std::max<uint64_t>(1, tree_.children()), 0};
        if (tree_.is_leaf()) return {1, 1, 1, 0};
        return {1, 1, uint64_t{1} + tree_.children(),
                align_up(interval_bytes(shape_, tree_.own()))};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        const sched::Block own = sched::output(0, shape_.block_bytes(rank_));
        const uint64_t received = tree_.is_root() ? 0 : 1;
        if (round < received) {
            out.add(sched::recv(tree_.parent(), 0, tree_.is_leaf() ? own : blocks(tree_.own())));
            return;
        }
        const auto j = static_cast<uint32_t>(round - received);
        if (j < tree_.children()) {
            const Interval& child = tree_.child(j);
            out.add(sched::send(child.leader, 0, blocks(child),
                                j == 0 ? sched::kAfterAll : sched::kAfterNone));
        }
        if (j == 0) out.add(sched::copy(own, blocks({rank_, rank_ + 1, rank_})));
    }

  private:
    // Where an interval's blocks stand before they are sent on.
    [[nodiscard]] sched::Block blocks(const Interval& interval) const {
        const uint64_t offset = shape_.block_offset(interval.begin);
        const uint64_t bytes = interval_bytes(shape_, interval);
        if (tree_.is_root()) return sched::input(offset, bytes);
        return sched::scratch(offset - shape_.block_offset(tree_.own().begin), bytes);
    }

    Shape shape_;
    HalvingTree tree_;
    Rank rank_;
};

}  // namespace

Algorithm scatter_binomial() {
    return {.name = ScatterBinomial::kName,
            .collective = TUTTI_SCATTER,
            .summary = "subtrees' blocks together down a binomial tree",
            .obstacle = if_subtree_too_long,
            .make = make<ScatterBinomial>,
            .scratch_bytes = [](const Shape& shape, const Tuning& tuning) -> uint64_t {
                return align_up(largest_subtree_bytes(shape, tuning));
            },
            .has_fan_in = true,
            .has_levels = true};
}

}  // namespace tutti::algo
