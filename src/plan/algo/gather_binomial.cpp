// SPDX-License-Identifier: BSD-3-Clause
// Gather up a binomial tree, subtrees' blocks together.
//
// Source: Kandalla, Subramoni, Panda, "Designing topology-aware collective communication algorithms
// for large scale InfiniBand clusters", section 4.1 (the default algorithm); the tree is that of
// plan/algo/halving.h. Letters: p ranks, n bytes a block.
//
// Every rank collects the blocks of the interval that it leads, then sends them to its parent in
// one message. They stand one behind the other for every root, so nothing is ever rearranged.
// Tuning::fan_in 4 or 8 makes two or three levels one (plan/algo/halving.h).
// Depth ceil(log2 p); the root receives ceil(log2 p) messages and (p - 1) n bytes, and all blocks
// together cross links up to log2 p / 2 times as often as in the direct algorithm.
//
// Example, p = 4, root 2:  1->0 block 1, 3->2 block 3;  0->2 blocks 0 1
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a rank sends once: the blocks of its interval
//   I2  nobody but the root holds more than the root's largest subtree
#include "plan/algo/algorithms.h"
#include "plan/algo/halving.h"

namespace tutti::algo {
namespace {

class GatherBinomial final : public Program {
  public:
    GatherBinomial(const Shape& shape, Rank rank, const Tuning& tuning)
        : shape_(shape), tree_(shape, rank, tuning), rank_(rank) {}

    static constexpr std::string_view kName = "binomial";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        if (tree_.is_root() || tree_.is_leaf()) return {1, 1, 1, 0};
        return {1, 1, 2, align_up(interval_bytes(shape_, tree_.own()))};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        const sched::Block own = sched::input(0, shape_.block_bytes(rank_));
        if (!tree_.is_root() && tree_.is_leaf()) {
            out.add(sched::send(tree_.parent(), 0, own));
        } else if (round == 0) {
            for (uint32_t j = tree_.children(); j-- > 0;) {
                const Interval& child = tree_.child(j);
                out.add(sched::recv(child.leader, 0, blocks(child)));
            }
            out.add(sched::copy(blocks({rank_, rank_ + 1, rank_}), own));
        } else {
            out.add(sched::send(tree_.parent(), 0, blocks(tree_.own())));
        }
    }

  private:
    // Where an interval's blocks are collected.
    [[nodiscard]] sched::Block blocks(const Interval& interval) const {
        const uint64_t offset = shape_.block_offset(interval.begin);
        const uint64_t bytes = interval_bytes(shape_, interval);
        if (tree_.is_root()) return sched::output(offset, bytes);
        return sched::scratch(offset - shape_.block_offset(tree_.own().begin), bytes);
    }

    Shape shape_;
    HalvingTree tree_;
    Rank rank_;
};

}  // namespace

Algorithm gather_binomial() {
    return {.name = GatherBinomial::kName,
            .collective = TUTTI_GATHER,
            .summary = "subtrees' blocks together up a binomial tree",
            .obstacle = if_subtree_too_long,
            .make = make<GatherBinomial>,
            .scratch_bytes = [](const Shape& shape, const Tuning& tuning) -> uint64_t {
                return align_up(largest_subtree_bytes(shape, tuning));
            },
            .has_fan_in = true,
            .has_levels = true};
}

}  // namespace tutti::algo
