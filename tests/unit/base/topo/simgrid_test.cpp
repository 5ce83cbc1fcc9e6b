// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/simgrid.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::topo {
namespace {

TEST(Simgrid, ASwitchWithTwoHosts) {
    Fabric fabric = Fabric::one_switch(2);
    fabric.latency_ns = 1001;
    const std::vector<std::string> names{"a", "b<&>\"c"};
    const auto platform = print_simgrid(fabric, {.count = 2, .cores = 4, .names = names});
    ASSERT_TRUE(platform);
    EXPECT_EQ(platform.value(),
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\">\n"
              "  <zone id=\"fabric\" routing=\"Full\">\n"
              "    <host id=\"h0\" speed=\"1000000000f\" core=\"4\"><prop id=\"name\" "
              "value=\"a\"/></host>\n"
              "    <host id=\"h1\" speed=\"1000000000f\" core=\"4\"><prop id=\"name\" "
              "value=\"b&lt;&amp;&gt;&quot;c\"/></host>\n"
              "    <link id=\"memory-0\" bandwidth=\"64000000000bps\" latency=\"100ns\" "
              "sharing_policy=\"FATPIPE\"/>\n"
              "    <link id=\"memory-1\" bandwidth=\"64000000000bps\" latency=\"100ns\" "
              "sharing_policy=\"FATPIPE\"/>\n"
              "    <link id=\"l0\" bandwidth=\"100000000000bps\" latency=\"500ns\" "
              "sharing_policy=\"SHARED\"/>\n"
              "    <link id=\"l1\" bandwidth=\"100000000000bps\" latency=\"501ns\" "
              "sharing_policy=\"SHARED\"/>\n"
              "    <link id=\"l2\" bandwidth=\"100000000000bps\" latency=\"500ns\" "
              "sharing_policy=\"SHARED\"/>\n"
              "    <link id=\"l3\" bandwidth=\"100000000000bps\" latency=\"501ns\" "
              "sharing_policy=\"SHARED\"/>\n"
              "    <route src=\"h0\" dst=\"h0\" symmetrical=\"NO\"><link_ctn "
              "id=\"memory-0\"/></route>\n"
              "    <route src=\"h0\" dst=\"h1\" symmetrical=\"NO\"><link_ctn id=\"l0\"/><link_ctn "
              "id=\"l3\"/></route>\n"
              "    <route src=\"h1\" dst=\"h0\" symmetrical=\"NO\"><link_ctn id=\"l2\"/><link_ctn "
              "id=\"l1\"/></route>\n"
              "    <route src=\"h1\" dst=\"h1\" symmetrical=\"NO\"><link_ctn "
              "id=\"memory-1\"/></route>\n"
              "  </zone>\n"
              "</platform>\n");
}

TEST(Simgrid, ControlCharactersAreNoXml) {
    const std::vector<std::string> names{"a\n\x01\x7f"};
    const auto platform = print_simgrid(Fabric::one_switch(1), {.count = 1, .names = names});
    ASSERT_TRUE(platform);
    EXPECT_NE(platform.value().find("value=\"a\\x0a\\x01\\x7f\""), std::string::npos)
        << platform.value();
}

// Two leaves of two hosts, two links up from each: hosts 0 and 2 are reached over the first, 1 and
// 3 over the second. The first way up of leaf 0 is link 8, of leaf 1 link 12.
TEST(Simgrid, ParallelLinksGoByDestination) {
    const std::vector<uint32_t> leaves{2, 2};
    Fabric fabric = Fabric::leaves(leaves);
    fabric.set_switch_links({{2, 40'000'000'000, 300}, {2, 40'000'000'000, 300}, {1, 0, 0}});
    const auto platform = print_simgrid(fabric, {.count = 4});
    ASSERT_TRUE(platform);
    const auto has = [&](const std::string& line) {
        return platform.value().find(line) != std::string::npos;
    };
    EXPECT_TRUE(
        has("src=\"h0\" dst=\"h2\" symmetrical=\"NO\"><link_ctn id=\"l0\"/><link_ctn "
            "id=\"l8\"/><link_ctn id=\"l13\"/><link_ctn id=\"l5\"/>"))
        << platform.value();
    EXPECT_TRUE(
        has("src=\"h0\" dst=\"h3\" symmetrical=\"NO\"><link_ctn id=\"l0\"/><link_ctn "
            "id=\"l10\"/><link_ctn id=\"l15\"/><link_ctn id=\"l7\"/>"));
    EXPECT_TRUE(has("<link id=\"l10\" bandwidth=\"40000000000bps\" latency=\"300ns\""));
    EXPECT_FALSE(has("id=\"l16\""));  // above the root
}

TEST(Simgrid, HasAtMostSoManyHosts) {
    const Fabric fabric = Fabric::one_switch(kSimgridHostsMax + 1);
    const auto platform = print_simgrid(fabric, {.count = kSimgridHostsMax + 1});
    ASSERT_FALSE(platform);
    EXPECT_EQ(platform.error().message,
              "513 hosts; a platform has a route for every pair, and at most 512 hosts here");
}

}  // namespace
}  // namespace tutti::topo
