// SPDX-License-Identifier: BSD-3-Clause
// explain, check and simulate: what is expected stands here as the formula that it follows from.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "golden/transcript.h"
#include "sanitized.h"

namespace tutti::golden {
namespace {

std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    for (const auto word : split(line, ' ')) {
        if (!word.empty()) words.emplace_back(word);
    }
    return words;
}

// The words of the line of the table whose algorithm this is; a star is left out.
std::vector<std::string> row(const std::string& out, const std::string& algorithm) {
    for (const auto line : split(out, '\n')) {
        auto words = words_of(std::string(line));
        if (!words.empty() && words[0] == "*") words.erase(words.begin());
        if (!words.empty() && words[0] == algorithm) return words;
    }
    return {};
}

// Without what is said behind the eight of a node's row: sizes are two words each.
std::vector<std::string> counts(const std::string& out, const std::string& algorithm) {
    auto words = row(out, algorithm);
    if (words.size() > 9) words.resize(9);
    return words;
}

std::string number(uint64_t value) { return std::to_string(value); }

// Far cores of the host "node7": 64 KiB one way take 8 flags of 300 ns and 16,384 ns of copying.
std::string far_figures(const std::filesystem::path& folder) {
    std::ofstream(folder / "figures.json")
        << R"({"nodes": [{"host": "node7", "ranks": 2, "measured": true,
        "barrier_ns": 300, "one_way_64k_ns": {"prefetch": 33000, "stream": 18784},
        "one_way": [{"bytes": 65536, "single_copy_ns": 32768}], "all_ways": [],
        "follows": {"single_copy": true}}]})";
    return " --node-figures figures.json";
}

TEST_F(Transcript, ExplainTellsTimesByWhatWasMeasured) {
    const Answer bcast =
        tutti("explain bcast --bytes 64K --ranks 2 --hosts 1" + far_figures(here()));
    EXPECT_EQ(bcast.status, 0) << bcast.err;
    EXPECT_NE(bcast.out.find("moves: copies by stream in pieces of up to 64 KiB; single copy "
                             "never\ntimes: 2 ranks of node7 measured: barrier 0.30 us; 64 KiB "
                             "one way: prefetch 33.0, stream 18.8, single copy 32.8 us\n"),
              std::string::npos)
        << bcast.out;
    const auto time = [](const Answer& answer, const std::string& algorithm) {
        auto words = row(answer.out, algorithm);
        return words.size() < 11 ? "" : words[9] + " " + words[10];
    };
    EXPECT_EQ(time(bcast, "pipeline"), "18.78 us");
    EXPECT_EQ(time(bcast, "single"), "33.07 us");  // and a flag
    // 256 KiB of 4 ranks: each writes all, folds a quarter of the 4 vectors, three of which it
    // reads, reads what the others have folded, and copies its own quarter of the result. 64 KiB
    // are written in 16,384 ns, and read or folded in so many less an eighth, the first piece.
    const Answer split =
        tutti("explain allreduce --bytes 256K --ranks 4 --hosts 1" + far_figures(here()));
    const auto counted = row(split.out, "split");
    ASSERT_GT(counted.size(), 2u) << split.out;
    const uint64_t ns = std::stoull(counted[1]) * 300 + 4 * 16384 + 3 * 14336 + 3 * 14336 + 1600;
    EXPECT_EQ(time(split, "split"), format_duration(ns)) << split.out;
    const Answer barrier = tutti("explain barrier --ranks 4 --hosts 1" + far_figures(here()));
    EXPECT_EQ(time(barrier, "small"), "300 ns") << barrier.out;
    EXPECT_EQ(barrier.out.find("moves:"), std::string::npos);
}

// 64 KiB in 40 us where all read at once, 16,384 ns by two at a time: 4 GB/s, and a flag.
TEST_F(Transcript, ExplainTellsHowManyReadAtATime) {
    std::ofstream(here() / "figures.json")
        << R"({"nodes": [{"host": "node7", "ranks": 4, "measured": true,
        "barrier_ns": 300, "one_way_64k_ns": {"prefetch": 33000},
        "one_way": [{"bytes": 65536, "single_copy_ns": 40000}], "all_ways": [],
        "one_way_64k_readers": [{"readers": 1, "single_copy_ns": 30000},
                                {"readers": 2, "single_copy_ns": 16384}],
        "follows": {"single_copy": true}}]})";
    const Answer bcast =
        tutti("explain bcast --bytes 64K --ranks 4 --hosts 1 --node-figures figures.json");
    EXPECT_EQ(bcast.status, 0) << bcast.err;
    EXPECT_NE(
        bcast.out.find(
            "moves: copies by prefetch in pieces of up to 16 KiB; single copy "
            "from 64 KiB on one way, never both ways, 2 readers at a time\ntimes: 4 ranks of node7 "
            "measured: barrier 0.30 us; 64 KiB one way: prefetch 33.0, single "
            "copy 40.0, by 2 at a time 16.4 us\n"),
        std::string::npos)
        << bcast.out;
    const auto words = row(bcast.out, "single");
    ASSERT_GE(words.size(), 11u) << bcast.out;
    EXPECT_EQ(words[9] + " " + words[10], "16.68 us") << bcast.out;
}

TEST_F(Transcript, SimulateCopiesAtTheRatesThatWereMeasured) {
    const std::string call = "simulate bcast --bytes 4K --ranks 4 --hosts 2";
    const Answer measured = tutti(call + far_figures(here()));
    EXPECT_EQ(measured.status, 0) << measured.err;
    EXPECT_TRUE(measured.out.starts_with("within a host: 2 ranks of node7 measured: barrier 0.30"))
        << measured.out;
    const Answer assumed = tutti(call);
    EXPECT_EQ(assumed.out.find("within a host"), std::string::npos);
    // Over the network, and then a flag and what the copies of both sides do not hide.
    const uint64_t n = 4096, network_ns = 1000 + 328;
    const auto time = [](const Answer& answer) {
        const auto words = row(answer.out, "binomial");
        return words.size() < 3 ? "" : words[1] + " " + words[2];
    };
    EXPECT_EQ(time(measured), format_duration(network_ns + 300 + n / 4)) << measured.out;
    EXPECT_EQ(time(assumed), format_duration(network_ns + 100 + n / 8)) << assumed.out;
    // So do ranks whose schedule sends messages within a host, after 300 ns.
    const std::string flat = call + " --algorithm binomial:flat";
    EXPECT_EQ(time(tutti(flat + far_figures(here()))), format_duration(network_ns + 300 + n / 4));
    EXPECT_EQ(time(tutti(flat)), format_duration(network_ns + 300 + n / 8));
}

