// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/meeting_place.h"

namespace tutti::algo {
namespace {

using adapt::place_in_tree;

struct Sizes {
    uint32_t nodes = 1;
    uint32_t members = 1;  // of a node, at most
};

Sizes sizes_of(const Shape& shape) {
    if (shape.ranks_on == nullptr) return {shape.ranks, 1};
    return {shape.ranks_on->nodes(), shape.ranks_on->members_max()};
}

uint64_t depth_of(uint32_t members, uint32_t fan_in) {
    uint64_t depth = 0;
    uint64_t level = 1;
    for (uint64_t reached = 1; reached < members; reached += level) {
        level *= fan_in;
        ++depth;
    }
    return depth;
}

}  // namespace

// Nobody has more than the top of a tree, or the first below it.
uint32_t most_neighbours(const Shape& shape, uint32_t fan_in) {
    const Sizes all = sizes_of(shape);
    const uint32_t fan = fan_in_on(shape, fan_in);
    uint32_t most = 0;
    for (uint32_t node = 0; node < std::min(all.nodes, 2u); ++node) {
        most = std::max(most, place_in_tree(all.nodes, fan, node).neighbours());
    }
    most += place_in_tree(all.members, fan, 0).neighbours();
    return all.members == 1 ? most
                            : std::max(most, place_in_tree(all.members, fan, 1).neighbours());
}

uint64_t meeting_depth(const Shape& shape, uint32_t fan_in) {
    const Sizes all = sizes_of(shape);
    const uint32_t fan = fan_in_on(shape, fan_in);
    return depth_of(all.nodes, fan) + depth_of(all.members, fan);
}

}  // namespace tutti::algo
