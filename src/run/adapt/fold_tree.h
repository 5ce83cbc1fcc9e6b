// SPDX-License-Identifier: BSD-3-Clause
// A tree over the members of a call, by number. The subtree of a member is an interval of numbers
// that begins with its own, so that folding along the tree keeps the order of operands.
#pragma once

#include <cstdint>
#include <optional>

namespace tutti::adapt {

// Members `first` ... `end` - 1.
struct Stretch {
    uint32_t first = 0;
    uint32_t end = 0;
    [[nodiscard]] uint32_t size() const { return end - first; }
    bool operator==(const Stretch&) const = default;
};

// One member's place. O(depth) to find.
struct Place {
    uint32_t member = 0;
    Stretch below;                   // with itself
    std::optional<uint32_t> parent;  // none: the top
    uint32_t children = 0;

    // What is below a child, which is its first.
    [[nodiscard]] Stretch child(uint32_t number) const;
    // The parent is neighbour 0 where there is one; children follow in order.
    [[nodiscard]] uint32_t neighbours() const { return children + (parent ? 1 : 0); }
    [[nodiscard]] uint32_t neighbour(uint32_t number) const;
    // Which neighbour that member is; it is one.
    [[nodiscard]] uint32_t number_of(uint32_t member) const;
};

// Up to fan_in children each, as even as can be; members > member, fan_in > 0. With fan_in of
// members - 1 it is a star.
Place place_in_tree(uint32_t members, uint32_t fan_in, uint32_t member);

}  // namespace tutti::adapt
