// SPDX-License-Identifier: BSD-3-Clause
#include "algo/halving.h"

#include <algorithm>

#include "algo/algorithms.h"
#include "base/assert.h"

namespace tutti::algo {

HalvingTree::HalvingTree(sched::Rank p, sched::Rank root, sched::Rank rank,
                         const topo::SwitchOrder* switches)
    : own_{0, p, root}, parent_(root) {
    Interval now{0, p, root};
    bool goes_along = switches != nullptr;
    for (uint32_t cuts = 0; now.end - now.begin > 1; ++cuts) {
        const sched::Rank size = now.end - now.begin;
        // As many cuts as halving takes are kept for it. What was halved once is halved on: it is
        // no longer all that some children of a switch hold.
        goes_along = goes_along && cuts + ceil_log2(size) < kDepthMax;
        const sched::Rank middle = goes_along ? switches->middle(now.begin, now.end)
                                              : now.begin + (size + 1) / 2;
        Interval mine{now.begin, middle, now.leader};
        Interval other{middle, now.end, middle};
        if (now.leader >= middle) {
            mine = {middle, now.end, now.leader};
            other = {now.begin, middle, now.begin};
        }
        if (now.leader == rank) {
            TUTTI_ASSERT(children_ < kDepthMax, "see I2");
            child_[children_++] = other;
        }
        if (rank >= other.begin && rank < other.end) {
            // Only ever before this rank leads, so that it has no children yet.
            parent_ = now.leader;
            now = other;
        } else {
            now = mine;
        }
        if (now.leader == rank && children_ == 0) own_ = now;
    }
}

uint64_t largest_subtree_bytes(const sched::Shape& shape) {
    // All subtrees lie within those of the root's children; who leads only itself holds nothing.
    const HalvingTree root(shape, shape.root);
    uint64_t bytes_max = 0;
    for (uint32_t j = 0; j < root.children(); ++j) {
        const Interval& child = root.child(j);
        if (child.end - child.begin == 1) continue;
        bytes_max = std::max(bytes_max, interval_bytes(shape, child));
    }
    return bytes_max;
}

std::string_view if_subtree_too_long(const sched::Shape& shape) {
    const HalvingTree root(shape, shape.root);
    for (uint32_t j = 0; j < root.children(); ++j) {
        if (interval_bytes(shape, root.child(j)) > sched::kBlockBytesMax) return kTooLong;
    }
    return {};
}

}  // namespace tutti::algo
