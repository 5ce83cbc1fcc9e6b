// SPDX-License-Identifier: BSD-3-Clause
// What allreduce.c.in becomes; that it is right is tests/system/test_generate.py's business.
#include "generate/allreduce.h"

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
    row.labels = {"row", "row.c", "tutti generate", {"Cluster: row"}, {}, {"switch"}};
    std::vector<uint32_t> host_of_rank;
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
    row.ring = make_ring(row.tree, std::vector<uint32_t>{0, 0, 0, 1, 0});
    EXPECT_NE(text_of(row).find("-> h0 (0-2,4) -> h1 (3) ->"), std::string::npos) << text_of(row);
}

TEST(AllreduceSource, LongRingsAreManyLines) {
    std::istringstream lines(text_of(row_of(1000)));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 105u) << line;
}

// Its command, its file and the hosts' names are somebody else's text.
TEST(AllreduceSource, NamesDoNotEndTheComment) {
    Row row = row_of(2);
    const std::string plain = text_of(row);
    row.labels.command =
        "*/ int main(void)\n{ /* ?"
        "?/ @name@ */";
    row.labels.hosts[1] = "/*/";
    row.labels.origin = {"//**//", "*"};
    const std::string text = text_of(row);
    EXPECT_EQ(count_of(text, "*/"), count_of(plain, "*/"));
    EXPECT_EQ(count_of(text, "/*"), count_of(plain, "/*"));
    EXPECT_EQ(count_of(text, "??"), 0u);
    EXPECT_EQ(count_of(text, "\n"), count_of(plain, "\n") + 1);
}

TEST(AllreduceSource, IdentifiersHaveLettersDigitsAndUnderscores) {
    EXPECT_EQ(identifier_of("two-leaves.v2"), "two_leaves_v2");
    EXPECT_EQ(identifier_of("B\xc3\xa4r"), "B__r");
    EXPECT_EQ(identifier_of(""), "");
}

}  // namespace
}  // namespace tutti::generate
