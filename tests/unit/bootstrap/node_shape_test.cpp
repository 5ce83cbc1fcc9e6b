// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/node_shape.h"

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
        settings.topology = topology;
        const uint32_t ranks = machine.value().cpu_count;
        std::vector<topo::CpuSet> places(ranks);
        for (uint32_t rank = 0; rank < ranks; ++rank) places[rank].add(rank);
        const topo::Groups groups = topo::group_ranks(machine.value(), places);
        const node::Layout layout = tree_layout(
            tree_words(rank_groups(settings, places), static_cast<uint32_t>(places.size())));
        ASSERT_EQ(layout.distance.size(), ranks);
        for (uint32_t one = 0; one < ranks; ++one) {
            for (uint32_t other = 0; other < ranks; ++other) {
                EXPECT_EQ(node::distance(layout, one, other), topo::distance(groups, one, other))
                    << topology << ": " << one << " and " << other;
            }
        }
    }
}

}  // namespace
}  // namespace tutti::bootstrap
