// SPDX-License-Identifier: BSD-3-Clause
// What tools/lab notes.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/topo/read/read.h"

namespace tutti::topo {
namespace {

std::string page_example() {
    std::ifstream file(TUTTI_FORMATS "/lab_state.md");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const size_t begin = text.find("```json\n") + 8;
    return text.substr(begin, text.find("```", begin) - begin);
}

std::string complaint(const std::string& text) {
    const auto topology = read_lab_state(text, "lab.json");
    return topology ? "(accepted)" : topology.error().message;
}

TEST(LabState, TheExampleOfThePage) {
    for (const std::string& text : {page_example(), "[" + page_example() + "]"}) {
        const auto topology = read_lab_state(text, "lab.json");
        ASSERT_TRUE(topology) << topology.error().message;
        EXPECT_EQ(topology.value().hosts.size(), 3u);
        EXPECT_EQ(topology.value().switches.size(), 3u);
        EXPECT_EQ(topology.value().name_of(5), "root");
        EXPECT_EQ(topology.value().links[0].bits_per_s, 50'000'000u);
        EXPECT_EQ(topology.value().links[2].bits_per_s, 25'000'000u);
    }
}

TEST(LabState, OneLeafHasNothingAboveIt) {
    const auto topology = read_lab_state(
        R"({"leaves":[1],"rate_bits":1,"uplink_bits":1,"hosts":[{"name":"h0","leaf":0}]})", "l");
    ASSERT_TRUE(topology) << topology.error().message;
    EXPECT_EQ(topology.value().switches.size(), 1u);
}

TEST(LabState, WhatIsWrongIsOneLine) {
    EXPECT_EQ(complaint("{\n\"leaves\":\n"), "lab.json:2: this is no JSON");
    EXPECT_EQ(complaint("[]"), "lab.json:1: expected what one lab is");
    EXPECT_EQ(complaint("{}"), "lab.json:1: leaves: expected a list of numbers");
    EXPECT_EQ(complaint(R"({"leaves":[1],"rate_bits":0})"),
              "lab.json:1: rate_bits: expected bits a second, from 1 to 10^15");
    EXPECT_EQ(complaint(R"({"leaves":[1],"rate_bits":1})"),
              "lab.json:1: uplink_bits: expected bits a second, from 1 to 10^15");
    EXPECT_EQ(complaint("{\"a\": tru\n}"), "lab.json:1: this is no JSON");
    EXPECT_EQ(complaint("{\n\"a\" 1\n}\n"), "lab.json:2: this is no JSON");
    EXPECT_EQ(complaint("{\n\n"), "lab.json:2: this is no JSON");
    EXPECT_EQ(complaint("x"), "lab.json:1: this is no JSON");
    EXPECT_EQ(complaint(R"({"leaves":[1],"rate_bits":1000000000000001,"uplink_bits":1})"),
              "lab.json:1: rate_bits: expected bits a second, from 1 to 10^15");
    EXPECT_EQ(complaint(R"({"leaves":[1],"rate_bits":1000000000000000,"uplink_bits":1})"),
              "lab.json:1: hosts: expected a list");
    const std::string head = R"({"leaves":[1],"rate_bits":1,"uplink_bits":1)";
    EXPECT_EQ(complaint(head + "}"), "lab.json:1: hosts: expected a list");
    EXPECT_EQ(complaint(head + R"(,"hosts":[]})"), "lab.json:1: there is no host in this file");
    EXPECT_EQ(complaint(head + R"(,"hosts":[1]})"),
              "lab.json:1: hosts: expected a name and a leaf of each");
    EXPECT_EQ(complaint(head + R"(,"hosts":[{"name":"a","leaf":1}]})"),
              "lab.json:1: host a is on leaf 1 of 1");
    EXPECT_EQ(complaint(head + R"(,"hosts":[{"name":"a","leaf":0},{"name":"a","leaf":0}]})"),
              "lab.json:1: a is there already, a host of line 1");
    EXPECT_EQ(complaint(std::string(1 << 20, '[')), "lab.json:1: this is no JSON");
    EXPECT_EQ(complaint(std::string(10 << 20, '\xfe')), "lab.json:1: this is no JSON");
}

}  // namespace
}  // namespace tutti::topo
