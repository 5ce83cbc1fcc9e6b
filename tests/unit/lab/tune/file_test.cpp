// SPDX-License-Identifier: BSD-3-Clause
#include "lab/tune/file.h"

#include <gtest/gtest.h>

#include "base/topo/read/read.h"
#include "base/topo/switch_tree.h"

namespace tutti::tune {
namespace {

Tuned tuned() {
    Tuned all;
    all.fingerprint = {"Open MPI v4.1.4", "n#", "Some \"fast\" \\ processor"};
    all.on = "2026-11-26";
    all.about = "8 hosts, 1 rank a host";
    return all;
}

price::ClusterParameters unusual() {
    price::ClusterParameters p;
    p.links = {.bits_per_s = 23'456'000,
               .latency_ns = 41'230,
               .trunk_bits_per_s = 97'000'000'000,
               .trunk_latency_ns = 7};
    p.message_ns = 1234;
    p.eager_bytes_max = 65280;
    p.burst_bytes = 19'990;
    p.both_ways_permille = 1340;
    p.long_both_ways_permille = 1560;
    p.long_in_turn = true;
    p.multicast = {.latency_ns = 88'000, .mbit = 19};
    p.node = {
        .flag_ns = 63, .copy_bytes_per_s = 7'654'000'000, .reduce_bytes_per_s = 4'321'000'000};
    return p;
}

TEST(TunedFile, ParametersComeBack) {
    Tuned all = tuned();
    all.parameters = unusual();
    const auto read = select::Rules::parse(tuned_text(all), "t");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read.value().tuned(), all.fingerprint);
    ASSERT_TRUE(read.value().parameters());
    const price::ClusterParameters& p = *read.value().parameters();
    EXPECT_EQ(p.links.bits_per_s, 23'460'000u);  // four digits
    EXPECT_EQ(p.links.latency_ns, 41'230u);
    EXPECT_EQ(p.links.trunk_bits_per_s, 97'000'000'000u);
    EXPECT_EQ(p.links.trunk_latency_ns, 7u);
    EXPECT_EQ(p.message_ns, 1234u);
    EXPECT_EQ(p.eager_bytes_max, 65280u);
    EXPECT_EQ(p.burst_bytes, 19'990u);
    EXPECT_EQ(p.both_ways_permille, 1340u);
    EXPECT_EQ(p.long_both_ways_permille, 1560u);
    EXPECT_TRUE(p.long_in_turn);
    EXPECT_EQ(p.multicast, all.parameters->multicast);
    EXPECT_EQ(p.node.flag_ns, 63u);
    EXPECT_NEAR(static_cast<double>(p.node.copy_bytes_per_s), 7.654e9, 1e6);
    EXPECT_NEAR(static_cast<double>(p.node.reduce_bytes_per_s), 4.321e9, 1e6);
}

// Whatever was measured, the reader takes it.
TEST(TunedFile, ExtremesAreWithinWhatParametersMayBe) {
    Tuned all = tuned();
    all.parameters = parameters_of({.latency_ns = 1, .bits_per_s = 1}, {});
    EXPECT_TRUE(select::Rules::parse(tuned_text(all), "t"));
    survey::LinkFigures slow{.latency_ns = 9'000'000'000,
                             .post_ns = 9'000'000'000,
                             .bits_per_s = 999'999'999'999'999,
                             .both_ways_permille = 10'000};
    all.parameters = parameters_of(slow, {});
    const auto read = select::Rules::parse(tuned_text(all), "t");
    EXPECT_TRUE(read) << read.error().message;
}

TEST(TunedFile, WithoutParametersItHasRulesAlone) {
    const auto read = select::Rules::parse(tuned_text(tuned()), "t");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_FALSE(read.value().parameters());
    EXPECT_FALSE(read.value().has_fabric());
}

TEST(TunedFile, ItsSwitchesAreATopology) {
    const uint32_t sizes[] = {2, 3};
    topo::Fabric fabric = topo::Fabric::leaves(sizes);
    fabric.host_bits_per_s = 25'000'000;
    fabric.trunk_bits_per_s = 50'000'000;
    const std::vector<std::string> hosts{"n0", "n1", "n2", "n3", "n4"};
    auto topology = topology_of(fabric, hosts);
    ASSERT_TRUE(topology) << topology.error().message;
    Tuned all = tuned();
    all.parameters = unusual();
    all.switches = topology.value();
    const std::string text = tuned_text(all);
    EXPECT_TRUE(select::Rules::parse(text, "t"));
    const auto read = topo::read_own(text, "t");
    ASSERT_TRUE(read) << read.error().message << '\n' << text;
    const auto tree = topo::make_switch_tree(read.value());
    ASSERT_TRUE(tree);
    const auto at = [&](const char* name) {
        const std::vector<std::string> names{name};
        return tree.value().place_of_host[topo::find_hosts(read.value(), names).front()].node;
    };
    EXPECT_EQ(at("n0"), at("n1"));
    EXPECT_EQ(at("n2"), at("n4"));
    EXPECT_NE(at("n1"), at("n2"));
}

TEST(TunedFile, AHostOfTwoNamesIsAnError) {
    const std::vector<std::string> twice{"n0", "n0"};
    EXPECT_FALSE(topology_of(topo::Fabric::one_switch(2), twice));
}

}  // namespace
}  // namespace tutti::tune
