// SPDX-License-Identifier: BSD-3-Clause
// ibnetdiscover's files: its real output on simulated fabrics, and what is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <tuple>

#include "base/topo/read/read.h"
#include "base/topo/switch_tree.h"

namespace tutti::topo {
namespace {

std::string file(const std::string& name) {
    std::ifstream stream(TUTTI_FABRICS "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

Topology read(const std::string& name) {
    const auto topology = read_topology(file(name), name);
    EXPECT_TRUE(topology) << topology.error().message;
    return topology.value();
}

// By name: hosts with their adapters, and links.
auto facts(const Topology& topology) {
    std::set<std::pair<std::string, uint32_t>> hosts;
    for (const auto& host : topology.hosts) hosts.emplace(host.name, host.adapters);
    std::set<std::tuple<std::string, std::string, uint32_t, uint64_t>> links;
    for (const Topology::Link& link : topology.links) {
        const auto [one, other] =
            std::minmax(topology.name_of(link.one), topology.name_of(link.other));
        links.emplace(one, other, link.count, link.bits_per_s);
    }
    return std::pair(hosts, links);
}

std::string complaint(const std::string& text) {
    const auto topology = read_ib_text(text, "ib.out");
    return topology ? "(accepted)" : topology.error().message;
}

TEST(IbNetDiscover, CablesOfTwoRatesInAnyOrder) {
    std::string text = "Switch\t8 \"S-0000000000000001\"\t\t# \"spine\" base port 0 lid 1 lmc 0\n";
    for (const auto& [port, rate] : {std::pair(1, "EDR"), {2, "HDR"}, {3, "EDR"}}) {
        const std::string number = "[" + std::to_string(port) + "]";
        text +=
            number + "\t\"S-0000000000000002\"" + number + "\t\t# \"leaf2\" lid 2 4x" + rate + "\n";
    }
    text +=
        "\nSwitch\t8 \"S-0000000000000002\"\t\t# \"leaf2\" base port 0 lid 2 lmc 0\n"
        "[4]\t\"H-0000000000000003\"[1](3) \t\t# \"n0\" lid 3 4xEDR\n"
        "\nCa\t1 \"H-0000000000000003\"\t\t# \"n0\"\n"
        "[1](3) \t\"S-0000000000000002\"[4]\t\t# lid 3 lmc 0 \"leaf2\" lid 2 4xEDR\n";
    const auto topology = read_ib_text(text, "ib.out");
    ASSERT_TRUE(topology) << topology.error().message;
    EXPECT_EQ(topology.value().links.size(), 3u);
    const auto again = read_own(print_own(topology.value()), "again");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(facts(again.value()), facts(topology.value()));
}

TEST(IbNetDiscover, TheExampleOfThePage) {
    std::ifstream stream(TUTTI_FORMATS "/ibnetdiscover.md");
    const std::string page{std::istreambuf_iterator<char>(stream), {}};
    const std::string mark = "```ibnetdiscover\n";
    const size_t begin = page.find(mark) + mark.size();
    const std::string text = page.substr(begin, page.find("```", begin) - begin);
    const auto topology = read_topology(text, "whatever");
    ASSERT_TRUE(topology) << topology.error().message;
    EXPECT_EQ(topology.value().hosts.size(), 1u);
    EXPECT_EQ(topology.value().switches.size(), 2u);
}

TEST(IbNetDiscover, ItsOutput) {
    const Topology topology = read("ib8.out");
    EXPECT_EQ(topology.hosts.size(), 8u);
    EXPECT_EQ(topology.switches.size(), 3u);
    // Two cables from each leaf to the spine, each told from both ends.
    ASSERT_EQ(topology.links.size(), 10u);
    for (const Topology::Link& link : topology.links) {
        EXPECT_EQ(link.count, topology.is_host(std::min(link.one, link.other)) ? 1u : 2u);
        EXPECT_EQ(link.bits_per_s, 8'000'000'000u);  // 4xSDR
    }
    EXPECT_EQ(topology.switches[0].name, "leaf1");
    EXPECT_EQ(topology.switches[0].line, 10u);
    EXPECT_EQ(topology.switches[0].chassis, "");
    const auto tree = make_switch_tree(topology);
    ASSERT_TRUE(tree);
    EXPECT_EQ(tree.value().nodes.size(), 3u);
    EXPECT_EQ(tree.value().nodes[1].up.links, 2u);
}

TEST(IbNetDiscover, OfSixtyFourHosts) {
    const Topology topology = read("ib64.out");
    EXPECT_EQ(topology.hosts.size(), 64u);
    EXPECT_EQ(topology.switches.size(), 12u);
    const auto tree = make_switch_tree(topology);
    ASSERT_TRUE(tree);
    ASSERT_EQ(tree.value().nodes.size(), 9u);
    EXPECT_EQ(tree.value().nodes[0].switches.size(), 4u);
    EXPECT_EQ(tree.value().nodes[1].up.links, 4u);
}

TEST(IbNetDiscover, ACacheSaysTheSame) {
    EXPECT_EQ(facts(read("ib8.cache")), facts(read("ib8.out")));
    EXPECT_EQ(facts(read("ib_rails.cache")), facts(read("ib_rails.out")));
}

TEST(IbNetDiscover, NamesOfAMapAndGroupsOfAChassis) {
    const Topology named = read("ib8_names.out");
    std::set<std::string> names;
    for (const auto& one : named.switches) names.insert(one.name);
    EXPECT_EQ(names, (std::set<std::string>{"Spine one", "rack1/leaf", "rack2/leaf"}));
    EXPECT_EQ(facts(read("ib8_group.out")), facts(read("ib8.out")));
}

TEST(IbNetDiscover, HostsWithSeveralAdapters) {
    const Topology topology = read("ib_rails.out");
    EXPECT_EQ(facts(topology).first, (std::set<std::pair<std::string, uint32_t>>{
                                         {"big1", 2}, {"big2", 1}, {"host1", 1}, {"host2", 1}}));
    const auto tree = make_switch_tree(topology);
    ASSERT_TRUE(tree);
    EXPECT_EQ(tree.value().nodes.size(), 3u);
}

// A device of two chips, as `-g` tells it; adapters that nobody named; what is no host.
TEST(IbNetDiscover, WhatNamesDoNotTell) {
    const std::string text =
        "Chassis 1 (guid 0xa0)\n\n# Spine Nodes\nvendid=0x1\nsysimgguid=0xa0\t\t# Chassis 1\n"
        "switchguid=0xa1(a1)\t# Spine 1 Chip 1\n"
        "Switch\t36 \"S-00000000000000a1\"\t\t# \"Chip [x], of \"it\"\" base port 0 lid 1 lmc 0\n"
        "[1][ext 3]\t\"S-00000000000000a2\"[1][ext 4]\t\t# \"Chip\" lid 2 4xEDR\n"
        "[2]\t\"H-0000000000000001\"[1](b1) \t\t# \"MT4 ConnectX Mellanox\" lid 3 4xHDR s=4 w=2\n"
        "[3]\t\"H-0000000000000002\"[1](b2) \t\t# \"localhost HCA-1\" lid 3 4x???\n"
        "[4]\t\"H-0000000000000003\"[1](b3) \t\t# \"localhost HCA-1\" lid 3 12xQDR\n"
        "[5]\t\"H-0000000000000004\"[1](b4) \t\t# \"Mellanox Technologies Aggregation Node\" lid 9 "
        "4xEDR\n[6]\t\"R-0000000000000005\"[1](b5) \t\t# \"router\" lid 9 4xEDR\n\n"
        "vendid=0x1\nsysimgguid=0xa0\t\t# Chassis 1\n"
        "Switch\t36 \"S-00000000000000a2\"\t\t# \"Chip\" base port 0 lid 1 lmc 0\n\n"
        "Ca\t1 \"H-0000000000000001\"\t\t# \"MT4 ConnectX Mellanox\"\n"
        "[1](b1) \t\"S-00000000000000a1\"[2] (a1) \t\t# lid 1 lmc 0 \"Chip\" lid 4 4xHDR\n\n"
        "Ca\t1 \"H-0000000000000002\"\t\t# \"localhost HCA-1\"\n\n"
        "Ca\t1 \"H-0000000000000003\"\t\t# \"localhost HCA-1\"\n\n"
        "Ca\t1 \"H-0000000000000004\"\t\t# \"Mellanox Technologies Aggregation Node\"\n\n"
        "Rt\t2 \"R-0000000000000005\"\t\t# \"router\"\n";
    ASSERT_TRUE(is_ib_text(text));
    const auto made = read_ib_text(text, "ib.out");
    ASSERT_TRUE(made) << made.error().message;
    const Topology& topology = made.value();
    ASSERT_EQ(topology.switches.size(), 2u);
    EXPECT_EQ(topology.switches[1].name, "Chip _x__ of \"it\"");
    EXPECT_EQ(topology.switches[0].chassis, "1");
    EXPECT_EQ(topology.switches[1].chassis, "1");
    ASSERT_EQ(topology.hosts.size(), 3u);
    EXPECT_EQ(topology.hosts[0].name, "MT4 ConnectX Mellanox H-0000000000000001");
    EXPECT_EQ(topology.hosts[1].name, "localhost");
    EXPECT_EQ(topology.hosts[2].name, "localhost HCA-1 H-0000000000000003");
    std::multiset<uint64_t> rates;
    for (const auto& link : topology.links) rates.insert(link.bits_per_s);
    EXPECT_EQ(rates,
              (std::multiset<uint64_t>{0, 96'000'000'000, 100'000'000'000, 200'000'000'000}));
}

TEST(IbNetDiscover, WhatIsWrongIsToldWithItsLine) {
    const std::string node =
        "Switch\t8 \"S-00000000000000a1\"\t\t# \"s\" base port 0 lid 1 lmc 0\n";
    const std::string host = "Ca\t1 \"H-0000000000000001\"\t\t# \"h\"\n";
    const std::string wire =
        "[1](b1) \t\"S-00000000000000a1\"[1]\t\t# lid 1 lmc 0 \"s\" lid 1 4xSDR\n";
    EXPECT_EQ(complaint(node + host + wire), "(accepted)");
    EXPECT_EQ(complaint(""), "ib.out:1: there is no host in this file");
    EXPECT_EQ(complaint("# c\nhello\n"), "ib.out:2: not a line of ibnetdiscover: hello");
    EXPECT_EQ(complaint(wire), "ib.out:1: a port without a node above it");
    EXPECT_EQ(complaint(host + wire),
              "ib.out:2: there is no S-00000000000000a1 in this file; is it whole?");
    EXPECT_EQ(complaint(node + node), "ib.out:2: S-00000000000000a1 is there already, in line 1");
    EXPECT_EQ(complaint(node + host), "ib.out:1: switch s is not connected with host h of line 2");
    EXPECT_EQ(complaint(node + host + wire + "[1](b1) \t\"S-00000000000000a1\"[2]\t\t# \"s\"\n"),
              "ib.out:4: port 1 of H-0000000000000001 has another link in line 3");
    EXPECT_EQ(complaint(node + host + "[1](b1) \t\"S-00000000000000a1\"[1").substr(0, 41),
              "ib.out:3: not a line of ibnetdiscover: [1");
    EXPECT_EQ(complaint("Switch\t8 \"H-00000000000000a1\"\t\t# \"s\"\n").substr(0, 38),
              "ib.out:1: not a line of ibnetdiscover:");
    EXPECT_EQ(complaint("sysimgguid=zero\n").substr(0, 38),
              "ib.out:1: not a line of ibnetdiscover:");
    EXPECT_EQ(complaint(std::string(10 << 20, '\xee')).substr(0, 38),
              "ib.out:1: not a line of ibnetdiscover:");
    // Wherever it ends, it is read or one line says why not.
    const std::string whole = file("ib8.out");
    for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
        const std::string said = complaint(whole.substr(0, bytes));
        EXPECT_TRUE(said == "(accepted)" || said.starts_with("ib.out:")) << bytes;
        EXPECT_EQ(said.find('\n'), std::string::npos);
    }
}

TEST(IbNetDiscover, ABrokenCacheIsOneLine) {
    const std::string whole = file("ib8.cache");
    for (size_t bytes = 4; bytes < whole.size(); ++bytes) {
        const auto cut = read_ib_cache(whole.substr(0, bytes), "c");
        ASSERT_FALSE(cut);
        EXPECT_EQ(cut.error().message.substr(0, 30), "c:1: the cache ends too early ");
    }
    EXPECT_EQ(read_ib_cache(whole + "x", "c").error().message.substr(0, 31),
              "c:1: more behind the cache's en");
    std::string other = whole;
    other[4] = 2;
    EXPECT_EQ(read_ib_cache(other, "c").error().message,
              "c:1: a cache of version 2, not 1 (byte 8)");
}

}  // namespace
}  // namespace tutti::topo