TEST_F(Transcript, FiguresThatAreNoneAreOneLine) {
    const Answer none = tutti("explain barrier --ranks 2 --hosts 1 --node-figures /dev/null");
    EXPECT_EQ(none.status, 2);
    EXPECT_EQ(none.err, "tutti: --node-figures: /dev/null: is no file\n");
    const Answer hosts = tutti("explain barrier --ranks 4 --hosts 2" + far_figures(here()));
    EXPECT_EQ(hosts.status, 2);
    EXPECT_EQ(hosts.err,
              "tutti: --node-figures: needs --hosts 1; tutti simulate takes it for several\n");
}

TEST_F(Transcript, ExplainCountsWhatTheFormulasSay) {
    const uint64_t p = 16, n = 1 << 20, log_p = 4, segments = 4;
    const Answer answer = tutti("explain allreduce --bytes 1M --ranks 16");
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_TRUE(
        answer.out.starts_with("allreduce of 1 MiB, 16 ranks on 16 hosts\n"
                               "runs:  ring, segments of 256 KiB\n"))
        << answer.out;
    // Rounds, messages, bytes sent, bytes folded; sizes are two words each.
    const std::string ring = format_bytes(2 * (p - 1) * n / p);
    const std::vector<std::string> expected{"ring", number(2 * (p - 1)),
                                            number(segments * 2 * (p - 1)),
                                            ring.substr(0, ring.find(' ')), "KiB"};
    auto found = row(answer.out, "ring");
    ASSERT_GE(found.size(), expected.size());
    found.resize(expected.size());
    EXPECT_EQ(found, expected);
    found = row(answer.out, "pairwise");
    ASSERT_GE(found.size(), 4u);
    EXPECT_EQ(found[1], number(log_p));
    EXPECT_EQ(found[2], number(log_p));
    EXPECT_EQ(found[3] + " " + found[4], format_bytes(log_p * n));
    found = row(answer.out, "rabenseifner");
    ASSERT_GE(found.size(), 4u);
    EXPECT_EQ(found[1], number(2 * log_p));
    EXPECT_EQ(found[3] + " " + found[4], format_bytes(2 * (p - 1) * n / p));
}

TEST_F(Transcript, ExplainObeysVariablesAndOptions) {
    const Answer forced = tutti("explain bcast --bytes 8 --ranks 4", "TUTTI_BCAST=chain");
    EXPECT_NE(forced.out.find("runs:  chain\nwhy:   forced by TUTTI_BCAST\n"), std::string::npos)
        << forced.out;
    const Answer option =
        tutti("explain bcast --bytes 8 --ranks 4 --algorithm binomial", "TUTTI_BCAST=chain");
    EXPECT_NE(option.out.find("runs:  binomial\nwhy:   forced by --algorithm\n"), std::string::npos)
        << option.out;
    const Answer order =
        tutti("explain allreduce --bytes 1M --ranks 4 --non-commutative --algorithm chain");
    EXPECT_NE(order.out.find("ring               cannot run this: needs an operator that commutes"),
              std::string::npos)
        << order.out;
}

// In a tree over 2 sockets of 4 cores rank 0 has four children: 1 to 3 and 4, which has 5 to 7.
// Rank 4 writes twice, its part for its parent and the result for its children; 0 folds four parts.
TEST_F(Transcript, ExplainCountsWhatANodeDoes) {
    const Answer small = tutti("explain bcast --bytes 8 --ranks 4 --hosts 1");
    EXPECT_EQ(
        small.out,
        "bcast of 8 B, 4 ranks on 1 host, root 0\n"
        "runs:  small, in shared memory (docs/node.md)\n"
        "why:   one host: shared memory; up to 1 KiB: each payload beside its flag, in one "
        "hop\n"
        "meet:  all with all: up to 8 ranks\n\n"
        "                      rounds  messages      written         read       folded\n"
        "* small                    1         0          8 B          8 B          0 B  up to "
        "1 KiB: each payload beside its flag, in one hop\n"
        "  tree               cannot run this: needs a tree, and the ranks meet all with all\n"
        "  pipeline                 1         0          8 B          8 B          0 B  more "
        "than 1 KiB: piece by piece through a ring of chunks\n"
        "  single             cannot run this: for ranks that can read each other's memory; a team "
        "tries it at first\n\n"
        "rounds: flags in the longest chain of dependent ones. All else: of the rank that has "
        "most;\nwritten, read: payload in shared memory.\n");
    const Answer tree = tutti("explain allreduce --bytes 8 --ranks 8 --hosts 1",
                              "TUTTI_LAYOUT=tree TUTTI_TOPOLOGY='pack:2 core:4 pu:1'");
    EXPECT_NE(tree.out.find("meet:  in a tree: TUTTI_LAYOUT; TUTTI_TOPOLOGY\n"), std::string::npos)
        << tree.out;
    EXPECT_EQ(counts(tree.out, "tree"), words_of("tree 4 0 16 B 32 B 32 B"));
    EXPECT_EQ(tree.out.find("moves:"), std::string::npos) << tree.out;
    const Answer off = tutti("explain bcast --bytes 1M --ranks 2 --hosts 1",
                             "TUTTI_SINGLE_COPY=off TUTTI_CHUNK=8K");
    EXPECT_NE(off.out.find("moves: nothing measured: copies by prefetch in pieces of up to 8 KiB; "
                           "no single copy\n"),
              std::string::npos)
        << off.out;
    const Answer on =
        tutti("explain bcast --bytes 1M --ranks 16 --hosts 1", "TUTTI_SINGLE_COPY=on");
    EXPECT_NE(on.out.find("moves: nothing measured: copies by prefetch in pieces of up to 64 KiB; "
                          "single copy wherever it may\n"),
              std::string::npos)
        << on.out;
    // 64 KiB of 4 ranks: each folds a quarter of the 4 vectors and reads the other three quarters.
    const Answer split =
        tutti("explain allreduce --bytes 64K --ranks 4 --hosts 1", "TUTTI_CHUNK=32K");
    EXPECT_EQ(counts(split.out, "split"), words_of("split 3 0 64 KiB 96 KiB 48 KiB")) << split.out;
    EXPECT_EQ(split.out.find("meet:"), std::string::npos);
    const Answer order =
        tutti("explain reduce --bytes 8 --ranks 16 --hosts 1 --non-commutative --root 3");
    EXPECT_EQ(counts(order.out, "small"), words_of("small 1 0 8 B 120 B 120 B")) << order.out;
    const Answer host = tutti("explain barrier --ranks 4 --hosts 1 --mpi impi --algorithm host");
    EXPECT_NE(host.out.find("runs:  your MPI's own\nwhy:   forced by --algorithm\n"),
              std::string::npos)
        << host.out << host.err;
    EXPECT_FALSE(row(host.out, "small").empty()) << host.out;
    const Answer full = tutti("explain barrier --ranks 8 --hosts 1", "TUTTI_MEMORY=64K");
    EXPECT_NE(full.out.find("runs:  your MPI's own\nwhy:   "), std::string::npos) << full.out;
    EXPECT_NE(full.out.find(" of shared memory for this communicator, TUTTI_MEMORY allows 64 KiB"),
              std::string::npos)
        << full.out;
    EXPECT_EQ(counts(tutti("explain gather --bytes 0 --ranks 8 --hosts 1").out, "nothing"),
              words_of("nothing 0 0 0 B 0 B 0 B"));
}

