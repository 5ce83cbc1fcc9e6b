// SPDX-License-Identifier: BSD-3-Clause
#include "run/adapt/fold_tree.h"

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

Stretch Place::child(uint32_t number) const { return share(below, children, number); }

uint32_t Place::neighbour(uint32_t number) const {
    if (parent && number == 0) return *parent;
    return child(number - (parent ? 1 : 0)).first;
}

uint32_t Place::number_of(uint32_t other) const {
    uint32_t number = 0;
    while (number < neighbours() && neighbour(number) != other) ++number;
    TUTTI_ASSERT(number < neighbours(), "a neighbour");
    return number;
}

Place place_in_tree(uint32_t members, uint32_t fan_in, uint32_t member) {
    TUTTI_ASSERT(member < members && fan_in > 0, "a member of a tree");
    Place place{.member = member, .below = {0, members}, .parent = {}, .children = 0};
    const auto count = [&] { place.children = std::min(fan_in, place.below.size() - 1); };
    for (count(); place.below.first != member; count()) {
        uint32_t i = 0;
        while (member >= place.child(i).end) ++i;
        place.parent = place.below.first;
        place.below = place.child(i);
    }
    return place;
}

}  // namespace tutti::adapt
