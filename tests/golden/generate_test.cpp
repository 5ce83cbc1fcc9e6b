// SPDX-License-Identifier: BSD-3-Clause
// `tutti generate`. What it makes runs in tests/system/test_generate.py; after a change of
// src/lab/generate/allreduce.c.in the file below tests/golden/generated is made anew by the command
// in its head.
#include "golden/transcript.h"

namespace tutti::golden {
namespace {

class Generate : public Transcript {
  protected:
    void SetUp() override {
        Transcript::SetUp();
        std::ofstream(here() / "two_leaves.toml")
            << text_of(std::filesystem::path(TUTTI_GENERATED) / "two_leaves.toml");
    }
    [[nodiscard]] Answer complaint(const std::string& arguments) const {
        const Answer answer = tutti("generate " + arguments);
        EXPECT_EQ(answer.status, 2) << arguments;
        EXPECT_EQ(answer.out, "") << arguments;
        EXPECT_EQ(lines(answer.err), 1u) << answer.err;
        return answer;
    }
};

// Expectation: n0, n2 and n4 hang on leaf0, so the ring visits them before n1 and n3; ranks k, k +
// 5 are host k's.
TEST_F(Generate, AFileOfTwoLeaves) {
    const std::string words =
        "generate allreduce --fabric two_leaves.toml --ranks-per-host 2 --placement round-robin";
    const std::string expected =
        text_of(std::filesystem::path(TUTTI_GENERATED) / "two_leaves.c.txt");
    const Answer printed = tutti(words);
    EXPECT_EQ(printed.status, 0);
    EXPECT_EQ(printed.err, "");
    EXPECT_EQ(printed.out, expected);
    EXPECT_NE(expected.find("{\n    0, 5, 2, 7, 4, 9, 1, 6, 3, 8\n}"), std::string::npos);
}

TEST_F(Generate, AFileIsWrittenWholeAndNamedInItself) {
    const Answer answer = tutti("generate allreduce --fabric two_leaves.toml -o my_ring.c");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.out + answer.err, "");
    const std::string text = text_of(here() / "my_ring.c");
    EXPECT_NE(text.find("mpicc -DSELFTEST my_ring.c && mpirun -n 5 ./a.out"), std::string::npos);
    EXPECT_NE(text.find("int tutti_allreduce_two_leaves("), std::string::npos);
    EXPECT_TRUE(text.ends_with("#endif\n"));
}

// Words that a shell would read, and more of them than a line holds.
TEST_F(Generate, TheCommandInItsHeadMakesItAgain) {
    std::string hosts = "n[0-4]";
    for (int i = 0; i < 100; ++i) hosts += ",x" + std::to_string(i);
    const Answer answer =
        tutti("generate allreduce --fabric two_leaves.toml --hosts '" + hosts + "' -o 'a $ring.c'");
    EXPECT_EQ(answer.status, 0) << answer.err;
    const std::string first = text_of(here() / "a $ring.c");
    EXPECT_NE(first.find("mpicc -DSELFTEST 'a $ring.c' && mpirun -n 105 ./a.out"),
              std::string::npos);
    EXPECT_NE(first.find(",x99 "), std::string::npos);
    EXPECT_NE(first.find("\n * Hosts:   n[0-4],x[0-99]\n"), std::string::npos);
    const Answer again = shell(
        "mv a*.c first.c; sed -n '/^ . Made by: /,$ { s/^ . //; s/^Made by: tutti/\"$T\"/; p; "
        "/\\\\$/! q }' first.c >again.sh; T=\"$T\" sh again.sh");
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(text_of(here() / "a $ring.c"), first);
}

// Expectation: s3 and s4 both lead to s1 and s2, so they are one node, which only hosts on both
// leaves pass.
TEST_F(Generate, SwitchesTakenForOneAreTold) {
    std::ofstream(here() / "topology.conf")
        << "SwitchName=s1 Nodes=n[0-1]\nSwitchName=s2 Nodes=n[2-3]\n"
           "SwitchName=s3 Switches=s[1-2]\nSwitchName=s4 Switches=s[1-2]\n";
    const std::string told =
        " * share a link, on the tree that `tutti fabric` prints; these switches are taken for "
        "one: "
        "s[3-4].\n";
    const std::string all = tutti("generate allreduce topology.conf").out;
    EXPECT_NE(all.find(told), std::string::npos) << all.substr(0, 600);
    const std::string one_leaf = tutti("generate allreduce topology.conf --hosts n[0-1]").out;
    EXPECT_EQ(one_leaf.find("taken for one"), std::string::npos);
    EXPECT_NE(one_leaf.find(" * share a link of the tree of switches.\n"), std::string::npos);
}

TEST_F(Generate, TheDescriptionIsFoundAsTuttiFabricFindsIt) {
    const std::string named = tutti("generate allreduce two_leaves.toml --name x").out;
    const std::string found =
        tutti("generate allreduce --name x", "TUTTI_FABRIC=two_leaves.toml").out;
    EXPECT_EQ(found.substr(found.find("Cluster:")), named.substr(named.find("Cluster:")));
}

TEST_F(Generate, SomeHostsInTheirOrder) {
    const Answer answer = tutti("generate allreduce two_leaves.toml --hosts n3,n0,x,n1,n2");
    EXPECT_EQ(answer.err, "tutti: two_leaves.toml: a host is not there; on a leaf of its own: x\n");
    // Both switches and what hangs on them come by their first hosts: leaf1 with n3 and n1.
    EXPECT_NE(answer.out.find("{\n    0, 3, 1, 4, 2\n}"), std::string::npos) << answer.out;
}

// n0, n2 and n4 hang on leaf0, n1 and n3 on leaf1; hosts come in the order of their lowest ranks.
TEST_F(Generate, AnyPlacement) {
    const std::string call = "generate allreduce two_leaves.toml --placement ";
    const Answer listed = tutti(call + "n3,n0,n0,n4,n3,n1");
    EXPECT_EQ(listed.err, "");
    EXPECT_NE(listed.out.find("{\n    0, 4, 5, 1, 2, 3\n}"), std::string::npos) << listed.out;
    EXPECT_NE(listed.out.find(" * Ranks:   N = 6 on 4 hosts, as listed\n"), std::string::npos);
    EXPECT_NE(listed.out.find("-> n3 (0,4) -> n1 (5)\n"), std::string::npos);
    const Answer numbers = tutti(call + "3,0,0,4,3,1");
    EXPECT_EQ(numbers.out.substr(numbers.out.find("int tutti")),
              listed.out.substr(listed.out.find("int tutti")));
    // The one that has no rank is left out, and a line says so.
    const Answer some = tutti(call + "n1,n0 --hosts n0,n1,n2");
    EXPECT_EQ(some.err, "tutti: --hosts: left out, without a rank: n2\n");
    EXPECT_NE(some.out.find("{\n    0, 1\n}"), std::string::npos);
    const Answer drawn = tutti(call + "random:7 --ranks-per-host 3");
    EXPECT_EQ(drawn.err, "");
    EXPECT_NE(drawn.out.find(" * Ranks:   3 on each of 5 hosts in this order, random:7; N = 15\n"),
              std::string::npos)
        << drawn.out;
    EXPECT_EQ(drawn.out, tutti(call + "random:7 --ranks-per-host 3").out);
    EXPECT_NE(drawn.out.substr(drawn.out.find("int tutti")),
              tutti(call + "random:8 --ranks-per-host 3").out.substr(drawn.out.find("int tutti")));
}

TEST_F(Generate, WhatIsWrongIsOneLine) {
    EXPECT_EQ(complaint("").err, "tutti: generate: which collective? There is allreduce\n");
    EXPECT_EQ(complaint("bcast").err,
              "tutti: generate: unknown collective bcast; there is allreduce\n");
    EXPECT_EQ(complaint("allreduce two_leaves.toml more").err,
              "tutti: generate: unexpected word more\n");
    EXPECT_EQ(complaint("allreduce nowhere.toml").err, "tutti: nowhere.toml: cannot be read\n");
    EXPECT_EQ(complaint("allreduce two_leaves.toml --hosts n0,n0").err,
              "tutti: --hosts: n0 is named twice\n");
    EXPECT_EQ(complaint("allreduce two_leaves.toml --hosts 99").err.substr(0, 45),
              "tutti: --hosts=99: expected a number from 1 t");
    EXPECT_EQ(complaint("allreduce two_leaves.toml --ranks-per-host 0").err,
              "tutti: --ranks-per-host=0: expected a number from 1 to 4096\n");
    EXPECT_EQ(complaint("allreduce two_leaves.toml --placement random").err,
              "tutti: --placement=random: expected block, round-robin, random:SEED or the host of "
              "each rank; did you mean random:SEED?\n");
    EXPECT_EQ(complaint("allreduce two_leaves.toml --placement n0,n[1-").err,
              "tutti: --placement=n0,n[1-: expected block, round-robin, random:SEED or the host of "
              "each rank\n");
    EXPECT_EQ(complaint("allreduce two_leaves.toml --placement n0,n1 --ranks-per-host 2").err,
              "tutti: --ranks-per-host: --placement tells the host of each rank\n");
    EXPECT_EQ(complaint("allreduce two_leaves.toml --ranks-per-host 4096 --hosts h[1-1000]").err,
              "tutti: generate: 4096 ranks on each of 1000 hosts are more than 1048576\n");
    EXPECT_EQ(complaint("allreduce two_leaves.toml --name a-b").err,
              "tutti: --name=a-b: expected letters, digits and _, at most 64\n");
    for (const char* empty : {"--name ''", "--name=", "--name"}) {
        EXPECT_EQ(complaint(std::string("allreduce two_leaves.toml ") + empty).err,
                  "tutti: generate: --name expected NAME\n");
    }
    EXPECT_EQ(complaint("allreduce two_leaves.toml --rank-per-host 2").err,
              "tutti: unknown option --rank-per-host; did you mean --ranks-per-host?\n");
    EXPECT_EQ(complaint("allreduce two_leaves.toml -o nowhere/x.c").err.substr(0, 24),
              "tutti: -o: nowhere/x.c: ");
    EXPECT_FALSE(std::filesystem::exists(here() / "nowhere"));
}

}  // namespace
}  // namespace tutti::golden
