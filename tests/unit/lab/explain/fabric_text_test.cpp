// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/fabric_text.h"

#include <gtest/gtest.h>

namespace tutti::explain {
namespace {

// A chain of switches with a host at each end and one in its middle, named n0.a.org to n2.a.org.
topo::Topology chain(uint32_t switches, uint64_t bits_per_s) {
    topo::TopologyBuilder builder("f");
    for (uint32_t at = 0; at < switches; ++at) {
        EXPECT_TRUE(builder.add_switch("s" + std::to_string(at), 0));
        if (at == 0) continue;
        EXPECT_TRUE(builder.add_link({false, at}, {false, at - 1}, {.bits_per_s = bits_per_s}));
    }
    for (uint32_t host = 0; host < 3; ++host) {
        EXPECT_TRUE(builder.add_host("n" + std::to_string(host) + ".a.org", 0));
        EXPECT_TRUE(builder.add_link({true, host}, {false, host * (switches - 1) / 2},
                                     {.bits_per_s = bits_per_s}));
    }
    auto made = builder.finish();
    EXPECT_TRUE(made);
    return made.value();
}

std::string part(const topo::Topology& topology, const std::vector<std::string>& hosts) {
    const auto tree = topo::make_switch_tree(topology);
    std::vector<std::string> unknown;
    const auto view = view_of(topology, tree.value(), hosts, unknown);
    return view ? fabric_text(view.value()) : view.error().message;
}

TEST(FabricText, OnlyAHostThatIsNotThereIsToldSo) {
    topo::TopologyBuilder builder("f");
    ASSERT_TRUE(builder.add_host("n0", 0));
    const topo::Topology topology = builder.finish().value();
    EXPECT_EQ(part(topology, {"n0"}), "(no switch)\n    1 host: n0\n");
    EXPECT_EQ(part(topology, {"n0", "n1"}),
              "(no switch)\n    1 host: n0\n  (no switch)\n      1 host: n1; not in the file\n");
}

TEST(FabricText, AHostIsNamedOnce) {
    const topo::Topology topology = chain(1, 0);
    EXPECT_EQ(part(topology, {"n0", "n1", "n0"}), "n0 is named twice");
    EXPECT_EQ(part(topology, {"x", "x"}), "x is named twice");
    EXPECT_EQ(part(topology, {"n1", "n0", "n1.a.org"}), "n1 and n1.a.org are one host");
    EXPECT_EQ(part(topology, {"n1", "n0"}), "s0\n    2 hosts: n[1,0]; 1 link\n");
}

TEST(FabricText, RatesHaveFewDigits) {
    const auto told = [](uint64_t bits) { return text_of(topo::Trunk{1, bits, 0}); };
    EXPECT_EQ(told(54'545'454'544), "1 link of 54.545 Gbit/s");
    EXPECT_EQ(told(100'000'000'000), "1 link of 100 Gbit/s");
    EXPECT_EQ(told(2'500'000'000), "1 link of 2.5 Gbit/s");
    EXPECT_EQ(told(25'000'000), "1 link of 0.025 Gbit/s");
    EXPECT_EQ(told(12'345'678), "1 link of 0.0123 Gbit/s");
}

TEST(FabricText, IndentationIsBounded) {
    const topo::Topology topology = chain(201, 0);
    const std::string text =
        fabric_text(whole_view(topology, topo::make_switch_tree(topology).value()));
    EXPECT_NE(text.find("\n" + std::string(40, ' ') + "s200; up: 1 link\n"), std::string::npos);
    EXPECT_EQ(text.find(std::string(45, ' ')), std::string::npos);
}

}  // namespace
}  // namespace tutti::explain
