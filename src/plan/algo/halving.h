// SPDX-License-Identifier: BSD-3-Clause
// The binomial tree that all trees of algo/ use: halving of intervals of ranks.
//
// Source: the binomial tree of Johnsson, Ho 1989, "Optimum broadcasting and personalized
// communication in hypercubes", doi:10.1109/12.29465. Letters: p ranks.
// Differs from the paper: any p and any root, without renumbering. The interval [0, p) is led by
// the root. An interval is cut in the middle, the first half longer by one where it must be; its
// leader stays leader of its own half and becomes parent of the other half's first rank, which
// leads that half. For p = 2^k and root 0 this is the binomial tree.
//
// Where the tree of switches is known, an interval is cut between two children of the lowest switch
// that has all of it below (base/topo/switch_order.h), the border nearest to its middle: the tree
// of Kandalla, Subramoni, Panda 2010, section 4.2, binomial among the leaders of switches and
// binomial below each of them, for any tree of switches. A switch's leader is the root, if that is
// below it, else its first rank.
//
// With Tuning::fan_in 4 or 8 two or three levels of halving are one: who would lead within such a
// group of levels has the group's top for its parent, so the tree is flatter, and a leader has 3 or
// 7 children for each group. (A k-nomial tree for k = 4 and 8; the name is that of other
// libraries.) What hangs on another switch than the group's is not cut further within the group, so
// that its leader stays its only one.
//
// Why: a subtree is always an interval of ranks. So a subtree's blocks stand one behind the other
// in the buffer of all blocks, for every root; partial results cover intervals, so that the order
// of operands can be kept; and only one message crosses from one half of the machines to the other.
//
// Example, p = 6, root 4:  4 leads [0,6), children 0: [0,3)  5: [5,6)  3: [3,4)
//                          0 leads [0,3), children 2: [2,3)  1: [1,2)
//
// Invariants (tests/unit/plan/algo/halving_test.cpp):
//   I1  every rank but the root has one parent; a rank's interval is itself and its children's
//   I2  no rank is deeper than ceil(log2 p), none has more children than that; with switches, than
//       kDepthMax, and mostly by one or two for each level of them. With l levels in one, the depth
//       is ceil(ceil(log2 p) / l), but for switches, and kDepthMax holds for children
//   I3  child(j)'s interval adjoins what child(j + 1) and later ones and the rank itself cover
//   I4  of the ranks below a switch only its leader has a parent that is not below it, unless the
//       tree of switches is so deep and lopsided that I2 would not hold
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "plan/algo/registry.h"
#include "plan/sched/program.h"
#include "plan/sched/shape.h"

namespace tutti::algo {

struct Interval {
    sched::Rank begin = 0;
    sched::Rank end = 0;
    sched::Rank leader = 0;
};

class HalvingTree {
  public:
    // Of the shape's participants, around its root.
    HalvingTree(const sched::Shape& shape, sched::Rank rank, const Tuning& tuning = {})
        : HalvingTree(shape.ranks, shape.root, rank, shape.switches, levels_of(tuning)) {}
    // O(log p), and with switches O(log p) times their levels. levels: of halving in one.
    HalvingTree(sched::Rank p, sched::Rank root, sched::Rank rank,
                const topo::SwitchOrder* switches = nullptr, uint32_t levels = 1);
    static constexpr uint32_t kLevelsMax = 3;
    static uint32_t levels_of(const Tuning& tuning) {
        return tuning.fan_in >= 8 ? 3 : tuning.fan_in >= 4 ? 2 : 1;
    }

    [[nodiscard]] bool is_root() const { return parent_ == own_.leader; }
    [[nodiscard]] bool is_leaf() const { return children_ == 0; }
    // The root's is itself.
    [[nodiscard]] sched::Rank parent() const { return parent_; }
    // What this rank leads, itself included.
    [[nodiscard]] const Interval& own() const { return own_; }
    [[nodiscard]] uint32_t children() const { return children_; }
    // The farthest interval first, which is the largest where levels are one by one.
    [[nodiscard]] const Interval& child(uint32_t j) const { return child_[j]; }

  private:
    // 32 for 2^32 ranks, and some for switches that have most of an interval on one side of a cut:
    // a daisy chain of many switches is halved further down. A round takes as many messages.
    static constexpr uint32_t kDepthMax = 48;
    static_assert(kDepthMax < sched::kRoundOpsMax);
    class Cutter;
    Interval own_;
    sched::Rank parent_ = 0;
    uint32_t children_ = 0;
    std::array<Interval, kDepthMax> child_;
};

// Bytes of the blocks of an interval, and where they begin (shape's block_offset).
inline uint64_t interval_bytes(const sched::Shape& shape, const Interval& interval) {
    return shape.block_offset(interval.end) - shape.block_offset(interval.begin);
}

// An obstacle: where subtrees' blocks travel together.
std::string_view if_subtree_too_long(const sched::Shape& shape);

// The most bytes that a rank other than the root has to hold for others, its own block included.
uint64_t largest_subtree_bytes(const sched::Shape& shape, const Tuning& tuning);

}  // namespace tutti::algo
