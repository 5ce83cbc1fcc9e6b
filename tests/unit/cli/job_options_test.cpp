// SPDX-License-Identifier: BSD-3-Clause
#include "cli/job_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/topo/read/hostlist.h"
#include "base/topo/read/read.h"
#include "cli/fabric_file.h"
#include "cli/fabric_options.h"

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

CommandLine command_line_of(const std::vector<std::string>& words) {
    auto parsed = CommandLine::parse("test", words, kOptions);
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed.value();
}

Result<JobHosts> job_of(const std::vector<std::string>& words, uint32_t ranks,
                        bool is_described = true) {
    std::optional<DescribedCluster> cluster;
    if (is_described) cluster = described();
    return read_job_hosts(command_line_of(words), ranks, std::move(cluster));
}

std::string error_of(const std::vector<std::string>& words, uint32_t ranks,
                     bool is_described = true) {
    const auto job = job_of(words, ranks, is_described);
    return job ? "" : job.error().message;
}

TEST(JobOptions, WithoutAFileHostsAreNumbers) {
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

TEST(JobOptions, WithAFileHostsAreItsFirstOrThoseThatAreNamed) {
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

TEST(JobOptions, HostsAreNumberedByTheirLowestRanks) {
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
TEST(JobOptions, AtRandomEveryHostStaysWhereItIs) {
    const topo::Topology topology = *described().topology;
    for (int seed = 0; seed < 50; ++seed) {
        const auto job = job_of({"--placement", "random:" + std::to_string(seed)}, 16);
        ASSERT_TRUE(job) << job.error().message;
        ASSERT_EQ(job.value().hosts, 7u);
        const auto tree = job.value().tree();
        const auto named = read_fabric(command_line_of({}), job.value());
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
        const auto leaves = read_fabric(command_line_of({"--leaves", "4,3"}), plain.value());
        ASSERT_TRUE(leaves) << leaves.error().message;
        for (uint32_t host = 0; host < 7; ++host) {
            EXPECT_EQ(leaves.value().fabric.switch_of_host[host],
                      plain.value().order[host] < 4 ? 0u : 1u);
        }
    }
}

TEST(JobOptions, SayWhatIsWrong) {
    EXPECT_EQ(error_of({"--hosts", "8"}, 20), "--hosts=8: expected a number from 1 to 7");
    EXPECT_EQ(error_of({"--hosts", "n1,n1"}, 4), "--hosts: n1 is named twice");
    EXPECT_EQ(error_of({"--hosts", "n1,n1.site"}, 4), "--hosts: n1 and n1.site are one host");
    EXPECT_EQ(error_of({"--hosts", "-1"}, 4), "--hosts=-1: expected hosts, such as n[0-7]");
    const std::string expected =
        ": expected block, round-robin, random:SEED or the host of each "
        "rank";
    for (const char* word : {"far", "random:x", "n[0-1"}) {
        EXPECT_EQ(error_of({"--placement", word}, 4), "--placement=" + (word + expected));
    }
    EXPECT_EQ(error_of({"--placement", "n0,n1,n2"}, 4),
              "--placement: hosts of 3 ranks, where there are 4");
    EXPECT_EQ(error_of({"--placement", "n[0-4]"}, 1),
              "--placement: hosts of 5 ranks, where there are 1");
    EXPECT_EQ(error_of({"--placement", "n0"}, 4),
              "--placement: hosts of 1 rank, where there are 4");
    EXPECT_EQ(error_of({"--placement", "n0,n1,3,n2"}, 4),
              "--placement: 3 is a number and others are names; see --hosts");
    EXPECT_EQ(error_of({"--placement", "0,1,2,7"}, 4), "--placement: 7 is none of the 7 hosts");
    EXPECT_EQ(error_of({"--hosts", "n[0-1]", "--placement", "n0,n1,n2,n0"}, 4),
              "--placement: n2 is none of the 2 hosts");
}

// However many ranks there are, one among them.
TEST(JobOptions, AWordAloneIsAHostOnlyWhereSomebodySaysSo) {
    const auto hint = [](const std::string& word, const std::string& close) {
        return "--placement=" + word +
               ": expected block, round-robin, random:SEED or the host of each rank; did you "
               "mean " +
               close + "?";
    };
    for (const uint32_t ranks : {1u, 4u}) {
        for (const bool is_described : {false, true}) {
            const auto error = [&](const std::string& word) {
                return error_of({"--placement", word}, ranks, is_described);
            };
            EXPECT_EQ(error("blok"), hint("blok", "block"));
            EXPECT_EQ(error("round_robin"), hint("round_robin", "round-robin"));
            EXPECT_EQ(error("randm:3"), hint("randm:3", "random:SEED"));
            EXPECT_EQ(error("random"), hint("random", "random:SEED"));
        }
    }
    EXPECT_EQ(job_of({"--placement", "n5"}, 1).value().names, std::vector<std::string>{"n5"});
    EXPECT_EQ(job_of({"--placement", "n5.site"}, 1).value().found, std::vector<uint32_t>{5});
    EXPECT_EQ(job_of({"--placement", "6"}, 1).value().names, std::vector<std::string>{"n6"});
    EXPECT_EQ(job_of({"--placement", "blok", "--hosts", "a,blok"}, 1, false).value().names,
              std::vector<std::string>{"blok"});
}

TEST(JobOptions, MoreHostsThanRanksAreLeftOut) {
    using Names = std::vector<std::string>;
    for (const bool is_described : {false, true}) {
        for (const char* way : {"block", "round-robin", "random:3"}) {
            testing::internal::CaptureStderr();
            const auto job = job_of({"--hosts", "n[4,0-2]", "--placement", way}, 3, is_described);
            EXPECT_EQ(testing::internal::GetCapturedStderr(),
                      "tutti: --hosts: left out, without a rank: n2\n");
            ASSERT_TRUE(job) << job.error().message;
            EXPECT_EQ(job.value().hosts, 3u);
            EXPECT_EQ(job.value().placement().nodes(), 3u);
            Names names = job.value().names;
            std::sort(names.begin(), names.end());
            EXPECT_EQ(names, (Names{"n0", "n1", "n4"})) << way;
        }
        testing::internal::CaptureStderr();
        const auto job = job_of({"--hosts", "n[0-4]", "--placement", "n4,n1,n4"}, 3, is_described);
        EXPECT_EQ(testing::internal::GetCapturedStderr(),
                  "tutti: --hosts: left out, without a rank: n[0,2-3]\n");
        EXPECT_EQ(job.value().names, (Names{"n4", "n1"}));
    }
    // Leaves are those of all that were named.
    testing::internal::CaptureStderr();
    const auto job = job_of({"--hosts", "a,b,c"}, 2, false);
    testing::internal::GetCapturedStderr();
    const auto leaves = read_fabric(command_line_of({"--leaves", "1,2"}), job.value());
    ASSERT_TRUE(leaves) << leaves.error().message;
    EXPECT_EQ(leaves.value().fabric.switch_of_host[1], 1u);
}

TEST(JobOptions, ANumberIsANumber) {
    constexpr const char* kNumbered = "[[switch]]\nname = \"s\"\nhosts = \"[1-3],x\"\n";
    const auto topology = topo::read_own(kNumbered, "g.toml");
    ASSERT_TRUE(topology) << topology.error().message;
    const auto tree = topo::make_switch_tree(topology.value());
    const DescribedCluster cluster{std::make_shared<const topo::Topology>(topology.value()),
                                   tree.value()};
    const auto names = [&](const std::vector<std::string>& words) {
        const auto job = read_job_hosts(command_line_of(words), 4, cluster);
        return job ? topo::fold_hostlist(job.value().names) : job.error().message;
    };
    EXPECT_EQ(names({"--hosts", "4"}), "[1-3],x");
    const std::string both = ": so many hosts, or the one of this name? ";
    EXPECT_EQ(names({"--hosts", "2"}), "--hosts=2" + both + "[2] is the one");
    EXPECT_EQ(names({"--hosts", "[2]"}), "2");
    EXPECT_EQ(names({"--hosts", "1,3"}), "[1,3]");
    EXPECT_EQ(names({"--placement", "0,0,0,0"}), "1");
    EXPECT_EQ(names({"--placement", "0,1,0,0"}),
              "--placement: 1 is the name of one host and the number of another");
    EXPECT_EQ(names({"--hosts", "[2-3],x", "--placement", "0,1,x,0"}), "[2-3],x");

    const auto view =
        view_of_hosts(topology.value(), tree.value(), command_line_of({"--hosts", "4"}));
    ASSERT_TRUE(view) << view.error().message;
    EXPECT_EQ(view.value().names.size(), 4u);
    const auto error = [&](const std::string& hosts) {
        const auto made =
            view_of_hosts(topology.value(), tree.value(), command_line_of({"--hosts", hosts}));
        return made ? "" : made.error().message;
    };
    EXPECT_EQ(error("3"), "--hosts=3" + both + "[3] is the one");
    EXPECT_EQ(error("0"), "--hosts=0: expected a number from 1 to 4");
    EXPECT_EQ(error("-1"), "--hosts=-1: expected hosts, such as n[0-7]");
}

}  // namespace
}  // namespace tutti::cli
