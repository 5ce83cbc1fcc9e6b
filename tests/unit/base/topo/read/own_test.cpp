// SPDX-License-Identifier: BSD-3-Clause
// Our own format of a topology.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <tuple>

#include "base/prng.h"
#include "base/topo/read/read.h"
#include "base/topo/switch_tree.h"

namespace tutti::topo {
namespace {

std::string complaint(const std::string& text) {
    const auto topology = read_own(text, "f.toml");
    return topology ? "(accepted)" : topology.error().message;
}

// Hosts, switches and links by name, in an order of their own.
auto normal(const Topology& topology) {
    std::vector<std::tuple<std::string, std::string, uint32_t, uint64_t, uint64_t>> links;
    for (const Topology::Link& link : topology.links) {
        const auto [one, other] =
            std::minmax(topology.name_of(link.one), topology.name_of(link.other));
        links.emplace_back(one, other, link.count, link.bits_per_s, link.latency_ns);
    }
    std::sort(links.begin(), links.end());
    std::vector<std::pair<std::string, uint32_t>> hosts;
    for (const auto& host : topology.hosts) hosts.emplace_back(host.name, host.adapters);
    std::vector<std::tuple<std::string, std::string, std::string>> switches;
    for (const auto& one : topology.switches) {
        switches.emplace_back(one.name, one.rack, one.chassis);
    }
    return std::tuple(hosts, switches, links);
}

// The example of a page: its first block of code of this kind.
std::string example_of(const std::string& page, const std::string& kind) {
    std::ifstream file(std::string(TUTTI_FORMATS) + "/" + page);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::string mark = "```" + kind + "\n";
    const size_t begin = text.find(mark) + mark.size();
    return text.substr(begin, text.find("```", begin) - begin);
}

TEST(OwnTopology, TheExampleOfThePage) {
    const auto topology = read_own(example_of("topology.md", "toml"), "f.toml");
    ASSERT_TRUE(topology) << topology.error().message;
    EXPECT_EQ(topology.value().hosts.size(), 18u);
    EXPECT_EQ(topology.value().switches.size(), 4u);
    EXPECT_EQ(topology.value().hosts[0].name, "login");
    EXPECT_EQ(topology.value().hosts[0].adapters, 2u);
    EXPECT_EQ(topology.value().hosts[1].name, "storage");
    EXPECT_EQ(topology.value().switches[2].rack, "r1");
    EXPECT_EQ(normal(read_own(print_own(topology.value()), "again").value()),
              normal(topology.value()));
}

TEST(OwnTopology, MayStandInATunedFile) {
    const auto topology = read_own(example_of("tuned.md", "toml"), "f.toml");
    ASSERT_TRUE(topology) << topology.error().message;
    EXPECT_EQ(topology.value().hosts.size(), 16u);
    EXPECT_EQ(topology.value().switches.size(), 3u);
    EXPECT_EQ(complaint("[tuned]\n[[rule]]\n[parameter]"),
              "f.toml:3:2: unknown key parameter; did you mean parameters?");
    EXPECT_EQ(complaint("[parameters]"), "f.toml:1:2: unknown key parameters");
}

TEST(OwnTopology, WhatIsWrongIsToldWithItsLine) {
    EXPECT_EQ(complaint(""), "f.toml:1: there is no host in this file");
    EXPECT_EQ(complaint("rate = \"fast\""),
              "f.toml:1:8: rate = \"fast\": expected a rate such as \"100Gbit\"");
    EXPECT_EQ(complaint("rate = \"0Gbit\""),
              "f.toml:1:8: rate = \"0Gbit\": expected a rate such as \"100Gbit\"");
    EXPECT_EQ(complaint("rate = 0"), "f.toml:1:8: rate = 0: expected a rate such as \"100Gbit\"");
    EXPECT_EQ(complaint("latency = \"0ns\""),
              "f.toml:1:11: latency = \"0ns\": expected a time such as \"500ns\"");
    EXPECT_EQ(complaint("[[swich]]"), "f.toml:1:3: unknown key swich; did you mean switch?");
    EXPECT_EQ(complaint("switch = 1"), "f.toml:1:10: switch: written as [[switch]]");
    EXPECT_EQ(complaint("[[switch]]\nhosts = \"a\""),
              "f.toml:1:1: a switch names itself: name = \"leaf0\"");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\nhost = \"a\""),
              "f.toml:3:1: unknown key host; did you mean hosts?");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\nhosts = \"a[1\""),
              "f.toml:3:9: hosts: a ] is missing in a[1");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\nhosts = 3"),
              "f.toml:3:9: hosts: expected a word or a list of words, not 3");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\n[[switch]]\nname = \"s\""),
              "f.toml:3: s is there already, a switch of line 1");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\nhosts = \"s\""),
              "f.toml:3: s is there already, a switch of line 1");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\nhosts = \"a,a\""),
              "f.toml:3:9: a is named twice here");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\nhosts = \"a\"\nswitches = \"t\""),
              "f.toml:4:12: there is no t");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\nhosts = \"a\"\nswitches = \"a\""),
              "f.toml:4:12: a is a host; see hosts");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\nhosts = \"a\"\nswitches = \"s\""),
              "f.toml:4: a link of s with itself");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\nhosts = \"a\"\nlinks = 0"),
              "f.toml:4:9: links = 0: expected a number from 1 to 1024");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\nhosts = \"a\"\n[[link]]\nfrom = \"s\""),
              "f.toml:4:1: a link names its ends: from and to");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\nhosts = \"a\"\n[[switch]]\nname = \"t\"\n"
                        "hosts = \"b\""),
              "f.toml:6: host b is not connected with host a of line 3");
    EXPECT_EQ(complaint("[[host]]\nname = \"a\"\nadapters = 2\n[[host]]\nname = \"a\""),
              "f.toml:4: a is there already, a host of line 1");
    EXPECT_EQ(complaint("[[host]]\nname = \"a,a\""),
              "f.toml:1: a is there already, a host of line 1");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\n[[host]]\nname = \"s\""),
              "f.toml:3: s is there already, a switch of line 1");
    const std::string one = "[[switch]]\nname = \"s\"\nhosts = \"a\"\n";
    EXPECT_EQ(complaint(one + "links = 2"),
              "f.toml:4:9: links: of which links? There are no switches here");
    EXPECT_EQ(complaint(one + "rate = \"1Gbit\"\nlatency = \"1ns\""), "(accepted)");
    EXPECT_EQ(complaint(one + "[[switch]]\nname = \"t\"\nlatency = \"1ns\"\n[[link]]\n"
                              "from = \"s\"\nto = \"t\""),
              "f.toml:6:11: latency: of which links? There are no switches here");
    EXPECT_EQ(complaint(one + "rack = \"" + std::string(256, 'r') + "\""),
              "f.toml:4:8: rack: expected at most 255 letters, ASCII all");
    EXPECT_EQ(complaint(one + "rack = \"a\\nb\""),
              "f.toml:4:8: rack: expected at most 255 letters, ASCII all");
    EXPECT_EQ(complaint("[[switch]\nname = \"s\"").substr(0, 9), "f.toml:1:");
    EXPECT_EQ(complaint(std::string(10 << 20, '\x81')).substr(0, 9), "f.toml:1:");
}

