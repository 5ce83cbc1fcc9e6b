// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/tree_drawing.h"

#include <gtest/gtest.h>

#include "base/topo/fabric_of_tree.h"
#include "base/topo/read/read.h"

namespace tutti::explain {
namespace {

size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

// `leaves` leaves of two hosts each, two links from each leaf to the spine.
topo::Topology leaves(uint32_t leaves) {
    std::string text;
    for (uint32_t leaf = 0; leaf < leaves; ++leaf) {
        text += "[[switch]]\nname = \"leaf" + std::to_string(leaf) + "\"\nhosts = \"n[" +
                std::to_string(2 * leaf) + "-" + std::to_string(2 * leaf + 1) + "]\"\n";
    }
    text += "[[switch]]\nname = \"a<b\"\nswitches = \"leaf[0-" + std::to_string(leaves - 1) +
            "]\"\nlinks = 2\n";
    auto topology = topo::read_own(text, "f.toml");
    EXPECT_TRUE(topology) << topology.error().message;
    return topology.value();
}

struct Bench {
    topo::Topology topology;
    FabricView view;
    topo::Fabric fabric;
    topo::Placement placement;

    explicit Bench(uint32_t count)
        : topology(leaves(count)),
          view(whole_view(topology, topo::make_switch_tree(topology).value())),
          fabric(topo::fabric_of(view.tree, {}).value()),
          placement(topo::Placement::blocks(2 * count, 2 * count)) {}
    [[nodiscard]] Result<std::string> draw(
        const std::vector<std::vector<check::Passage>>& steps) const {
        return tree_drawing("title", {view, fabric, placement}, steps);
    }
};

// 0 to 2 and 1 to 3 go over a link of their own each, then 0 and 1 to 2 over the same one.
TEST(TreeDrawing, ShowsWhatLinksCarryInEachStep) {
    const Bench bench(2);
    const auto text = bench.draw({{{0, 2, 8}, {1, 3, 8}}, {{0, 2, 8}, {1, 2, 8}}});
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(count(text.value(), ">step "), 2u);
    EXPECT_EQ(count(text.value(), "at most 1 on a link"), 1u);
    EXPECT_EQ(count(text.value(), "at most 2 on a link"), 1u);
    // A tree has four ways between switches and eight of hosts.
    EXPECT_EQ(count(text.value(), "</title></path>"), 2u * (4 + 8));
    EXPECT_EQ(count(text.value(), "up from leaf0: 2 messages, 16 B; at most 1 on one of 2 links"),
              1u);
    EXPECT_EQ(count(text.value(), "up from leaf0: 2 messages, 16 B; at most 2 on one of 2 links"),
              1u);
    EXPECT_EQ(count(text.value(), "down to leaf0: 0 messages"), 2u);
    EXPECT_EQ(count(text.value(), "to n2: 2 messages, 16 B"), 1u);
    EXPECT_EQ(count(text.value(), "<circle"), 2u * 4);
    EXPECT_EQ(count(text.value(), "a<b"), 0u);
    EXPECT_EQ(count(text.value(), "a&lt;b"), 2u * 2);
}

TEST(TreeDrawing, RefusesWhatNobodyCanLookAt) {
    const auto error = [](const Result<std::string>& drawn) { return drawn.error().message; };
    EXPECT_TRUE(Bench(63).draw({}));
    EXPECT_EQ(error(Bench(64).draw({})),
              "65 switches; a drawing on a tree of switches holds at most 64");
    EXPECT_EQ(error(Bench(65).draw({})),
              "130 hosts; a drawing on a tree of switches holds at most 128");
    std::vector<std::vector<check::Passage>> steps(64);
    EXPECT_TRUE(Bench(2).draw(steps));
    steps.emplace_back();
    EXPECT_EQ(error(Bench(2).draw(steps)),
              "65 steps; a drawing on a tree of switches holds at most 64");
}

}  // namespace
}  // namespace tutti::explain