// 8 KiB of 4 ranks: direct reads and folds three vectors, split writes one, folds a share of each
// of the other three and reads what the others have folded.
TEST_F(Transcript, ExplainNamesWhatANodeCouldRun) {
    const Answer named =
        tutti("explain allreduce --bytes 8K --ranks 4 --hosts 1 --algorithm node:split");
    EXPECT_EQ(
        named.out,
        "allreduce of 8 KiB, 4 ranks on 1 host\n"
        "runs:  split, in shared memory (docs/node.md)\n"
        "why:   forced by --algorithm\n"
        "moves: nothing measured: copies by prefetch in pieces of up to 16 KiB; single copy not "
        "measured\n"
        "       a team measures that when it is made; `tutti info` does so on this machine\n\n"
        "                      rounds  messages      written         read       folded\n"
        "  small              cannot run this: holds up to 1 KiB\n"
        "  tree               cannot run this: needs a tree, and the ranks meet all with all\n"
        "  direct                   1         0        8 KiB       24 KiB       24 KiB  more than "
        "slots hold, and little in all: each rank that needs the result folds alone\n"
        "* split                    2         0        8 KiB       12 KiB        6 KiB  more than "
        "one rank may fold alone, or more than a chunk: each rank folds a share for all\n"
        "  turns              cannot run this: needs a tree, and the ranks meet all with all\n"
        "  single             cannot run this: for ranks that can read each other's memory; a team "
        "tries it at first\n\n"
        "rounds: flags in the longest chain of dependent ones. All else: of the rank that has "
        "most;\nwritten, read: payload in shared memory.\n");
    const Answer same =
        tutti("explain allreduce --bytes 8K --ranks 4 --hosts 1", "TUTTI_ALLREDUCE=node:split");
    EXPECT_NE(same.out.find("runs:  split, in shared memory (docs/node.md)\nwhy:   forced by "
                            "TUTTI_ALLREDUCE\n"),
              std::string::npos)
        << same.out;
    const Answer rule = shell(
        "printf '[[rule]]\ncollective = \"allreduce\"\nalgorithm = \"node:small\"\n' >r.toml; "
        "\"$T\" explain allreduce --bytes 8K --ranks 4 --hosts 1 --rules r.toml");
    EXPECT_NE(rule.out.find("runs:  split"), std::string::npos) << rule.out << rule.err;
    EXPECT_NE(rule.out.find("rule 1 of r.toml passed over: small holds up to 1 KiB"),
              std::string::npos)
        << rule.out;
    const Answer order = tutti("explain reduce --bytes 8 --ranks 16 --hosts 1",
                               "TUTTI_REPRODUCIBLE=1 TUTTI_LAYOUT=tree");
    EXPECT_NE(order.out.find("tree               cannot run this: folds group by group, "
                             "TUTTI_REPRODUCIBLE by rank\n"),
              std::string::npos)
        << order.out;
}

// By RDMA no short call is left to your MPI.
TEST_F(Transcript, ExplainKnowsRdma) {
    const std::string barrier = "explain barrier --ranks 4 --mpi openmpi";
    const Answer plain = tutti(barrier);
    EXPECT_NE(plain.out.find("runs:  your MPI's own\n"), std::string::npos) << plain.out;
    const Answer rdma = tutti(barrier, "TUTTI_VERBS=on");
    EXPECT_EQ(rdma.status, 0) << rdma.err;
    EXPECT_TRUE(
        rdma.out.starts_with("barrier, 4 ranks on 4 hosts, with RDMA\n"
                             "runs:  dissemination\n"))
        << rdma.out;
    // Three peers of 60 slots, and rank 0 itself; two messages a rank.
    EXPECT_NE(rdma.out.find("rdma:  a rank is connected with 3 at most, 960 KiB registered; 8 of 8 "
                            "messages go by RDMA\n"),
              std::string::npos)
        << rdma.out;
    const Answer bounded =
        tutti("explain barrier --ranks 6 --memory", "TUTTI_VERBS=on TUTTI_VERBS_MEMORY=1M");
    EXPECT_NE(bounded.out.find("rdma:  none: a rank would register 1440 KiB, beyond "
                               "TUTTI_VERBS_MEMORY\n"),
              std::string::npos)
        << bounded.out;
    EXPECT_NE(bounded.out.find("others; beyond TUTTI_VERBS_MEMORY\n"), std::string::npos)
        << bounded.out;
    // By the word of all: an addition a rank. Not where hosts have several.
    const std::string by_word = "explain barrier --multicast --algorithm adaptive_counter --ranks ";
    const Answer word = tutti(by_word + "4", "TUTTI_VERBS=on");
    EXPECT_NE(word.out.find("; 4 of 4 messages go by RDMA; 4 as additions to counters, where the "
                            "adapters can\n"),
              std::string::npos)
        << word.out;
    const Answer several = tutti(by_word + "4 --hosts 2", "TUTTI_VERBS=on");
    EXPECT_EQ(several.out.find("additions"), std::string::npos) << several.out;
    // Of many hosts each knows those to which algorithms send, but for roots' own.
    const Answer halves = tutti("explain allgather --bytes 8 --ranks 100", "TUTTI_VERBS=on");
    EXPECT_NE(halves.out.find("; 672 of 672 messages go by RDMA\n"), std::string::npos)
        << halves.out;
    const Answer gather =
        tutti("explain gather --bytes 8 --ranks 64 --algorithm direct", "TUTTI_VERBS=on");
    EXPECT_NE(gather.out.find(" of 63 messages go by RDMA, the others by your MPI\n"),
              std::string::npos)
        << gather.out;
}

