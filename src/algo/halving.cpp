// SPDX-License-Identifier: BSD-3-Clause
#include "algo/halving.h"

namespace tutti::algo {

HalvingTree::HalvingTree(sched::Rank p, sched::Rank root, sched::Rank rank)
    : own_{0, p, root}, parent_(root) {
    Interval now{0, p, root};
    while (now.end - now.begin > 1) {
        const sched::Rank middle = now.begin + (now.end - now.begin + 1) / 2;
        Interval mine{now.begin, middle, now.leader};
        Interval other{middle, now.end, middle};
        if (now.leader >= middle) {
            mine = {middle, now.end, now.leader};
            other = {now.begin, middle, now.begin};
        }
        if (now.leader == rank) child_[children_++] = other;
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

}  // namespace tutti::algo