TEST(OwnTopology, LinksOfTwoRatesInAnyOrder) {
    const std::string head =
        "[[switch]]\nname = \"leaf2\"\nhosts = \"n0\"\n"
        "[[switch]]\nname = \"spine\"\n";
    std::string text = head;
    for (const char* rate : {"100Gbit", "50Gbit", "100Gbit"}) {
        text +=
            std::string("[[link]]\nfrom = \"spine\"\nto = \"leaf2\"\nrate = \"") + rate + "\"\n";
    }
    const auto topology = read_own(text, "f.toml");
    ASSERT_TRUE(topology) << topology.error().message;
    EXPECT_EQ(topology.value().links.size(), 3u);
    const auto again = read_own(print_own(topology.value()), "again");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(normal(again.value()), normal(topology.value()));
}

TEST(OwnTopology, LettersThatAreNotAsciiAreRefusedButInComments) {
    EXPECT_EQ(complaint("# caf\u00e9 \"\n[[switch]]\nname = \"s\" # \u00e9\nhosts = 'a'"),
              "(accepted)");
    EXPECT_EQ(complaint("[[switch]]\nname = \"caf\u00e9\"\nhosts = \"a\""),
              "f.toml:2:12: a letter that is not ASCII");
    EXPECT_EQ(complaint("[[switch]]\nname = 's'\nhosts = '\u00e9#'"),
              "f.toml:3:10: a letter that is not ASCII");
    EXPECT_EQ(complaint("[[switch]]\nname = \"\"\"s\"\"\"\"\nhosts = \"a\" # \u00e9"),
              "(accepted)");
    EXPECT_EQ(complaint("[[switch]]\nname = \"a\\\"# \u00e9\"\nhosts = \"a\""),
              "f.toml:2:14: a letter that is not ASCII");
    // Written as numbers.
    EXPECT_EQ(complaint("[[switch]]\nname = \"\\u00e9\"\nhosts = \"a\""),
              "f.toml:2:8: name: expected at most 255 letters, ASCII all");
}

