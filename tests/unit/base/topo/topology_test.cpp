// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/topology.h"

#include <gtest/gtest.h>

namespace tutti::topo {
namespace {

TEST(Topology, ParallelLinksAreCounted) {
    TopologyBuilder builder("f");
    const uint32_t leaf = builder.add_switch("leaf", 1).value();
    const uint32_t spine = builder.add_switch("spine", 2).value();
    const uint32_t host = builder.add_host("h", 3).value();
    ASSERT_TRUE(builder.add_link({false, leaf}, {false, spine}, {.count = 1, .bits_per_s = 8}));
    ASSERT_TRUE(builder.add_link({false, spine}, {false, leaf}, {.count = 2, .bits_per_s = 8}));
    ASSERT_TRUE(builder.add_link({false, spine}, {false, leaf}, {.count = 1, .bits_per_s = 4}));
    ASSERT_TRUE(builder.add_link({true, host}, {false, leaf}, {.count = 2}));
    const auto made = builder.finish();
    ASSERT_TRUE(made) << made.error().message;
    const Topology& topology = made.value();
    ASSERT_EQ(topology.links.size(), 3u);
    EXPECT_EQ(topology.links[0].count, 3u);
    EXPECT_EQ(topology.links[0].bits_per_s, 8u);
    EXPECT_EQ(topology.links[1].count, 1u);
    EXPECT_EQ(topology.links[1].bits_per_s, 4u);
    // Vertices: hosts first.
    EXPECT_EQ(topology.links[2].one, 0u);
    EXPECT_EQ(topology.links[2].other, 1u + leaf);
    EXPECT_EQ(topology.hosts[0].adapters, 2u);
}

TEST(Topology, LinksOfOneRateAreOneWhateverStandsBetweenThem) {
    TopologyBuilder builder("f");
    ASSERT_TRUE(builder.add_switch("s", 1));
    ASSERT_TRUE(builder.add_host("h", 2));
    for (const uint64_t rate : {8u, 4u, 8u}) {
        ASSERT_TRUE(builder.add_link({true, 0}, {false, 0}, {.bits_per_s = rate}));
    }
    EXPECT_EQ(builder.add_link({true, 0}, {false, 0}, {.count = 1023, .bits_per_s = 8, .line = 3})
                  .error()
                  .message,
              "f:3: more than 1024 parallel links between h and s");
    ASSERT_TRUE(builder.add_link({true, 0}, {false, 0}, {.bits_per_s = 8, .latency_ns = 1}));
    const auto made = builder.finish();
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_EQ(made.value().links.size(), 3u);
    EXPECT_EQ(made.value().links[0].count, 2u);
}

TEST(Topology, WhatIsWrongIsToldWithItsLine) {
    TopologyBuilder builder("file");
    ASSERT_TRUE(builder.add_switch("s", 3));
    ASSERT_TRUE(builder.add_host("h", 4));
    ASSERT_TRUE(builder.add_host("i", 5));
    EXPECT_EQ(builder.add_host("s", 7).error().message,
              "file:7: s is there already, a switch of line 3");
    EXPECT_EQ(builder.add_switch("h", 8).error().message,
              "file:8: h is there already, a host of line 4");
    EXPECT_EQ(builder.add_host("", 9).error().message, "file:9: a name is missing");
    for (const char* name : {"a,b", "a[1]", " a", "a "}) {
        EXPECT_EQ(builder.add_host(name, 9).error().message,
                  "file:9: not a name: " + std::string(name));
    }
    EXPECT_EQ(builder.add_host(std::string(256, 'a'), 9).error().message,
              "file:9: a name of more than 255 bytes");
    EXPECT_EQ(builder.add_host("\n", 9).error().message.find('\n'), std::string::npos);
    EXPECT_EQ(builder.add_link({true, 0}, {true, 1}, {.line = 10}).error().message,
              "file:10: h and i are hosts; a link has a switch at one end at least");
    EXPECT_EQ(builder.add_link({false, 0}, {false, 0}, {.line = 11}).error().message,
              "file:11: a link of s with itself");
    ASSERT_TRUE(builder.add_link({true, 0}, {false, 0}, {}));
    EXPECT_EQ(builder.finish().error().message,
              "file:5: host i is not connected with host h of line 4");
    EXPECT_EQ(TopologyBuilder("e").finish().error().message, "e:1: there is no host in this file");
}

}  // namespace
}  // namespace tutti::topo