// 16 ranks a node, each connected with 37 at most: 60 slots of 4 KiB each. At 65,536 hosts with a
// rank each the goal is 64 MiB.
TEST_F(Transcript, ExplainTellsTheMemory) {
    if (std::getenv("TESTS_BRIEF"))
        GTEST_SKIP() << "a minute under a sanitizer: without TESTS_BRIEF";
    const std::string barrier = "explain barrier --memory --ranks ";
    const Answer many = tutti(barrier + "65536 --hosts 4096 --multicast", "TUTTI_VERBS=on");
    EXPECT_NE(many.out.find("  of a node, shared by 16 ranks: flags and rings at most\n"
                            "    1.0 MiB  of a node: what came by multicast, until all have taken "
                            "it\n"
                            "    8.7 MiB  of a rank, registered: messages to 37 others\n"
                            "    0.8 MiB  of a rank: the placement of all ranks\n"),
              std::string::npos)
        << many.out << many.err;
    const Answer hosts = tutti(barrier + "65536 --hosts 65536", "TUTTI_VERBS=on");
    EXPECT_NE(hosts.out.find("   12.0 MiB  of a rank, registered: messages to 51 others\n"
                             "    1.0 MiB  of a rank: the placement of all ranks\n"
                             "   13.0 MiB  a rank in all, with its part of its node's\n"),
              std::string::npos)
        << hosts.out << hosts.err;
    // 4,096 receives of 40 bytes and a packet, 256 sends of a packet.
    const std::string carried =
        "   17.2 MiB  registered by one process of a node, for the multicast of all its "
        "communicators: 4096 receives and 256 sends, packets of 4 KiB\n";
    const std::string four = barrier + "4 --hosts 4 --multicast";
    for (const char* over : {"TUTTI_MCAST_OVER=verbs", "TUTTI_MCAST_OVER=auto"}) {
        const Answer by_ud = tutti(four, over);
        EXPECT_TRUE(by_ud.out.ends_with("a rank in all, with its part of its node's\n" + carried))
            << by_ud.out << by_ud.err;
    }
    EXPECT_EQ(tutti(four).out.find("registered"), std::string::npos);
    EXPECT_EQ(tutti(barrier + "4 --hosts 4", "TUTTI_MCAST_OVER=verbs").out.find("registered"),
              std::string::npos);
    const Answer crowd = tutti(barrier + "512 --hosts 1", "TUTTI_MEMORY=16M");
    EXPECT_NE(crowd.out.find("; beyond TUTTI_MEMORY\n"), std::string::npos) << crowd.out;
    const Answer node = tutti(barrier + "2 --hosts 1", "TUTTI_CHUNK=64K");
    EXPECT_EQ(node.out.find("registered"), std::string::npos) << node.out;
    EXPECT_NE(node.out.find(" MiB  a rank in all"), std::string::npos) << node.out;
}

// Where messages are measured to be faster by far, explain says so as the run does.
TEST_F(Transcript, ExplainComparesSpeeds) {
    const std::string bcast = "explain bcast --bytes 1M --ranks 16 --multicast";
    const Answer slow =
        tutti(bcast + " --multicast-speed 100us,940mbit --message-speed 2us,90gbit");
    EXPECT_EQ(slow.status, 0) << slow.err;
    EXPECT_NE(slow.out.find("runs:  chain"), std::string::npos) << slow.out;
    // 100 us and 1 MiB of 8 bits at 940 Mbit/s.
    EXPECT_NE(slow.out.find("multicast is predicted to take 9.024 ms, "), std::string::npos)
        << slow.out;
    const Answer same =
        tutti(bcast + " --multicast-speed 100us,940mbit --message-speed 60us,940mbit");
    EXPECT_NE(same.out.find("runs:  multicast"), std::string::npos) << same.out;
    // What is clearly cheaper by these goes before the built-in rule.
    const std::string gather = "explain allgather --bytes 1K --ranks 16 --message-speed ";
    const Answer ethernet = tutti(gather + "15us,9400mbit");
    EXPECT_NE(ethernet.out.find("why:   by price, measured messages (15 us and 9400 Mbit/s, else "
                                "as ethernet-10g): "),
              std::string::npos)
        << ethernet.out << ethernet.err;
    EXPECT_NE(ethernet.out.find("; not ring, "), std::string::npos) << ethernet.out;
    EXPECT_NE(ethernet.out.find("on:    9400 Mbit/s, 12 us"), std::string::npos) << ethernet.out;
    EXPECT_NE(tutti(gather + "15us,9400mbit", "TUTTI_PRICE=off").out.find("why:   built-in rule "),
              std::string::npos);
    EXPECT_NE(tutti(gather + "900us,25mbit").out.find("why:   built-in rule "), std::string::npos);
    EXPECT_NE(tutti(gather + "900us,25mbit", "TUTTI_PRICE=on").out.find("why:   by price, "),
              std::string::npos);
    EXPECT_EQ(tutti(bcast + " --message-speed fast").err,
              "tutti: --message-speed=fast: expected a time and a rate: 30us,940mbit\n");
    EXPECT_EQ(tutti("explain barrier --ranks 4 --multicast-speed 1us,1gbit").err,
              "tutti: --multicast-speed: needs --multicast\n");
}

// Of 1 MiB the root multicasts 64 times 16 KiB, one after the other or at once; 16 ranks tell 0 of
// a barrier over two levels of 7 children, and 0 tells all.
TEST_F(Transcript, ExplainCountsMulticasts) {
    const Answer answer = tutti("explain bcast --bytes 1M --ranks 16 --multicast");
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_TRUE(
        answer.out.starts_with("bcast of 1 MiB, 16 ranks on 16 hosts, root 0, with multicast\n"
                               "runs:  multicast, segments of 16 KiB\n"))
        << answer.out;
    EXPECT_TRUE(
        tutti("explain bcast --bytes 8 --ranks 16 --multicast", "TUTTI_MCAST_OVER=verbs")
            .out.starts_with("bcast of 8 B, 16 ranks on 16 hosts, root 0, with multicast by "
                             "verbs\n"));
    EXPECT_TRUE(tutti("explain bcast --bytes 8 --ranks 16 --multicast", "TUTTI_MCAST_OVER=auto")
                    .out.starts_with("bcast of 8 B, 16 ranks on 16 hosts, root 0, with multicast "
                                     "by verbs or UDP, what is predicted faster\n"));
    EXPECT_TRUE(tutti("explain bcast --bytes 8 --ranks 16 --multicast", "TUTTI_MCAST_CODE=header")
                    .out.starts_with("bcast of 8 B, 16 ranks on 16 hosts, root 0, with multicast, "
                                     "codes over headers\n"));
    EXPECT_TRUE(tutti("explain bcast --bytes 8 --ranks 16 --multicast", "TUTTI_MCAST_CODE=none")
                    .out.starts_with("bcast of 8 B, 16 ranks on 16 hosts, root 0, with multicast, "
                                     "no codes\n"));
    auto found = row(answer.out, "multicast");
    ASSERT_GE(found.size(), 8u);
    found.resize(8);
    EXPECT_EQ(found[2] + " " + found[3] + " " + found[4], "0 0 B");
    EXPECT_EQ(found[5] + " " + found[6] + " " + found[7], "64 1 MiB");
    const Answer barrier = tutti("explain barrier --ranks 16 --multicast");
    found = row(barrier.out, "gather_multicast");
    ASSERT_GE(found.size(), 7u) << barrier.out;
    EXPECT_EQ(found[1] + " " + found[2], number(2 + 1) + " 1");
    EXPECT_EQ(found[5], "1");
    const Answer without = tutti("explain bcast --bytes 8 --ranks 4");
    EXPECT_NE(
        without.out.find("  multicast          cannot run this: needs hardware multicast, and "
                         "there is none\n"),
        std::string::npos)
        << without.out;
    EXPECT_EQ(tutti("explain bcast --bytes 8 --ranks 4 --algorithm multicast").err,
              "tutti: --algorithm=multicast: cannot run this call: multicast needs hardware "
              "multicast, and there is none: see --multicast\n");
    // Every other rank of a host receives what its leader does, and the schedule is proved.
    (void)shell(
        "\"$T\" explain barrier --ranks 4 --hosts 2 --multicast --schedule "
        "--algorithm gather_multicast >s.txt");
    EXPECT_EQ(tutti("check --file s.txt --hosts 2").out, "proved: 4 ranks on 2 hosts\n");
}

