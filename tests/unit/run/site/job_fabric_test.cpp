// SPDX-License-Identifier: BSD-3-Clause
#include "run/site/job_fabric.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/topo/switch_order.h"

namespace tutti::site {
namespace {

constexpr const char* kFatTree = R"(
rate = "100Gbit"
[[switch]]
name = "leaf0"
hosts = "n[0-3]"
[[switch]]
name = "leaf1"
hosts = "n[4-7]"
[[switch]]
name = "leaf2"
hosts = "n[8-11]"
[[switch]]
name = "spine0"
switches = "leaf[0-2]"
[[switch]]
name = "spine1"
switches = "leaf[0-2]"
links = 2
)";

class Part : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = (std::filesystem::temp_directory_path() / "tutti-part-XXXXXX").string();
        ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ + "/" + name) << text;
    }
    [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
        write(name, text);
        return folder_ + "/" + name;
    }
    // What went wrong, without the folder.
    [[nodiscard]] std::string complaint(const std::string& name) const {
        const auto part = fabric_part(folder_ + "/" + name, std::vector<std::string>{"n0"});
        if (part) return "(read)";
        return part.error().message.substr(folder_.size() + 1);
    }

    std::string folder_;
};

TEST_F(Part, IsTheTreeBetweenTheJobsHosts) {
    const std::vector<std::string> hosts{"n9.site.org", "n0", "n0", "n8.site.org", "n1"};
    const auto part = fabric_part(file("f.toml", kFatTree), hosts);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(part.value().missing, "");
    EXPECT_EQ(part.value().text.find("leaf1"), std::string::npos) << part.value().text;
    const auto fabric = parse_fabric_part(part.value().text);
    ASSERT_TRUE(fabric) << fabric.error().message;
    EXPECT_EQ(fabric.value().hosts.size(), 4u);
    EXPECT_EQ(fabric.value().find("n7"), topo::kNoNode);
    std::vector<uint32_t> nodes;
    for (const char* name : {"n9.site.org", "n0", "n8.site.org", "n1"}) {
        nodes.push_back(fabric.value().find(name));
    }
    const auto tree = topo::restrict_tree(fabric.value().tree, nodes);
    const topo::SwitchOrder order(tree);
    EXPECT_EQ(order.leaves(), 2u);
    EXPECT_EQ(std::vector<uint32_t>(order.nodes().begin(), order.nodes().end()),
              (std::vector<uint32_t>{0, 2, 1, 3}));
    // Three cables hold each leaf: one to spine0, two to spine1.
    EXPECT_EQ(tree.nodes[tree.place_of_host[0].node].up.links, 3u);
    EXPECT_EQ(tree.nodes[tree.place_of_host[0].node].up.bits_per_s, 100'000'000'000u);
}

TEST_F(Part, WhatTheFileDoesNotHaveIsOnItsOwn) {
    const std::vector<std::string> hosts{"n0", "far2", "n5", "far1"};
    const auto part = fabric_part(file("f.toml", kFatTree), hosts);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(part.value().missing, "far[1-2]");
    const auto fabric = parse_fabric_part(part.value().text);
    ASSERT_TRUE(fabric) << fabric.error().message;
    EXPECT_EQ(topo::SwitchOrder(fabric.value().tree).leaves(), 4u);
    // Of no use where it has none.
    const auto none = fabric_part(folder_ + "/f.toml", std::vector<std::string>{"far1", "far2"});
    ASSERT_TRUE(none);
    EXPECT_EQ(none.value().text, "");
    EXPECT_EQ(none.value().missing, "far[1-2]");
}

// A ring of switches, and a host on a spine: one node of the tree stands for several switches, of
// which some have hosts.
TEST_F(Part, OfACycleOfSwitches) {
    const char* ring =
        "[[switch]]\nname = \"s0\"\nhosts = \"n[0-3]\"\nswitches = \"s[1,3]\"\n"
        "[[switch]]\nname = \"s1\"\nhosts = \"n[4-7]\"\n"
        "[[switch]]\nname = \"s2\"\nhosts = \"n[8-11]\"\nswitches = \"s[1,3]\"\n"
        "[[switch]]\nname = \"s3\"\nhosts = \"n[12-15]\"\n";
    const std::string on_spine =
        std::string(kFatTree) + "[[link]]\nfrom = \"spine0\"\nto = \"login\"\n";
    const std::vector<std::string> hosts{"n0", "n4", "n8", "n1", "n5", "n9"};
    for (const std::string& text : {std::string(ring), on_spine + "[[host]]\nname = \"login\"\n"}) {
        std::vector<std::string> all = hosts;
        if (text != ring) all.emplace_back("login");
        const auto part = fabric_part(file("f.toml", text), all);
        ASSERT_TRUE(part) << part.error().message;
        const auto fabric = parse_fabric_part(part.value().text);
        ASSERT_TRUE(fabric) << fabric.error().message;
        std::vector<uint32_t> nodes;
        for (const std::string& host : all) nodes.push_back(fabric.value().find(host));
        const topo::SwitchOrder order(topo::restrict_tree(fabric.value().tree, nodes));
        EXPECT_EQ(order.leaves(), text == ring ? 3u : 4u);
        EXPECT_EQ(std::vector<uint32_t>(order.nodes().begin(), order.nodes().begin() + 6),
                  (std::vector<uint32_t>{0, 3, 1, 4, 2, 5}));
    }
}

TEST_F(Part, KeepsWhatIsInOneChassis) {
    std::string text = kFatTree;
    for (const char* leaf : {"\"leaf0\"\n", "\"leaf2\"\n"}) {
        text.insert(text.find(leaf) + std::string(leaf).size(), "chassis = \"c 1\"\n");
    }
    const std::vector<std::string> hosts{"n0", "n4", "n8", "n1", "n5", "n9"};
    const auto part = fabric_part(file("f.toml", text), hosts);
    ASSERT_TRUE(part) << part.error().message;
    const auto fabric = parse_fabric_part(part.value().text);
    ASSERT_TRUE(fabric) << fabric.error().message;
    std::vector<uint32_t> nodes;
    for (const std::string& host : hosts) nodes.push_back(fabric.value().find(host));
    const topo::SwitchOrder order(topo::restrict_tree(fabric.value().tree, nodes));
    EXPECT_EQ(std::vector<uint32_t>(order.nodes().begin(), order.nodes().end()),
              (std::vector<uint32_t>{0, 3, 2, 5, 1, 4}));
}

TEST_F(Part, WrongFilesAreOneLine) {
    EXPECT_EQ(complaint("nowhere.toml"), "nowhere.toml: cannot be read");
    EXPECT_EQ(complaint(""), ": cannot be read");
    write("cut.toml", std::string(kFatTree).substr(0, 90));
    EXPECT_EQ(complaint("cut.toml").substr(0, 10), "cut.toml:8");
    write("slurm.yaml", "- topology: a\n");
    EXPECT_EQ(complaint("slurm.yaml"),
              "slurm.yaml:1: runs read no YAML; tutti fabric FILE --toml prints what they do read");
    ASSERT_EQ(system(("mkfifo " + folder_ + "/pipe").c_str()), 0);
    EXPECT_NE(complaint("pipe"), "(read)");  // and does not wait for a writer
}

}  // namespace
}  // namespace tutti::site
