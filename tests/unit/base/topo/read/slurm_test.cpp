// SPDX-License-Identifier: BSD-3-Clause
// Slurm's descriptions of a cluster.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/topo/read/read.h"
#include "base/topo/switch_tree.h"

namespace tutti::topo {
namespace {

std::string page() {
    std::ifstream file(TUTTI_FORMATS "/slurm.md");
    return {std::istreambuf_iterator<char>(file), {}};
}

// The n-th block of code of the page.
std::string example(const std::string& kind) {
    const std::string text = page();
    const std::string mark = "```" + kind + "\n";
    const size_t begin = text.find(mark) + mark.size();
    return text.substr(begin, text.find("```", begin) - begin);
}

std::string conf_complaint(const std::string& text) {
    const auto topology = read_slurm_conf(text, "topology.conf");
    return topology ? "(accepted)" : topology.error().message;
}

TEST(SlurmConf, TheExampleOfThePage) {
    const auto topology = read_slurm_conf(example("conf"), "topology.conf");
    ASSERT_TRUE(topology) << topology.error().message;
    EXPECT_EQ(topology.value().hosts.size(), 16u);
    EXPECT_EQ(topology.value().switches.size(), 6u);
    EXPECT_EQ(topology.value().switches[0].name, "s0");
    EXPECT_EQ(topology.value().switches[0].line, 2u);
    const auto tree = make_switch_tree(topology.value());
    ASSERT_TRUE(tree);
    // Both spine switches are one root.
    ASSERT_EQ(tree.value().nodes.size(), 5u);
    EXPECT_EQ(tree.value().nodes[0].switches, (std::vector<uint32_t>{4, 5}));
}

TEST(SlurmConf, NamesInAnyLettersAndLinesThatGoOn) {
    const auto topology = read_slurm_conf(
        "# a comment\nswitchname=s0 NODES=n[1-2] \\\n  LinkSpeed=10\r\nSwitchName=s1 Nodes=\"n3\"\n"
        "SwitchName=s2 Switches=s[0-1] # another\n",
        "topology.conf");
    ASSERT_TRUE(topology) << topology.error().message;
    EXPECT_EQ(topology.value().hosts.size(), 3u);
    EXPECT_EQ(topology.value().switches[0].line, 2u);
    EXPECT_EQ(topology.value().switches[1].line, 4u);
    EXPECT_EQ(topology.value().links[0].bits_per_s, 0u);
}

TEST(SlurmConf, CommentsAndBlanksBehindALineDoNotCount) {
    const auto topology = read_slurm_conf(
        "# a path: C:\\\nSwitchName=s0 Nodes=a \\ \t\n LinkSpeed=1\n"
        "SwitchName=s1 Nodes=b \\ # goes on\n  Switches=s0 # or not \\\nSwitchName=s2 "
        "Switches=s1\n",
        "topology.conf");
    ASSERT_TRUE(topology) << topology.error().message;
    EXPECT_EQ(topology.value().hosts.size(), 2u);
    ASSERT_EQ(topology.value().switches.size(), 3u);
    EXPECT_EQ(topology.value().switches[2].line, 6u);
}

TEST(SlurmConf, BlocksHangOnOneSwitch) {
    const auto topology = read_slurm_conf(
        "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n", "topology.conf");
    ASSERT_TRUE(topology) << topology.error().message;
    EXPECT_EQ(topology.value().switches.size(), 3u);
    EXPECT_EQ(topology.value().switches[2].name, "(blocks)");
    const auto one = read_slurm_conf("BlockName=b1 Nodes=n[1-2]\n", "topology.conf");
    ASSERT_TRUE(one);
    EXPECT_EQ(one.value().switches.size(), 1u);
}

TEST(SlurmConf, WhatIsWrongIsToldWithItsLine) {
    EXPECT_EQ(conf_complaint(""), "topology.conf:1: there is no host in this file");
    EXPECT_EQ(conf_complaint("SwitchName=s0\n"),
              "topology.conf:1: s0 has neither nodes nor switches");
    EXPECT_EQ(conf_complaint("\nSwitchName=s0 Nodes=n[0-"),
              "topology.conf:2: a ] is missing in n[0-");
    EXPECT_EQ(conf_complaint("SwitchName=s0 Nodes="),
              "topology.conf:1: a value is missing behind Nodes=");
    EXPECT_EQ(conf_complaint("SwitchName=s0 Nodes=a \\"),
              "topology.conf:1: the file ends within a line");
    EXPECT_EQ(conf_complaint("SwitchName=s0 Node=a"),
              "topology.conf:1: unknown name Node; did you mean nodes?");
    EXPECT_EQ(conf_complaint("SwitchName=s0 Nodes=a Nodes=b"),
              "topology.conf:1: Nodes stands here twice");
    EXPECT_EQ(conf_complaint("Nodes=a"),
              "topology.conf:1: a line begins with SwitchName or BlockName");
    EXPECT_EQ(conf_complaint("SwitchName s0"),
              "topology.conf:1: expected NAME=VALUE, not SwitchName");
    EXPECT_EQ(conf_complaint("SwitchName=s0 Nodes=a,a"), "topology.conf:1: a is named twice by s0");
    EXPECT_EQ(conf_complaint("SwitchName=s0 Nodes=a\nSwitchName=s0 Nodes=b"),
              "topology.conf:2: s0 is there already, a switch of line 1");
    EXPECT_EQ(conf_complaint("SwitchName=s0 Nodes=a\nSwitchName=s1 Switches=s0,s3"),
              "topology.conf:2: there is no switch s3");
    EXPECT_EQ(conf_complaint("SwitchName=s0 Nodes=a\nSwitchName=s1 Switches=a"),
              "topology.conf:2: there is no switch a");
    EXPECT_EQ(conf_complaint("SwitchName=s0 Nodes=a\nSwitchName=s1 Nodes=b"),
              "topology.conf:2: host b is not connected with host a of line 1");
    EXPECT_EQ(conf_complaint("SwitchName=s0 Nodes=a\nSwitchName=s1 Switches=s[0,2]\n"
                             "SwitchName=s2 Switches=s3\nSwitchName=s3 Switches=s1"),
              "topology.conf:2: switch s1 is below itself");
    EXPECT_EQ(conf_complaint("SwitchName=s0 Nodes=a Switches=s0"),
              "topology.conf:1: a link of s0 with itself");
    const std::string noise = conf_complaint(std::string(10 << 20, '\xff'));
    EXPECT_EQ(noise.substr(0, 31), "topology.conf:1: expected NAME=");
    EXPECT_LT(noise.size(), 2000u);
}

#ifndef TUTTI_TEST_NO_YAML

std::string yaml_complaint(const std::string& text) {
    const auto topology = read_slurm_yaml(text, "topology.yaml");
    return topology ? "(accepted)" : topology.error().message;
}

TEST(SlurmYaml, TheExampleOfThePage) {
    const std::string text = example("yaml");
    const auto topology = read_slurm_yaml(text, "topology.yaml");
    ASSERT_TRUE(topology) << topology.error().message;
    EXPECT_EQ(topology.value().hosts.size(), 8u);
    ASSERT_EQ(topology.value().switches.size(), 3u);
    EXPECT_EQ(topology.value().switches[0].name, "spine");
    EXPECT_EQ(topology.value().switches[1].line, 7u);
    // The other one.
    std::string blocks = text;
    blocks.replace(blocks.find("true"), 4, "false");
    blocks.insert(blocks.find("  block:"), "  cluster_default: true\n");
    const auto other = read_slurm_yaml(blocks, "topology.yaml");
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(other.value().switches[2].name, "(blocks)");
}

TEST(SlurmYaml, WhatIsWrongIsToldWithItsLine) {
    const std::string head = "- topology: t\n  tree:\n    switches:\n";
    EXPECT_EQ(yaml_complaint(""), "topology.yaml:1: expected a list of topologies");
    EXPECT_EQ(yaml_complaint("a: b"), "topology.yaml:1: expected a list of topologies");
    EXPECT_EQ(yaml_complaint("- a: b"),
              "topology.yaml:1: expected a topology: its first word is `- topology: NAME`");
    EXPECT_EQ(
        yaml_complaint("- topology: t\n  flat: true"),
        "topology.yaml:1: this topology is neither tree nor block: it says nothing of switches");
    EXPECT_EQ(yaml_complaint("- topology: t\n  cluster_default: maybe\n  flat: true"),
              "topology.yaml:2: cluster_default: expected true or false");
    EXPECT_EQ(yaml_complaint("- topology: t\n  tree: 5\n"),
              "topology.yaml:2: switches: expected a list");
    EXPECT_EQ(yaml_complaint(head + "      - s0\n"), "topology.yaml:4: expected `- switch: NAME`");
    EXPECT_EQ(yaml_complaint(head + "      - nodes: a\n"),
              "topology.yaml:4: expected `switch: NAME`");
    EXPECT_EQ(yaml_complaint(head + "      - switch: s\n        node: a\n"),
              "topology.yaml:5: unknown key node; did you mean nodes?");
    EXPECT_EQ(yaml_complaint(head + "      - switch: s\n        nodes: a\n        nodes: b\n"),
              "topology.yaml:6: nodes stands here twice");
    EXPECT_EQ(yaml_complaint(head + "      - switch: s\n        nodes: a\n    switches: []\n"),
              "topology.yaml:6: switches stands here twice");
    EXPECT_EQ(yaml_complaint(head + "      - switch: s\n        nodes: a\n  tree: {}\n"),
              "topology.yaml:6: tree stands here twice");
    EXPECT_EQ(yaml_complaint(head + "      - switch: s\n        nodes: [a]\n"),
              "topology.yaml:5: nodes: expected a text");
    EXPECT_EQ(yaml_complaint(head + "      - switch: s\n        nodes: a[0-\n"),
              "topology.yaml:4: a ] is missing in a[0-");
    EXPECT_EQ(yaml_complaint(head + "      - switch: s\n"),
              "topology.yaml:4: s has neither nodes nor switches");
    EXPECT_EQ(yaml_complaint(head + "      - switch: s\n        nodes: a\n      - switch: t\n"
                                    "        children: u\n      - switch: u\n        children: t\n")
                  .substr(0, 38),
              "topology.yaml:8: switch u is below its");
    EXPECT_EQ(yaml_complaint(head + "      - switch: s\n      nodes: ]\n").substr(0, 16),
              "topology.yaml:5:");
    EXPECT_EQ(yaml_complaint(std::string(100'000, '[')).substr(0, 16), "topology.yaml:1:");
    EXPECT_EQ(yaml_complaint(std::string(17 << 20, 'a')), "topology.yaml:1: more than 16 MiB");
}

#endif

}  // namespace
}  // namespace tutti::topo