// A ring in the order of the leaves loads every link with one message; partners of whom one half
// is on each leaf exchange over the same link, all at once.
TEST_F(Transcript, CheckTellsWhichLinksAreShared) {
    (void)shell("\"$T\" explain allgather --bytes 8 --ranks 6 --algorithm ring --schedule >s.txt");
    EXPECT_EQ(tutti("check --file s.txt --leaves 3,3").out,
              "proved: 6 ranks on 6 hosts\nlinks: no two pairs of ranks share one in a step\n");
    (void)shell(
        "\"$T\" explain allreduce --bytes 8 --ranks 8 --algorithm pairwise --schedule >s.txt");
    EXPECT_EQ(
        tutti("check --file s.txt --leaves 4,4").out,
        "proved: 8 ranks on 8 hosts\nlinks: up to 4 pairs of ranks share one in a step (step 2, up "
        "from switch 0)\n");
    EXPECT_EQ(tutti("check --file s.txt --leaves 4,5").err,
              "tutti: --leaves=4,5: expected 8 hosts together\n");
}

// Two ranks exchange whole vectors and fold them in the order of ranks.
TEST_F(Transcript, ExplainPrintsTheSchedule) {
    const Answer answer =
        tutti("explain allreduce --bytes 8 --ranks 2 --algorithm pairwise --schedule");
    EXPECT_EQ(answer.status, 0);
    EXPECT_NE(answer.out.find("    send 0 to 1 input[0+8]"), std::string::npos) << answer.out;
    EXPECT_NE(answer.out.find("    reduce output[0+8] = input[0+8] op scratch[0+8]\n"),
              std::string::npos);
    EXPECT_NE(answer.out.find("    reduce output[0+8] = scratch[0+8] op input[0+8]\n"),
              std::string::npos);
    (void)shell("\"$T\" explain allreduce --bytes 8 --ranks 2 --schedule >s.txt");
    EXPECT_EQ(shell("\"$T\" check --file s.txt").out, "proved: 2 ranks on 2 hosts\n");
}

TEST_F(Transcript, ExplainDrawsEveryMessage) {
    const Answer answer =
        tutti("explain allgather --bytes 64 --ranks 6 --algorithm ring --svg a.svg");
    EXPECT_EQ(answer.status, 0) << answer.err;
    const std::string drawing = text_of(here() / "a.svg");
    size_t messages = 0;
    for (size_t at = 0; (at = drawing.find(": 64 B, lane 0", at)) != std::string::npos; ++at) {
        ++messages;
    }
    const size_t p = 6;
    EXPECT_EQ(messages, p * (p - 1));
    EXPECT_TRUE(drawing.ends_with("</svg>\n"));
    const Answer nowhere = tutti("explain barrier --ranks 6 --svg no/a.svg");
    EXPECT_EQ(nowhere.status, 2);
    EXPECT_EQ(nowhere.err, "tutti: --svg: no/a.svg: no such directory\n");
    // What is open already is written to, and not replaced under its other writers.
    const Answer both = tutti("explain barrier --ranks 6 --svg /dev/stdout");
    EXPECT_EQ(both.status, 0) << both.err;
    EXPECT_NE(both.out.find("</svg>\nbarrier, 6 ranks on 6 hosts\n"), std::string::npos)
        << both.out;
}

TEST_F(Transcript, ExplainWritesGoal) {
    const Answer answer =
        tutti("explain allreduce --bytes 1K --ranks 4 --algorithm ring --goal a.goal");
    EXPECT_EQ(answer.status, 0) << answer.err;
    const std::string goal = text_of(here() / "a.goal");
    EXPECT_TRUE(goal.starts_with("num_ranks 4\n")) << goal;
    size_t sends = 0;
    for (size_t at = 0; (at = goal.find(": send 256b to ", at)) != std::string::npos; ++at) ++sends;
    const size_t p = 4;
    EXPECT_EQ(sends, p * 2 * (p - 1));  // Patarasuk and Yuan 2007
    const Answer nodes =
        tutti("explain allreduce --bytes 1K --ranks 4 --hosts 2 --algorithm ring --goal b.goal");
    EXPECT_EQ(nodes.status, 2);
    EXPECT_NE(nodes.err.find("tutti: --goal: rank 0, lane 0, round 0: node_reduce"),
              std::string::npos)
        << nodes.err;
    EXPECT_NE(nodes.err.find("GOAL has no node operations; see the option flat"), std::string::npos)
        << nodes.err;
    EXPECT_EQ(tutti("explain allreduce --bytes 1K --ranks 4 --hosts 2 --algorithm ring:flat "
                    "--goal c.goal")
                  .status,
              0);
}

TEST_F(Transcript, ExplainWritesTraces) {
    const Answer answer = tutti(
        "explain allreduce --bytes 1K --ranks 4 --algorithm ring --smpi t/ --placement 1,0,3,2");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.err, "");
    const size_t p = 4;
    size_t sends = 0;
    for (size_t rank = 0; rank < p; ++rank) {
        const std::string trace =
            text_of(here() / "t" / ("rank-" + std::to_string(rank) + ".trace"));
        const std::string send = std::to_string(rank) + " isend ";
        for (size_t at = 0; (at = trace.find(send, at)) != std::string::npos; ++at) ++sends;
    }
    EXPECT_EQ(sends, p * 2 * (p - 1));  // Patarasuk and Yuan 2007
    EXPECT_EQ(text_of(here() / "t/ranks.txt"),
              "rank-0.trace\nrank-1.trace\nrank-2.trace\nrank-3.trace\n");
    EXPECT_EQ(text_of(here() / "t/hostfile"), "h0\nh1\nh2\nh3\n");
    EXPECT_NE(text_of(here() / "t/platform.xml").find("<host id=\"h3\""), std::string::npos);
    // Whole or not at all, and in one line.
    const std::string call = "explain barrier --ranks 4 --smpi ";
    EXPECT_EQ(tutti(call + "t").err, "tutti: --smpi: t: is there already\n");
    EXPECT_EQ(tutti(call + "no/t").err, "tutti: --smpi: no/t: no such directory\n");
    EXPECT_EQ(tutti("explain barrier --ranks 600 --algorithm dissemination --smpi u").err,
              "tutti: --smpi: 600 hosts; a platform has a route for every pair, and at most 512 "
              "hosts here\n");
    EXPECT_EQ(tutti("explain barrier --ranks 4 --multicast --algorithm gather_multicast --smpi u")
                  .err.find("tutti: --smpi: rank 0, lane 0, round "),
              0u);
    EXPECT_EQ(tutti("explain barrier --ranks 4 --hosts 1 --smpi u").status, 2);
    EXPECT_EQ(tutti("explain barrier --ranks 4 --free-copies").err,
              "tutti: --free-copies: needs --smpi\n");
    EXPECT_EQ(shell("ls").out, "t\n");
}

