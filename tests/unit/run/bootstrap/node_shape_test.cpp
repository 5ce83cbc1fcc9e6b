// SPDX-License-Identifier: BSD-3-Clause
#include "run/bootstrap/node_shape.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::bootstrap {
namespace {

// The tree says how far any two ranks are from each other: as the machine does.
TEST(NodeShape, DistancesFollowFromTheTree) {
    for (const std::string topology : {"pack:2 l3:2 core:3", "pack:4 l3:4 core:4",
                                       "pack:2 numa:2 l3:2 l2:2 core:2", "core:24"}) {
        const auto machine = topo::read_node_topology(topology);
        if (!machine) GTEST_SKIP() << machine.error().message;
        Settings settings;
        settings.node.topology = topology;
        const uint32_t ranks = machine.value().cpu_count;
        std::vector<topo::CpuSet> places(ranks);
        for (uint32_t rank = 0; rank < ranks; ++rank) places[rank].add(rank);
        const topo::Groups groups = topo::group_ranks(machine.value(), places);
        const node::Layout layout = tree_layout(
            encode_tree(rank_groups(settings, places), static_cast<uint32_t>(places.size())));
        ASSERT_EQ(layout.distance.size(), ranks);
        for (uint32_t one = 0; one < ranks; ++one) {
            for (uint32_t other = 0; other < ranks; ++other) {
                EXPECT_EQ(node::distance(layout, one, other), topo::distance(groups, one, other))
                    << topology << ": " << one << " and " << other;
            }
        }
    }
}

size_t used_bytes(const node::Geometry& geometry) {
    return geometry.chunk_bytes * geometry.chunk_count;
}

// Rings are long for ranks that are to measure, or have found them to be better, and for the first
// teams only: they take four times the memory.
TEST(NodeShape, RingsAreLongAsLongAsMemoryIs) {
    Settings settings;
    settings.node.memory_bytes = size_t{256} << 20;
    const size_t longest = long_ring_bytes();
    EXPECT_GE(longest, node::kShortRingBytes);
    const auto few = default_tuning(settings, 2);
    EXPECT_EQ(choose_geometry(settings, 2, few, 0).ring_bytes, node::kShortRingBytes);
    const auto largest = largest_tuning(settings, 2);
    EXPECT_EQ(choose_geometry(settings, 2, largest, 0).ring_bytes, longest);
    size_t used = 0;
    for (int team = 0; team < 30; ++team) {
        const auto geometry = choose_geometry(settings, 2, largest, used);
        EXPECT_EQ(geometry.chunk_bytes, 16u << 10);
        const auto whole = node::Geometry::make(2, 16 << 10, longest / (16 << 10));
        const bool has_room = used + whole.slice_bytes <= settings.node.memory_bytes / 8;
        EXPECT_EQ(geometry.ring_bytes == longest, has_room || longest == node::kShortRingBytes);
        used += geometry.slice_bytes;
    }
    EXPECT_LT(used, settings.node.memory_bytes / 8 + 30 * (size_t{2} << 20));
}

TEST(NodeShape, ARingIsUsedInPartOrWhole) {
    const auto whole = node::Geometry::make(2, 16 << 10, 128);
    const auto part = whole.recut(16 << 10, node::kShortRingBytes);
    EXPECT_EQ(used_bytes(part), node::kShortRingBytes);
    EXPECT_EQ(part.slice_bytes, whole.slice_bytes);
    EXPECT_EQ(part.rank_bytes, whole.rank_bytes);
    const auto again = part.recut(8 << 10, node::kWholeRing);
    EXPECT_EQ(used_bytes(again), whole.ring_bytes);
    EXPECT_EQ(again.chunk_count, 256u);
    // Too many, or too few, of a size that does not fit.
    EXPECT_EQ(part.recut(1 << 10, node::kWholeRing).chunk_count, part.chunk_count);
    EXPECT_EQ(part.recut(512 << 10, node::kShortRingBytes).chunk_count, part.chunk_count);
    EXPECT_EQ(part.recut(48 << 10, node::kWholeRing).chunk_count, 32u);
    EXPECT_EQ(part.recut(48 << 10, node::kShortRingBytes).chunk_count, 8u);
}

}  // namespace
}  // namespace tutti::bootstrap
