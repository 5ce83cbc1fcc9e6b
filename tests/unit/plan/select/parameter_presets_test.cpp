// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/parameter_presets.h"

#include <gtest/gtest.h>

#include "plan/price/network.h"
#include "plan/select/rules.h"

namespace tutti::select {
namespace {

std::string complaint(std::string_view text) {
    const auto parsed = Rules::parse(text, "cluster.toml");
    return parsed ? "" : parsed.error().message;
}

TEST(Parameters, EveryKeyIsHeeded) {
    const auto parsed = Rules::parse(R"([parameters]
latency = "1.5us"
rate = "97gbit"
hop = "300ns"
trunk = "50gbit"
message = "200ns"
eager = "16K"
payload_percent = 95
foreign_percent = 150
burst = "20K"
both_ways_percent = 130
long_both_ways_percent = 150
long_in_turn = true
multicast_latency = "20us"
multicast_rate = "900mbit"
flag = "70ns"
copy = "80gbit"
fold = "40gbit"
)",
                                     "cluster.toml");
    ASSERT_TRUE(parsed) << parsed.error().message;
    ASSERT_TRUE(parsed.value().parameters());
    const price::ClusterParameters& found = *parsed.value().parameters();
    EXPECT_EQ(found.links.latency_ns, 1500u);
    EXPECT_EQ(found.links.bits_per_s, 97'000'000'000u);
    EXPECT_EQ(found.links.trunk_latency_ns, 300u);
    EXPECT_EQ(found.links.trunk_bits_per_s, 50'000'000'000u);
    EXPECT_EQ(found.message_ns, 200u);
    EXPECT_EQ(found.eager_bytes_max, 16u << 10);
    EXPECT_EQ(found.payload_permille, 950u);
    EXPECT_EQ(found.foreign_permille, 1500u);
    EXPECT_EQ(found.burst_bytes, 20u << 10);
    EXPECT_EQ(found.both_ways_permille, 1300u);
    EXPECT_TRUE(found.long_in_turn);
    const price::Network network = price::Network::on(topo::Fabric::one_switch(2), found);
    EXPECT_EQ(network.burst_bytes, 20u << 10);
    EXPECT_EQ(network.both_ways_permille, 1300u);
    EXPECT_EQ(network.long_both_ways_permille, 1500u);
    EXPECT_TRUE(network.long_in_turn);
    EXPECT_EQ(found.multicast, (sched::Speed{20'000, 900}));
    EXPECT_EQ(found.node, (price::NodeParameters{70, 10'000'000'000u, 5'000'000'000u}));
}

TEST(Parameters, WhatIsLeftOutIsAssumed) {
    const auto parsed = Rules::parse("[parameters]\nlatency = \"5us\"\n", "cluster.toml");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed.value().parameters()->links.latency_ns, 5000u);
    EXPECT_EQ(parsed.value().parameters()->links.bits_per_s, topo::LinkDefaults{}.bits_per_s);
    EXPECT_EQ(parsed.value().parameters()->burst_bytes, 0u);
    EXPECT_EQ(parsed.value().parameters()->both_ways_permille, 1000u);
    EXPECT_FALSE(parsed.value().parameters()->long_in_turn);
}

TEST(Parameters, RulesStandBesideThem) {
    const auto parsed = Rules::parse(
        "parameters = \"ranger\"\n[[rule]]\ncollective = \"bcast\"\n"
        "hosts = \"2..\"\nalgorithm = \"chain\"\n",
        "cluster.toml");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed.value().parameters()->links.latency_ns, 1570u);
    EXPECT_EQ(parsed.value().rules().size(), 1u);
    EXPECT_FALSE(Rules::built_in().parameters());
}

TEST(Parameters, AMistakeIsALine) {
    EXPECT_EQ(complaint("[parameter]\n"),
              "cluster.toml:1:2: unknown key parameter; did you mean parameters?");
    EXPECT_EQ(complaint("parameters = 3\n"),
              "cluster.toml:1:14: parameters are written as [parameters], or are a preset's name");
    EXPECT_EQ(complaint("[parameters]\nlatnecy = \"1us\"\n"),
              "cluster.toml:2:1: unknown key latnecy; did you mean latency?");
    EXPECT_EQ(
        complaint("[parameters]\nrate = \"0gbit\"\n"),
        "cluster.toml:2:8: rate = \"0gbit\": expected a rate such as \"97gbit\", at least 1mbit");
    EXPECT_EQ(complaint("[parameters]\nlatency = 5\n"),
              "cluster.toml:2:11: latency = 5: expected a time such as \"1.5us\", at most 1 s");
    EXPECT_EQ(complaint("[parameters]\nforeign_percent = 99\n"),
              "cluster.toml:2:19: foreign_percent = 99: expected a number from 100 to 10000");
    EXPECT_EQ(complaint("[parameters]\nboth_ways_percent = 99\n"),
              "cluster.toml:2:21: both_ways_percent = 99: expected a number from 100 to 10000");
    EXPECT_EQ(
        complaint("[parameters]\nburst = \"2G\"\n"),
        "cluster.toml:2:9: burst = \"2G\": expected a number of bytes such as \"20K\", at most 1G");
    EXPECT_EQ(complaint("[parameters]\nlong_in_turn = 2\n"),
              "cluster.toml:2:16: long_in_turn = 2: expected true or false");
    EXPECT_EQ(complaint("[parameters]\nmulticast_rate = \"1gbit\"\n"),
              "cluster.toml:1:1: multicast_latency is missing: give both values of multicasts, or "
              "neither");
    EXPECT_NE(complaint("[parameters]\nlatency = \"1us\nrate"), "");
    EXPECT_TRUE(complaint("parameters = \"rangr\"\n")
                    .starts_with("cluster.toml:1:14: unknown preset rangr: ethernet-10g, "));
}

TEST(Parameters, PresetsHaveNamesAndSources) {
    ASSERT_FALSE(presets().empty());
    for (const Preset& one : presets()) {
        EXPECT_FALSE(one.name.empty());
        EXPECT_FALSE(one.about.empty()) << one.name;
        EXPECT_EQ(find_preset(one.name), &one);
    }
    EXPECT_EQ(find_preset("ranger")->parameters.links.latency_ns, 1570u);
    EXPECT_EQ(find_preset("rangr"), nullptr);
    // The one whose source tells what a multicast takes.
    const sched::Speed told = find_preset("infinihost-pcix")->parameters.multicast;
    EXPECT_EQ(told.latency_ns, 9'600u);
    EXPECT_EQ(told.mbit, 6'700u);
}

}  // namespace
}  // namespace tutti::select