TEST_F(Transcript, CheckProvesAndCounts) {
    // 2 ranks on 1 and 2 hosts; 3 on 1, on 2 (in blocks and by turns), and on 3. Where ranks share
    // a host, a barrier is tried with the node level and without.
    const uint64_t two = 2 + 1, three = 2 + 2 * 2 + 1;
    const Answer answer = tutti("check dissemination --ranks 2..3");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.err, "");
    EXPECT_EQ(
        words_of(std::string(split(answer.out, '\n')[0])),
        (std::vector<std::string>{"barrier", "dissemination", number(two + three), "proved"}));
}

TEST_F(Transcript, CheckFindsWhatIsWrongInAFile) {
    (void)shell(
        "\"$T\" explain allreduce --bytes 8 --ranks 2 --schedule "
        "| sed 's/= scratch\\[0+8\\] op input\\[0+8\\]/= input[0+8] op scratch[0+8]/; "
        "s/^element 8/&\\nordered/' >s.txt");
    const Answer answer = tutti("check --file s.txt");
    EXPECT_EQ(answer.status, 1);
    EXPECT_NE(answer.out, "");
    EXPECT_EQ(answer.err, "");
    (void)shell("\"$T\" explain barrier --ranks 2 --schedule | sed '$d' >s.txt");
    EXPECT_EQ(tutti("check --file s.txt").status, 1);
}

