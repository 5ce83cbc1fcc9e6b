// SPDX-License-Identifier: BSD-3-Clause
#include "cli/job_words.h"

#include <gtest/gtest.h>

#include <array>

#include "cli/fabric.h"
#include "topo/read/read.h"

namespace tutti::cli {
namespace {

constexpr auto kOptions = std::to_array<OptionDoc>({{"--hosts", "N|LIST", ""},
                                                    {"--placement", "WORD", ""},
                                                    {"--leaves", "N,N...", ""},
                                                    kFabricFileOption});

constexpr const char* kFile = R"(rate = "10Gbit"
[[switch]]
name = "leaf0"
hosts = "n[0-3]"
[[switch]]
name = "leaf1"
hosts = "n[4-6]"
[[switch]]
name = "spine"
switches = "leaf[0-1]"
links = 2
)";

DescribedCluster described() {
    auto topology = topo::read_own(kFile, "f.toml");
    EXPECT_TRUE(topology) << topology.error().message;
    auto tree = topo::make_switch_tree(topology.value());
    EXPECT_TRUE(tree) << tree.error().message;
    return {std::make_shared<const topo::Topology>(topology.value()), tree.value()};
}

Words words_of(const std::vector<std::string>& words) {
    auto parsed = Words::parse("test", words, kOptions);
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed.value();
}

Result<JobHosts> job_of(const std::vector<std::string>& words, uint32_t ranks,
                        bool is_described = true) {
    std::optional<DescribedCluster> cluster;
    if (is_described) cluster = described();
    return read_job_hosts(words_of(words), ranks, std::move(cluster));
}

std::string error_of(const std::vector<std::string>& words, uint32_t ranks,
                     bool is_described = true) {
    const auto job = job_of(words, ranks, is_described);
    return job ? "" : job.error().message;
}

TEST(JobWords, WithoutAFileHostsAreNumbers) {
    const auto job = job_of({"--hosts", "3"}, 7, false);
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job.value().hosts, 3u);
    EXPECT_EQ(job.value().placement().members(0).size(), 3u);
    EXPECT_FALSE(job.value().tree());
    EXPECT_EQ(job_of({}, 7, false).value().hosts, 7u);
    EXPECT_EQ(error_of({"--hosts", "8"}, 7, false), "--hosts=8: expected a number from 1 to 7");
    EXPECT_EQ(job_of({"--hosts", "a,b"}, 7, false).value().names,
              (std::vector<std::string>{"a", "b"}));
}

TEST(JobWords, WithAFileHostsAreItsFirstOrThoseThatAreNamed) {
    using Names = std::vector<std::string>;
    EXPECT_EQ(job_of({}, 20).value().hosts, 7u);
    EXPECT_EQ(job_of({}, 2).value().names, (Names{"n0", "n1"}));
    EXPECT_EQ(job_of({"--hosts", "3"}, 4).value().names, (Names{"n0", "n1", "n2"}));
    const auto job = job_of({"--hosts", "n5,other,n1"}, 4);
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job.value().names, (Names{"n5", "other", "n1"}));
    EXPECT_EQ(job.value().found, (std::vector<uint32_t>{5, topo::kNoNode, 1}));
    const auto tree = job.value().tree();
    ASSERT_TRUE(tree);
    ASSERT_EQ(tree->place_of_host.size(), 3u);
    EXPECT_NE(tree->place_of_host[0].node, tree->place_of_host[2].node);
}

TEST(JobWords, HostsAreNumberedByTheirLowestRanks) {
    const auto job = job_of({"--placement", "n4,n0,n4,n5"}, 4);
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job.value().names, (std::vector<std::string>{"n4", "n0", "n5"}));
    EXPECT_EQ(job.value().placement().node_of(3), 2u);
    const auto tree = job.value().tree();
    EXPECT_EQ(tree->place_of_host[0].node, tree->place_of_host[2].node);
    // By number, and hosts without ranks are none of the call's.
    const auto numbers = job_of({"--placement", "4,0,4,5"}, 4);
    ASSERT_TRUE(numbers) << numbers.error().message;
    EXPECT_EQ(numbers.value().names, job.value().names);
    EXPECT_EQ(numbers.value().hosts, 3u);
}

// Whatever the seed, node i of the placement is where the tree and the fabric have host i.
TEST(JobWords, AtRandomEveryHostStaysWhereItIs) {
    const topo::Topology topology = *described().topology;
    for (int seed = 0; seed < 50; ++seed) {
        const auto job = job_of({"--placement", "random:" + std::to_string(seed)}, 16);
        ASSERT_TRUE(job) << job.error().message;
        ASSERT_EQ(job.value().hosts, 7u);
        const auto tree = job.value().tree();
        const auto named = read_fabric(words_of({}), job.value());
        ASSERT_TRUE(named) << named.error().message;
        for (uint32_t host = 0; host < 7; ++host) {
            const std::string& name = job.value().names[host];
            const std::string leaf = name < "n4" ? "leaf0" : "leaf1";
            const uint32_t node = tree->place_of_host[host].node;
            EXPECT_EQ(topology.switches[tree->nodes[node].switches.front()].name, leaf);
            EXPECT_EQ(named.value().fabric.switch_of_host[host], node);
            EXPECT_EQ(named.value().switch_names[node], leaf);
            EXPECT_EQ(named.value().host_names[host], name);
        }
        // And on leaves that options tell of.
        const auto plain = job_of({"--placement", "random:" + std::to_string(seed)}, 7, false);
        const auto leaves = read_fabric(words_of({"--leaves", "4,3"}), plain.value());
        ASSERT_TRUE(leaves) << leaves.error().message;
        for (uint32_t host = 0; host < 7; ++host) {
            EXPECT_EQ(leaves.value().fabric.switch_of_host[host],
                      plain.value().order[host] < 4 ? 0u : 1u);
        }
    }
}

TEST(JobWords, SayWhatIsWrong) {
    EXPECT_EQ(error_of({"--hosts", "n[0-6]"}, 4), "--hosts=n[0-6]: 7 hosts for 4 ranks");
    EXPECT_EQ(error_of({"--hosts", "8"}, 20), "--hosts=8: expected a number from 1 to 7");
    EXPECT_EQ(error_of({"--hosts", "n1,n1"}, 4), "--hosts: n1 is named twice");
    EXPECT_EQ(error_of({"--hosts", "n1,n1.site"}, 4), "--hosts: n1 and n1.site are one host");
    EXPECT_EQ(error_of({"--hosts", "-1"}, 4), "--hosts=-1: expected hosts, such as n[0-7]");
    const std::string expected =
        ": expected block, round-robin, random:SEED or the host of each "
        "rank";
    for (const char* word : {"far", "random", "random:x", "n[0-1", "n0,n1,n2"}) {
        EXPECT_EQ(error_of({"--placement", word}, 4), "--placement=" + (word + expected));
    }
    EXPECT_EQ(error_of({"--placement", "0,1,2,7"}, 4), "--placement: 7 is none of the 7 hosts");
    EXPECT_EQ(error_of({"--hosts", "n[0-1]", "--placement", "n0,n1,n2,n0"}, 4),
              "--placement: n2 is none of the 2 hosts");
}

}  // namespace
}  // namespace tutti::cli
