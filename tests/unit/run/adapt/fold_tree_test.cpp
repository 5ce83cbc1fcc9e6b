// SPDX-License-Identifier: BSD-3-Clause
#include "run/adapt/fold_tree.h"

#include <gtest/gtest.h>

namespace tutti::adapt {
namespace {

// Whoever is below a member is a stretch that begins with it, its children's stretches are what is
// left, and parents and children know each other.
TEST(Tree, StretchesOfAnySizeAndFanIn) {
    for (uint32_t members = 1; members <= 70; ++members) {
        for (const uint32_t fan_in : {1u, 2u, 3u, 4u, 7u, 69u, 1000u}) {
            for (uint32_t member = 0; member < members; ++member) {
                const Place place = place_in_tree(members, fan_in, member);
                ASSERT_EQ(place.below.first, member);
                ASSERT_EQ(place.parent.has_value(), member != 0);
                ASSERT_LE(place.children, fan_in);
                uint32_t next = member + 1;
                for (uint32_t i = 0; i < place.children; ++i) {
                    const Stretch child = place.child(i);
                    ASSERT_EQ(child.first, next);
                    ASSERT_GT(child.size(), 0u);
                    ASSERT_LE(child.size(), place.child(0).size());
                    next = child.end;
                    const Place other = place_in_tree(members, fan_in, child.first);
                    ASSERT_EQ(other.parent, member);
                    ASSERT_EQ(other.below, child);
                    ASSERT_EQ(other.neighbour(0), member);
                    ASSERT_EQ(place.neighbour(place.number_of(child.first)), child.first);
                }
                ASSERT_EQ(next, place.below.end);
            }
        }
    }
}

TEST(Tree, AStarIsOneLevel) {
    const Place top = place_in_tree(16, 15, 0);
    EXPECT_EQ(top.neighbours(), 15u);
    EXPECT_EQ(place_in_tree(16, 15, 9).neighbours(), 1u);
    EXPECT_EQ(place_in_tree(16, 15, 9).neighbour(0), 0u);
}

}  // namespace
}  // namespace tutti::adapt