// ceil(log2 p) rounds of one latency each.
TEST_F(Transcript, SimulateABarrier) {
    const Answer answer =
        tutti("simulate barrier --ranks 16 --latency 10us --algorithm dissemination");
    EXPECT_EQ(answer.status, 0) << answer.err;
    const auto found = row(answer.out, "dissemination");
    ASSERT_GE(found.size(), 6u) << answer.out;
    EXPECT_EQ(found[1] + " " + found[2], format_duration(4 * 10'000));
    EXPECT_EQ(found[4], number(4));
    EXPECT_EQ(found[5], number(16 * 4));
}

// Down a chain of 3 ranks the whole vector passes 2 links: 2 (latency + n / rate), and the bound is
// one of these. 1 KiB at 8192 kbit/s takes 1 ms.
TEST_F(Transcript, SimulateAChain) {
    const std::string command =
        "simulate bcast --ranks 3 --bytes 1K --rate 8192kbit --latency 1ms --algorithm ";
    const Answer answer = tutti(command + "chain");
    EXPECT_EQ(answer.status, 0) << answer.err;
    const auto found = row(answer.out, "chain");
    ASSERT_GE(found.size(), 8u) << answer.out;
    EXPECT_EQ(found[1] + " " + found[2], "4 ms");
    EXPECT_EQ(found[3], "2.00");
    EXPECT_EQ(found[5], "2");
    EXPECT_EQ(found[6] + " " + found[7], "2 KiB");
    EXPECT_NE(answer.out.find("  lower bound              2 ms\n"), std::string::npos)
        << answer.out;
    // The same words, the same answer; all algorithms have their line.
    EXPECT_EQ(tutti(command + "chain").out, answer.out);
    const Answer all = tutti(command + "all");
    for (const char* name : {"binomial", "chain", "scatter_allgather"}) {
        EXPECT_FALSE(row(all.out, name).empty()) << name << all.out;
    }
}

// Buffers that are larger than what a machine has to spare.
TEST_F(Transcript, SimulateTooMuch) {
    const Answer much = tutti("simulate bcast --ranks 3 --bytes 64G --algorithm chain");
    EXPECT_EQ(much.status, 0) << much.err;
    EXPECT_NE(
        much.out.find("* chain              not simulated: takes more than 4 GiB of memory\n"),
        std::string::npos)
        << much.out;
}

TEST_F(Transcript, SimulateMoreThanTheSystemGives) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer takes more addresses";
    const Answer more = tutti("simulate gather --ranks 1024 --bytes 1G", "ulimit -v 4000000;");
    EXPECT_NE(
        more.out.find("* direct             not simulated: takes more than 4 GiB of memory\n"),
        std::string::npos)
        << more.out << more.err;
}

// Hosts 0 1 | 2 3: the first round's message from 1 to 2 and all of the second round go over two
// switches more, 20 us each; so does something of every collective.
TEST_F(Transcript, SimulateLeaves) {
    const Answer answer =
        tutti("simulate barrier --ranks 4 --latency 10us --leaves 2,2 --algorithm dissemination");
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_EQ(answer.out.substr(0, answer.out.find('\n')),
              "barrier, 4 ranks on 4 hosts, 100000 Mbit/s, 10 us, leaves of 2, 2 hosts, 100000 "
              "Mbit/s between them");
    const auto found = row(answer.out, "dissemination");
    ASSERT_GE(found.size(), 4u) << answer.out;
    EXPECT_EQ(found[1] + " " + found[2], "40 us");
    EXPECT_EQ(found[3], "2.00");
    // The trunk at a quarter of the rate takes 4 ms, the two switches more 2 ms.
    const Answer chain = tutti(
        "simulate bcast --ranks 2 --bytes 1K --rate 8192kbit --trunk 2048kbit --latency 1ms "
        "--leaves 1,1 --algorithm chain");
    const auto slow = row(chain.out, "chain");
    ASSERT_GE(slow.size(), 4u) << chain.out << chain.err;
    EXPECT_EQ(slow[1] + " " + slow[2], "6 ms");
    EXPECT_EQ(slow[3], "1.00");
}

// By multicast the vector takes one latency and its time on one link, whatever there are of hosts;
// from a host's memory to its ranks it takes less than is printed.
TEST_F(Transcript, SimulateAMulticast) {
    const std::string command =
        "simulate bcast --ranks 9 --hosts 5 --bytes 1K --rate 8192kbit --latency 1ms ";
    const Answer answer = tutti(command + "--multicast --algorithm multicast");
    EXPECT_EQ(answer.status, 0) << answer.err;
    const auto found = row(answer.out, "multicast");
    ASSERT_GE(found.size(), 11u) << answer.out;
    EXPECT_EQ(found[1] + " " + found[2], "2 ms");
    EXPECT_EQ(found[3], "1.00");
    EXPECT_EQ(found[5], "0") << "messages";
    EXPECT_EQ(found[8], "1") << "multicast";
    EXPECT_EQ(found[9] + " " + found[10], "1 KiB");
    const Answer without = tutti(command + "--algorithm multicast");
    EXPECT_EQ(without.status, 2);
    EXPECT_EQ(without.err,
              "tutti: --algorithm=multicast: cannot run this call: multicast needs hardware "
              "multicast, and there is none: see --multicast\n");
}

// Patarasuk and Yuan 2007, sections 3.2 and 4: their ring wins from 256 B of the vector a rank on
// with Myrinet (16 KiB with 64 processes, 32 KiB with 128), from 8 KiB on with 32 hosts of gigabit
// Ethernet. Both sides of each, against recursive doubling; the latencies are ours
// (docs/generate.md).
class Crossover : public Transcript {
  protected:
    [[nodiscard]] double milliseconds(const std::string& cluster, const std::string& bytes,
                                      const std::string& algorithm) const {
        const Answer answer = tutti("simulate allreduce " + cluster + " --bytes " + bytes +
                                    " --algorithm " + algorithm + ":flat");
        const auto words = row(answer.out, algorithm);
        EXPECT_GE(words.size(), 3u) << answer.out << answer.err;
        if (words.size() < 3) return 0;
        return std::stod(words[1]) * (words[2] == "us" ? 1e-3 : words[2] == "ms" ? 1 : 1e3);
    }
    void expect_between(const std::string& cluster, const std::string& below,
                        const std::string& from) const {
        EXPECT_LT(milliseconds(cluster, below, "pairwise"), milliseconds(cluster, below, "ring"));
        EXPECT_GT(milliseconds(cluster, from, "pairwise"), milliseconds(cluster, from, "ring"));
    }
};

TEST_F(Crossover, IsWhereTheSourceHasIt) {
    expect_between("--ranks 64 --hosts 32 --rate 2Gbit --latency 7us", "8K", "16K");
    expect_between("--ranks 128 --hosts 64 --rate 2Gbit --latency 7us", "16K", "32K");
    expect_between("--ranks 32 --rate 1Gbit --latency 100us", "128K", "256K");
}

struct Wrong {
    const char* before;
    const char* arguments;
    const char* line;
};
class WrongSchedule : public Transcript, public testing::WithParamInterface<Wrong> {};

TEST_P(WrongSchedule, IsOneLine) {
    const Answer answer = tutti(GetParam().arguments, GetParam().before);
    EXPECT_EQ(answer.err, std::string("tutti: ") + GetParam().line + "\n");
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Explain, WrongSchedule,
    testing::Values(
        Wrong{"", "explain",
              "explain: which collective? One of barrier, bcast, reduce, allreduce, gather, "
              "scatter, allgather, reduce_scatter_block, alltoall, scan, exscan, gatherv, "
              "scatterv, allgatherv, alltoallv, alltoallw, reduce_scatter"},
        Wrong{"", "explain alreduce --ranks 2",
              "unknown collective alreduce; did you mean allreduce?"},
        Wrong{"", "explain neighbor_allgather --ranks 2",
              "unknown collective neighbor_allgather: Tutti runs barrier, bcast, reduce, "
              "allreduce, gather, scatter, allgather, reduce_scatter_block, alltoall, scan, "
              "exscan, gatherv, scatterv, allgatherv, alltoallv, alltoallw, reduce_scatter, your "
              "MPI the others"},
        Wrong{"", "explain allreduce --ranks 2 --hosts 1 --bytes 8 --algorithm split",
              "--algorithm: split is an algorithm within a host: node:split"},
        Wrong{"", "explain barrier now --ranks 2", "explain: unexpected word now"},
        Wrong{"", "explain barrier", "explain: --ranks is missing"},
        Wrong{"", "explain barrier --ranks", "explain: --ranks expected N"},
        Wrong{"", "explain barrier --ranks 0", "--ranks=0: expected a number from 1 to 131072"},
        Wrong{"", "explain barrier --ranks 4 --hosts 5",
              "--hosts=5: expected a number from 1 to 4"},
        Wrong{"", "explain barrier --ranks 4 --hosts 99999999999999999999",
              "--hosts=99999999999999999999: expected a number from 1 to 4"},
        Wrong{"", "explain barrier --ranks 4 --bytes 8", "--bytes: barrier has none"},
        Wrong{"", "explain barrier --ranks 4 --root 1", "--root: barrier has none"},
        Wrong{"", "explain bcast --ranks 4", "explain: --bytes is missing"},
        Wrong{"", "explain bcast --ranks 4 --bytes 1Q",
              "--bytes=1Q: expected bytes up to 64G, such as 64K"},
        Wrong{"", "explain bcast --ranks 4 --bytes 1K,2K", "--bytes=1K,2K: expected one number"},
        Wrong{"", "explain bcast --ranks 4 --bytes 8 --root 4",
              "--root=4: expected a number from 0 to 3"},
        Wrong{"", "explain bcast --rank 4", "unknown option --rank; did you mean --ranks?"},
        Wrong{"", "explain bcast --ranks 4 --bytes 8 --placement far",
              "--placement=far: expected block, round-robin, random:SEED or the host of each rank"},
        Wrong{"", "explain bcast --ranks 4 --bytes 8 --mpi lam",
              "--mpi=lam: expected openmpi, mpich or impi"},
        Wrong{"", "explain bcast --ranks 4 --bytes 8 --non-commutative",
              "--non-commutative: bcast has no operator"},
        Wrong{"", "explain bcast --ranks 4 --bytes 8 --schedule=1",
              "--schedule=1: expected no value"},
        Wrong{"", "explain bcast --ranks 4 --bytes 8 --help=1", "--help=1: expected no value"},
        Wrong{"",
              "explain bcast --ranks 4 --bytes 8 --algorithm :", "--algorithm: which algorithm?"},
        Wrong{"", "explain bcast --ranks 4 --bytes 8 --algorithm chain:",
              "--algorithm: an option is missing behind chain"},
        Wrong{"TUTTI_TOPOLOGY=pack:x", "explain barrier --ranks 4 --hosts 1",
              "TUTTI_TOPOLOGY: topology \"pack:x\": not a description that hwloc knows, such as "
              "\"pack:2 l3:4 core:8 pu:1\""},
        Wrong{"", "explain bcast --ranks 4 --bytes 8 --algorithm chian",
              "--algorithm: unknown algorithm chian of bcast; did you mean chain?"},
        Wrong{"", "explain bcast --ranks 4 --hosts 1 --bytes 8 --algorithm chain",
              "--algorithm: on one host no message is sent; see --hosts"},
        Wrong{"", "explain bcast --ranks 4 --hosts 1 --bytes 2K --algorithm node:small",
              "--algorithm=node:small: cannot run this call: small holds up to 1 KiB"},
        Wrong{
            "", "explain bcast --ranks 4 --hosts 2 --bytes 8 --algorithm node:small",
            "--algorithm=node:small: cannot run this call: node algorithms run teams on one host, "
            "this one has more"},
        Wrong{"", "explain bcast --ranks 4 --hosts 1 --bytes 8 --algorithm node:split",
              "--algorithm: bcast has no node algorithm split; it has node:small, node:tree, "
              "node:pipeline, node:single"},
        Wrong{"", "explain bcast --ranks 4 --hosts 1 --bytes 8 --svg a.svg",
              "--svg: Tutti sends nothing here (one host: shared memory)"},
        Wrong{"", "explain barrier --ranks 129 --svg a.svg",
              "--svg: a drawing holds at most 128 ranks"},
        Wrong{"", "explain bcast --ranks 4 --bytes 8 --rules none.toml",
              "rules file none.toml: No such file or directory"},
        Wrong{"TUTTI_REDUCE=rnig", "explain barrier --ranks 2",
              "TUTTI_REDUCE=rnig: unknown algorithm rnig of reduce"},
        Wrong{"printf '[[rule]]\\ncolective = 1' >r.toml;",
              "explain barrier --ranks 2 --rules r.toml",
              "r.toml:2:1: unknown key colective; did you mean collective?"}));

INSTANTIATE_TEST_SUITE_P(
    Check, WrongSchedule,
    testing::Values(
        Wrong{"", "check rign", "unknown algorithm rign; did you mean ring?"},
        Wrong{"", "check barrier ring", "check: no such algorithm: barrier ring"},
        Wrong{"", "check --ranks 0", "--ranks=0: expected a range such as 2..16, up to 4096"},
        Wrong{"", "check --ranks 5..4", "--ranks=5..4: expected a range such as 2..16, up to 4096"},
        Wrong{"", "check barrier --ranks 2..4 --hosts 5",
              "--hosts: none of these teams is on so many hosts; see --ranks"},
        Wrong{"", "check --file /dev/zero", "/dev/zero: more than 256 MiB"},
        Wrong{"", "check --placement block", "--placement needs --fabric or --file"},
        Wrong{"", "check --leaves 2,2", "--leaves needs --file"},
        Wrong{"", "check --file none", "none: cannot be read"},
        Wrong{"", "check --file .", ".: is a directory"},
        Wrong{"", "check --file s ring", "check: unexpected word ring"},
        Wrong{"printf 'schedule 1\\ncolective' >s;", "check --file s",
              "s:2:1: 'collective' is missing here"},
        Wrong{"\"$T\" explain barrier --ranks 2 --schedule | sed 15q >s;", "check --file s",
              "s:16:1: rank 1 has no schedule"}));

INSTANTIATE_TEST_SUITE_P(
    Simulate, WrongSchedule,
    testing::Values(
        Wrong{"", "simulate barrier --ranks 4 --rate fast",
              "--rate=fast: expected a rate such as 100Gbit or 25mbit"},
        Wrong{"", "simulate barrier --ranks 4 --latency 1",
              "--latency=1: expected a time such as 1us or 1.5ms"},
        Wrong{"", "simulate barrier --ranks 4 --latency 0us",
              "--latency=0us: expected a time such as 1us or 1.5ms"},
        Wrong{"", "simulate barrier --ranks 4 --leaves 2,1",
              "--leaves=2,1: expected 4 hosts together"},
        Wrong{"", "simulate barrier --ranks 4 --leaves 2,two",
              "--leaves=2,two: expected hosts on each leaf, such as 8,8"},
        Wrong{"", "simulate barrier --ranks 4 --leaves 4,0",
              "--leaves=4,0: expected hosts on each leaf, such as 8,8"},
        Wrong{"", "simulate barrier --ranks 4 --trunk 1Gbit",
              "--trunk: there is but one switch; see --leaves"},
        Wrong{"", "simulate barrier --ranks 4 --leaves 2,2 --trunk fast",
              "--trunk=fast: expected a rate such as 100Gbit or 25mbit"},
        Wrong{"", "simulate barrier --ranks 4 --seed -1",
              "--seed=-1: expected a number from 0 to 18446744073709551615"},
        Wrong{"", "simulate barrier --ranks 4 --hosts 1",
              "simulate: on one host no message is sent; tutti explain says what runs in shared "
              "memory, tutti bench measures it; see also --hosts"},
        Wrong{"", "simulate barrier --ranks 4 --algorithm rign",
              "--algorithm: unknown algorithm rign of barrier"},
        Wrong{"", "simulate barrier --ranks 4 --mpi mpich --algorithm host",
              "simulate: Tutti sends nothing here (forced by --algorithm)"}));

TEST_F(Transcript, SimulateKnowsLateRanks) {
    const std::string call = "simulate barrier --ranks 16 --algorithm dissemination --skew ";
    const Answer one = tutti(call + "one:0,5ms");
    EXPECT_EQ(one.status, 0) << one.err;
    EXPECT_NE(one.out.find("skew: one, up to 5 ms late; delay: last exit - last arrival, the "
                           "median of 9; inside: how long a rank is in the call, the mean\n"),
              std::string::npos)
        << one.out;
    // Twice: with nobody late, and with somebody.
    const std::string row = "* dissemination            4 us     4.00       4        64";
    const size_t first = one.out.find(row);
    ASSERT_NE(first, std::string::npos) << one.out;
    EXPECT_NE(one.out.find(row, first + 1), std::string::npos) << one.out;
    // 4 us where all come together.
    EXPECT_NE(one.out.find("       4 us\n", first), std::string::npos) << one.out;
    EXPECT_EQ(tutti(call + "sometimes:1ms").status, 2);
    EXPECT_EQ(tutti(call + "none:1ms").err, "tutti: --skew 'none:1ms': none has no MAX\n");
    EXPECT_EQ(tutti(call + "one:2ms,1ms").err,
              "tutti: --skew 'one:2ms,1ms': each MAX is to be longer than the one before it\n");
}

// Whoever is there is fed and gone; by the others more wait for the late one.
TEST_F(Transcript, SimulateShowsWhoIsHeldUp) {
    const auto inside = [this](const std::string& algorithm) {
        const Answer one = tutti(
            "simulate bcast --ranks 16 --bytes 256K --rate 25Gbit --latency 2us "
            "--skew one:10ms --algorithm " +
            algorithm);
        EXPECT_EQ(one.status, 0) << one.err;
        const size_t row = one.out.find("* " + algorithm);
        EXPECT_NE(row, std::string::npos) << one.out;
        const size_t end = one.out.find('\n', row);
        return one.out.substr(end - 10, 10);
    };
    // The root alone is held up; in some draws it is the late one, and all wait for it.
    EXPECT_EQ(inside("adaptive"), "   1.76 ms");
    EXPECT_EQ(inside("binomial"), "  2.399 ms");
    EXPECT_EQ(inside("chain"), "  4.494 ms");
}

}  // namespace
}  // namespace tutti::golden
