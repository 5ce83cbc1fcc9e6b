// SPDX-License-Identifier: BSD-3-Clause
// Copies between orders of blocks around an algorithm of the leaders. Inside algo/ only.
//
// Packing is between the order of ranks and that of nodes. Sorting is what a leader of an alltoall
// does with the blocks of its node.
//
// The opening brings a block for each rank from each of the node's ranks, one rank's after the
// other. What goes to a node is to be together: from each of these ranks the blocks for that
// node's. What comes is sorted back, by the node's own ranks, from whom each takes a block of each
// rank.
//
// Nodes' ranks are consecutive, in whatever order nodes take part.
//
// Example, ranks 0 1 | 2 3, blocks by sender and receiver, at the leader 0:
//   gathered 00 01 02 03  10 11 12 13   sorted 00 01 10 11  02 03 12 13
//   received 00 01 10 11  20 21 30 31   sorted 00 10 20 30  01 11 21 31
#pragma once

#include <cstdint>

#include "plan/algo/plan_layout.h"

namespace tutti::algo {

// One of Layout::packing_rounds(); the blocks stand in the order of nodes in scratch.
void add_packing(const Layout& layout, uint64_t round, bool packs, sched::Round& out);

class Sorting {
  public:
    Sorting(const Layout& layout, uint32_t node)
        : layout_(layout),
          members_(layout.placement->members(node).size()),
          bytes_(layout.shape.bytes) {}

    [[nodiscard]] uint64_t rounds_out() const {
        return rounds_of(members_ * layout_.placement->nodes());
    }
    [[nodiscard]] uint64_t rounds_in() const { return rounds_of(members_ * layout_.shape.ranks); }
    // Copies of one of these rounds. `given` and `sorted` are as long as what the opening brings.
    void add_out(uint64_t round, const sched::Block& given, const sched::Block& sorted,
                 sched::Round& out) const;
    void add_in(uint64_t round, const sched::Block& received, const sched::Block& sorted,
                sched::Round& out) const;

  private:
    static uint64_t rounds_of(uint64_t copies) {
        return (copies + sched::kRoundOpsMax - 1) / sched::kRoundOpsMax;
    }
    // Of the blocks for or from a node.
    [[nodiscard]] uint64_t pair_offset(uint32_t node) const {
        return members_ * layout_.node_offset(node);
    }

    const Layout& layout_;
    uint64_t members_;
    uint64_t bytes_;
};

}  // namespace tutti::algo