TEST(OwnTopology, LongNamesManyLinksAndHighRatesAreReadAgain) {
    TopologyBuilder builder("f");
    for (const size_t bytes : {201, 255}) {
        const std::string name(bytes, 's');
        const uint32_t number = builder.add_switch(name, 0).value();
        builder.at_switch(number).rack = builder.at_switch(number).chassis = name;
    }
    ASSERT_TRUE(builder.add_host(std::string(255, 'n'), 0));
    ASSERT_TRUE(builder.add_link({true, 0}, {false, 0}, {.bits_per_s = 1'000'000'000'000'000}));
    for (uint32_t i = 0; i < 1024; ++i) {
        ASSERT_TRUE(builder.add_link({false, 0}, {false, 1}, {.bits_per_s = 1}));
    }
    const auto made = builder.finish();
    ASSERT_TRUE(made) << made.error().message;
    const auto again = read_own(print_own(made.value()), "again");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(normal(again.value()), normal(made.value()));
}

// 64 pods of 32 leaves of 32 hosts: 65,536.
TEST(OwnTopology, ALargeCluster) {
    std::string text;
    uint32_t hosts = 0;
    for (uint32_t pod = 0; pod < 64; ++pod) {
        const std::string name = "p" + std::to_string(pod);
        for (uint32_t leaf = 0; leaf < 32; ++leaf, hosts += 32) {
            text += "[[switch]]\nname = \"" + name + "l" + std::to_string(leaf) +
                    "\"\nhosts = \"n[" + std::to_string(hosts) + "-" + std::to_string(hosts + 31) +
                    "]\"\n";
        }
        for (uint32_t upper = 0; upper < 16; ++upper) {
            text += "[[switch]]\nname = \"" + name + "u" + std::to_string(upper) +
                    "\"\nswitches = \"" + name + "l[0-31]\"\n";
        }
    }
    for (uint32_t core = 0; core < 256; ++core) {
        text += "[[switch]]\nname = \"c" + std::to_string(core) + "\"\nswitches = \"p[0-63]u" +
                std::to_string(core % 16) + "\"\n";
    }
    const auto topology = read_own(text, "f.toml");
    ASSERT_TRUE(topology) << topology.error().message;
    EXPECT_EQ(topology.value().hosts.size(), 65'536u);
    EXPECT_EQ(topology.value().links.size(), 65'536u + 64 * 16 * 32 + 256 * 64);
    const auto tree = make_switch_tree(topology.value());
    ASSERT_TRUE(tree);
    EXPECT_EQ(tree.value().nodes.size(), 1u + 64 + 64 * 32);
    EXPECT_EQ(tree.value().nodes[0].switches.size(), 256u);
    EXPECT_EQ(tree.value().nodes[1].up.links, 256u);
}

TEST(OwnTopology, WhatALineMayAskFor) {
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\nhosts = \"n[0-262144]\"\n"),
              "f.toml:3:9: hosts: more than 262144 names");
    EXPECT_EQ(complaint("[[switch]]\nname = \"s\"\nhosts = [\"n[0-262143]\", \"m\"]\n"),
              "f.toml:3:9: hosts: more than 262144 names");
    std::string text;
    for (char name = 'a'; name < 'j'; ++name) {
        text += std::string("[[switch]]\nname = \"") + name + "\"\nhosts = \"n[0-262143]\"\n";
    }
    EXPECT_EQ(complaint(text), "f.toml:27:9: hosts: more than 2097152 on all switches");
}

TEST(OwnTopology, WhatIsPrintedIsReadAgain) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(seed);
        Prng random(seed);
        TopologyBuilder builder("f");
        const auto switches = static_cast<uint32_t>(1 + random.below(5));
        for (uint32_t at = 0; at < switches; ++at) {
            ASSERT_TRUE(builder.add_switch("a \"switch\"; \\" + std::to_string(at), 0));
            if (random.below(2)) builder.at_switch(at).rack = "r\"1";
            if (random.below(2)) builder.at_switch(at).chassis = "c";
        }
        const auto add = [&](TopologyBuilder::End one, uint32_t other) {
            Topology::Link link;
            link.count = static_cast<uint32_t>(1 + random.below(2));
            link.bits_per_s = random.below(3) * 12'500'000'000;
            link.latency_ns = random.below(2) * 100;
            ASSERT_TRUE(builder.add_link(one, {false, other}, link));
        };
        for (uint32_t at = 1; at < switches; ++at) add({false, at}, random.below(2) ? at - 1 : 0);
        for (uint32_t host = 0; host < 1 + random.below(9); ++host) {
            const uint32_t number = builder.add_host("n" + std::to_string(host), 0).value();
            if (random.below(3) == 0) builder.host(number).adapters = 2;
            const auto at = static_cast<uint32_t>(random.below(switches));
            add({true, number}, at);
            if (random.below(3) == 0) add({true, number}, (at + 1) % switches);
        }
        const auto made = builder.finish();
        ASSERT_TRUE(made) << made.error().message;
        const std::string text = print_own(made.value());
        const auto again = read_own(text, "again");
        ASSERT_TRUE(again) << again.error().message << "\n" << text;
        EXPECT_EQ(normal(again.value()), normal(made.value())) << text;
        EXPECT_EQ(print_own(again.value()), text);
    }
}

}  // namespace
}  // namespace tutti::topo
