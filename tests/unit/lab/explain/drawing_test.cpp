// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/drawing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::explain {
namespace {

size_t times(const std::string& text, const std::string& what) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
    return count;
}

// A column is 56 wide from 64 on; the first step begins at 84, and an arrow falls by 36.
TEST(Draw, AMulticastIsAPointWithAnArrowToEveryOther) {
    const auto placement = topo::Placement::blocks(4, 4);
    const std::string text = drawing("bcast", placement, {{{2, 0, 1024, 0, 7, true}}});
    EXPECT_EQ(times(text, "<title>2 to all: 1 KiB, lane 0, multicast 7</title>"), 3u) << text;
    for (const char* to : {"64 120", "120 120", "232 120"}) {
        EXPECT_EQ(times(text, "d=\"M176 84L" + std::string(to) + "L"), 1u) << to << text;
    }
    EXPECT_EQ(times(text, "<circle cx=\"176\" cy=\"84\""), 1u) << text;
    EXPECT_EQ(times(text, ">1K</text>"), 1u) << text;
}

TEST(Draw, AMessageIsOneArrow) {
    const auto placement = topo::Placement::blocks(4, 4);
    const std::string text =
        drawing("bcast", placement, {{{2, 0, 1024, 0, 7}, {2, 0, 1024, 0, 8}}});
    EXPECT_EQ(times(text, "stroke=\"#0072b2\""), 2u) << text;
    EXPECT_EQ(times(text, "<title>2 to 0: 1 KiB, lane 0, message 7</title>"), 1u) << text;
    EXPECT_EQ(times(text, "<circle"), 0u) << text;
    // Those between the same two stand beside each other.
    EXPECT_EQ(times(text, "d=\"M176 84L64 120L"), 1u) << text;
    EXPECT_EQ(times(text, "d=\"M176 88L64 124L"), 1u) << text;
}

// A message to rank 0 and a multicast are not between the same two.
TEST(Draw, MulticastsOfOneSenderStandBesideEachOther) {
    const auto placement = topo::Placement::blocks(2, 2);
    const std::string text = drawing(
        "bcast", placement, {{{1, 0, 0, 0, 0}, {1, 0, 0, 0, 0, true}, {1, 0, 0, 1, 1, true}}});
    EXPECT_EQ(times(text, "d=\"M120 84L64 120L"), 2u) << text;
    EXPECT_EQ(times(text, "<circle cx=\"120\" cy=\"84\" r=\"4\" fill=\"#0072b2\"/>"), 1u) << text;
    EXPECT_EQ(times(text, "<circle cx=\"120\" cy=\"88\" r=\"4\" fill=\"#d55e00\"/>"), 1u) << text;
}

}  // namespace
}  // namespace tutti::explain
