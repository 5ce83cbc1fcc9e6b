// SPDX-License-Identifier: BSD-3-Clause
// What allreduce.c.in becomes; that it is right is tests/system/test_generate.py's business.
#include "lab/generate/allreduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace tutti::generate {
namespace {

// Hosts of one switch, a rank each.
struct Row {
    topo::SwitchTree tree;
    Labels labels;
    std::vector<Stop> ring;
};

Row row_of(uint32_t hosts) {
    Row row;
    row.tree.nodes.resize(1);
    row.tree.place_of_host.resize(hosts);
    row.labels = {"row", "row.c", {"tutti", "generate"}, {"Cluster: row"}, {}, {"switch"}};
    std::vector<uint64_t> host_of_rank;
    for (uint32_t host = 0; host < hosts; ++host) {
        row.labels.hosts.push_back("h" + std::to_string(host));
        host_of_rank.push_back(host);
    }
    row.ring = make_ring(row.tree, host_of_rank);
    return row;
}

std::string text_of(const Row& row) { return allreduce_source(row.tree, row.ring, row.labels); }

size_t count_of(const std::string& text, const std::string& what) {
    size_t count = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        ++count;
    return count;
}

TEST(AllreduceSource, HasTheRingAsATableAndNoMarkIsLeft) {
    const std::string text = text_of(row_of(3));
    EXPECT_NE(text.find("enum { RANKS = 3,"), std::string::npos);
    EXPECT_NE(text.find("static const int ring[RANKS] = {\n    0, 1, 2\n};\n"), std::string::npos);
    EXPECT_NE(
        text.find("\n *   switch\n *     -> h0 (0) -> h1 (1) -> h2 (2) -> back to the first\n"),
        std::string::npos);
    EXPECT_NE(text.find("\nint tutti_allreduce_row(const void *sendbuf,"), std::string::npos);
    EXPECT_EQ(text.find('@'), std::string::npos);
}

TEST(AllreduceSource, RanksThatFollowEachOtherAreOneWord) {
    Row row = row_of(2);
    row.ring = make_ring(row.tree, std::vector<uint64_t>{0, 0, 0, 1, 0});
    EXPECT_NE(text_of(row).find("-> h0 (0-2,4) -> h1 (3) ->"), std::string::npos) << text_of(row);
}

size_t longest_line(const std::string& text) {
    std::istringstream lines(text);
    size_t longest = 0;
    for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
    return longest;
}

// The first lines, up to the end of the comment, behind one another without their beginnings.
std::string flat_comment(const std::string& text) {
    std::istringstream lines(text.substr(0, text.find("*/")));
    std::string flat;
    for (std::string line; std::getline(lines, line);) {
        flat += (flat.empty() || flat.back() == ' ' ? "" : " ") +
                line.substr(std::min(3ul, line.size()));
    }
    return flat;
}

TEST(AllreduceSource, LongRingsAreManyLines) {
    EXPECT_LE(longest_line(text_of(row_of(1000))), 105u);
}

// Nothing is left out of them either.
TEST(AllreduceSource, LongLabelsAreManyLines) {
    Row row = row_of(2);
    std::string list = "n1";
    for (int i = 3; i < 500; i += 2) list += ",n" + std::to_string(i);
    row.labels.command = {"tutti", "generate", "--hosts", list, "-o", std::string(300, 'o')};
    row.labels.origin = {"Cluster: " + std::string(300, 'c'), "Hosts:   " + list};
    row.labels.file = std::string(250, 'f');
    row.labels.hosts[1] = std::string(300, 'h');
    row.labels.nodes[0] = std::string(300, 's');
    row.ring[0].ranks.clear();
    for (uint32_t rank = 0; rank < 500; rank += 2) row.ring[0].ranks.push_back(rank);
    const std::string text = text_of(row);
    EXPECT_LE(longest_line(text), 105u);
    const std::string comment = text.substr(0, text.find("*/"));
    for (const char letter : {'c', 'f', 'h', 'o', 's'}) {
        EXPECT_NE(comment.find(std::string(60, letter)), std::string::npos) << letter;
    }
    for (const char* last : {",n499 -o \\\n", ",n499\n", ",498)"}) {
        EXPECT_NE(comment.find(last), std::string::npos) << last;
    }
}

// Its command, its file and the hosts' names are somebody else's text.
TEST(AllreduceSource, NamesDoNotEndTheComment) {
    Row row = row_of(2);
    const std::string plain = text_of(row);
    row.labels.command = {
        "*/ int main(void)\n{ /* ?"
        "?/ @name@ */"};
    row.labels.file = "*/*.c";
    row.labels.hosts[1] = "/*/";
    row.labels.nodes[0] = "*/";
    row.labels.origin = {"//**//", "*"};
    const std::string text = text_of(row);
    EXPECT_EQ(count_of(text, "*/"), count_of(plain, "*/"));
    EXPECT_EQ(count_of(text, "/*"), count_of(plain, "/*"));
    EXPECT_EQ(count_of(text, "??"), 0u);
    EXPECT_EQ(count_of(text, "\n"), count_of(plain, "\n") + 1);
}

// Two leaves below the two switches of a spine, three hosts: 0 and 1 on the first leaf.
Row pod_row() {
    Row row = row_of(3);
    row.tree.nodes = {{topo::kNoNode, {}, {2, 3}}, {0, {}, {0}}, {0, {}, {1}}};
    row.tree.place_of_host = {{1, {}}, {1, {}}, {2, {}}};
    row.labels.nodes = {"spine[0-1]", "leaf0", "leaf1"};
    return row;
}

TEST(AllreduceSource, SwitchesTakenForOneAreTold) {
    Row row = pod_row();
    row.ring = make_ring(row.tree, std::vector<uint64_t>{0, 1, 2});
    EXPECT_NE(flat_comment(text_of(row))
                  .find("no two messages of a step share a link, on the tree that `tutti fabric` "
                        "prints; these switches are taken for one: spine[0-1]. Among those, "),
              std::string::npos)
        << text_of(row);
    row.tree.nodes[0].switches = {2};
    EXPECT_NE(text_of(row).find("\n * share a link of the tree of switches.\n"), std::string::npos);
    EXPECT_EQ(text_of(row).find("taken for one"), std::string::npos);
}

TEST(AllreduceSource, SwitchesThatItDoesNotPassAreNotTold) {
    Row row = pod_row();
    row.ring = make_ring(row.tree, std::vector<uint64_t>{0, 1});
    EXPECT_EQ(text_of(row).find("taken for one"), std::string::npos);
    row.ring = make_ring(row.tree, std::vector<uint64_t>{2});
    EXPECT_EQ(text_of(row).find("taken for one"), std::string::npos);
}

TEST(AllreduceSource, TheTagThatItTellsIsItsTag) {
    const std::string text = text_of(row_of(2));
    const size_t at = text.find("TAG = ");
    ASSERT_NE(at, std::string::npos);
    const std::string tag = text.substr(at + 6, text.find(' ', at + 6) - at - 6);
    EXPECT_NE(text.find("with tag " + tag + "."), std::string::npos) << tag;
}

TEST(AllreduceSource, IdentifiersHaveLettersDigitsAndUnderscores) {
    EXPECT_EQ(identifier_of("two-leaves.v2"), "two_leaves_v2");
    EXPECT_EQ(identifier_of("B\xc3\xa4r"), "B__r");
    EXPECT_EQ(identifier_of(""), "");
}

}  // namespace
}  // namespace tutti::generate
