// SPDX-License-Identifier: BSD-3-Clause
#include "adapt/tree.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::adapt {
namespace {

// The part of what is below `top`, without itself, that child number i of so many has.
Stretch share(const Stretch& top, uint32_t children, uint32_t i) {
    const uint32_t rest = top.size() - 1;
    const uint32_t each = rest / children;
    const uint32_t longer = rest % children;
    const uint32_t first = top.first + 1 + i * each + std::min(i, longer);
    return {first, first + each + (i < longer ? 1 : 0)};
}

}  // namespace

uint32_t Place::neighbour(uint32_t number) const {
    if (parent && number == 0) return *parent;
    return children[number - (parent ? 1 : 0)].first;
}

uint32_t Place::number_of(uint32_t other) const {
    if (parent && other == *parent) return 0;
    const auto child = std::ranges::find(children, other, &Stretch::first);
    TUTTI_ASSERT(child != children.end(), "a neighbour");
    return static_cast<uint32_t>(child - children.begin()) + (parent ? 1 : 0);
}

Place place_in_tree(uint32_t members, uint32_t fan_in, uint32_t member) {
    TUTTI_ASSERT(member < members && fan_in > 0, "a member of a tree");
    Place place{.member = member, .below = {0, members}, .parent = {}, .children = {}};
    const auto children_of = [&](const Stretch& top) { return std::min(fan_in, top.size() - 1); };
    while (place.below.first != member) {
        const Stretch top = place.below;
        const uint32_t children = children_of(top);
        uint32_t i = 0;
        while (member >= share(top, children, i).end) ++i;
        place.parent = top.first;
        place.below = share(top, children, i);
    }
    const uint32_t children = children_of(place.below);
    for (uint32_t i = 0; i < children; ++i) {
        place.children.push_back(share(place.below, children, i));
    }
    return place;
}

}  // namespace tutti::adapt
