// SPDX-License-Identifier: BSD-3-Clause
// The (l+1)-nomial tree up which barriers and reductions gather.
//
// Source: Kini 2003, section 4.1.3 (RGM). Letters: n ranks, i own rank, l the fan-in: at most l
// children a level.
//
// With i written in base l + 1, its parent has the lowest digit that is not 0 replaced by 0, and
// its children are i + c (l+1)^j for c = 1 ... l and each level j below that digit. So the tree has
// ceil(log_{l+1} n) levels, and a subtree is an interval of ranks that begins with its root: the
// children's intervals, in ascending order, adjoin the rank itself and each other, and folding them
// one after the other keeps the order of ranks.
//
// Example, n = 8, l = 3:  1, 2, 3 -> 0;  5, 6, 7 -> 4;  4 -> 0
#pragma once

#include <algorithm>
#include <cstdint>

#include "plan/algo/registry.h"

namespace tutti::algo {

// What the source found best (section 4.4.2, 16 nodes of InfiniBand).
inline constexpr uint32_t kFanInDefault = 7;

inline uint64_t tree_levels(uint64_t ranks, const Tuning& tuning) {
    const uint64_t base = uint64_t{tuning.fan_in == 0 ? kFanInDefault : tuning.fan_in} + 1;
    uint64_t levels = 0;
    for (uint64_t reached = 1; reached < ranks; reached *= base) ++levels;
    return levels;
}

class GatherTree {
  public:
    GatherTree(Rank ranks, Rank rank, const Tuning& tuning)
        : n_(ranks), i_(rank), l_(tuning.fan_in == 0 ? kFanInDefault : tuning.fan_in) {
        const uint64_t base = l_ + 1;
        uint64_t stride = 1;
        for (; stride < n_ && i_ / stride % base == 0; stride *= base) {
            children_ += children_at(stride);
        }
        parent_ = static_cast<Rank>(i_ - i_ / stride % base * stride);
    }

    [[nodiscard]] bool is_root() const { return i_ == 0; }
    // The root's is itself.
    [[nodiscard]] Rank parent() const { return parent_; }
    [[nodiscard]] uint64_t children() const { return children_; }
    // Child number c: in ascending order, the lowest level first.
    [[nodiscard]] Rank child(uint64_t c) const {
        uint64_t stride = 1;
        for (; c >= children_at(stride); stride *= l_ + 1) c -= children_at(stride);
        return static_cast<Rank>(i_ + (c + 1) * stride);
    }

    // The number of the first child beyond the level that child c is on. No level has more children
    // than the lowest.
    [[nodiscard]] uint64_t level_end(uint64_t c) const {
        uint64_t end = 0;
        for (uint64_t stride = 1; end <= c && end < children_; stride *= l_ + 1) {
            end += children_at(stride);
        }
        return end;
    }

  private:
    // Children at the level of this stride that exist.
    [[nodiscard]] uint64_t children_at(uint64_t stride) const {
        return std::min<uint64_t>(l_, (n_ - 1 - i_) / stride);
    }

    uint64_t n_;
    uint64_t i_;
    uint64_t l_;
    uint64_t children_ = 0;
    Rank parent_ = 0;
};

}  // namespace tutti::algo
