// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/verbs_table.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace tutti::mpi {
namespace {

tutti_verbs_info info_of(const char* name, const char* reason = "") {
    tutti_verbs_info info{};
    info.struct_bytes = sizeof info;
    info.state = *reason == '\0' ? TUTTI_VERBS_ON : TUTTI_VERBS_OFF;
    info.hosts = 2;
    if (*reason == '\0') {
        info.peers = 2;
        info.memory_bytes = 491'520;
        std::snprintf(info.port, sizeof info.port, "mlx5_0:1");
    }
    std::snprintf(info.name, sizeof info.name, "%s", name);
    std::snprintf(info.reason, sizeof info.reason, "%s", reason);
    return info;
}

TEST(VerbsTable, NothingIsSaidWhereNobodyWantsIt) {
    VerbsLog log;
    log.add({}, 0, 4);
    log.add(info_of("a"), 1, 4);  // its first rank does
    EXPECT_TRUE(log.records().empty());
    EXPECT_EQ(verbs_text(merge_verbs(log.records())), "");
    EXPECT_EQ(verbs_json({}).dump(), "[]");
}

TEST(VerbsTable, TheLargestTeamSpeaksAndReasonsStandBehind) {
    VerbsLog log;
    log.add(info_of("b", "rank 1: this host has no RDMA device"), 0, 3);
    log.add(info_of("halves"), 0, 2);
    VerbsLog other;
    other.add(info_of("MPI_COMM_WORLD"), 0, 4);
    std::vector<VerbsRecord> all(log.records().begin(), log.records().end());
    all.insert(all.end(), other.records().begin(), other.records().end());
    const auto rows = merge_verbs(all);
    EXPECT_EQ(verbs_text(rows),
              "tutti: messages by RDMA on MPI_COMM_WORLD (4 ranks, 2 hosts) and 1 more: its first "
              "rank by mlx5_0:1 to 2 ranks, 0.469 MiB registered\n"
              "tutti: no messages by RDMA on b (3 ranks, 2 hosts): rank 1: this host has no RDMA "
              "device\n");
    const auto json = verbs_json(rows);
    EXPECT_EQ(json[0]["state"], "on");
    EXPECT_EQ(json[0]["communicators"], 2);
    EXPECT_EQ(json[0]["registered_bytes"], 491'520);
    EXPECT_EQ(json[0]["polls_tails"], false);
    EXPECT_EQ(json[1]["reason"], "rank 1: this host has no RDMA device");
}

// The one that has the memory says how much it is.
TEST(VerbsTable, TeamsThatShareConnectionsAreCounted) {
    VerbsLog log;
    for (const uint32_t shares : {1u, 0u, 1u}) {
        tutti_verbs_info info = info_of(shares != 0 ? "a copy" : "MPI_COMM_WORLD");
        info.shares = shares;
        if (shares != 0) info.memory_bytes = 0;
        log.add(info, 0, 4);
    }
    const auto rows = merge_verbs(log.records());
    EXPECT_EQ(verbs_text(rows),
              "tutti: messages by RDMA on MPI_COMM_WORLD (4 ranks, 2 hosts) and 2 more, 2 by "
              "connections of others: its first rank by mlx5_0:1 to 2 ranks, 0.469 MiB "
              "registered\n");
    EXPECT_EQ(verbs_json(rows)[0]["sharing"], 2);
}

// Of all teams together.
TEST(VerbsTable, MessagesFoundByTheirEndsAreSaid) {
    VerbsLog log;
    tutti_verbs_info info = info_of("MPI_COMM_WORLD");
    info.polls_tails = 1;
    log.add(info, 0, 4);
    const auto rows = merge_verbs(log.records());
    EXPECT_EQ(verbs_text(rows),
              "tutti: messages by RDMA on MPI_COMM_WORLD (4 ranks, 2 hosts): its first rank by "
              "mlx5_0:1 to 2 ranks, 0.469 MiB registered, messages found by their ends\n");
    EXPECT_EQ(verbs_json(rows)[0]["polls_tails"], true);
}

TEST(VerbsTable, LongMessagesAreCounted) {
    VerbsLog log;
    tutti_verbs_info info = info_of("MPI_COMM_WORLD");
    info.long_messages = 40;
    log.add(info, 0, 4);
    info = info_of("halves");
    info.long_messages = 2;
    info.long_copied = 3;
    log.add(info, 0, 2);
    const auto rows = merge_verbs(log.records());
    EXPECT_EQ(verbs_text(rows),
              "tutti: messages by RDMA on MPI_COMM_WORLD (4 ranks, 2 hosts) and 1 more: its first "
              "rank by mlx5_0:1 to 2 ranks, 0.469 MiB registered; 42 long messages without a copy; "
              "3 long messages copied, as their memory could not be registered (ulimit -l)\n");
    const auto json = verbs_json(rows);
    EXPECT_EQ(json[0]["long_messages"], 42);
    EXPECT_EQ(json[0]["long_copied"], 3);
}

TEST(VerbsTable, AdditionsAreCounted) {
    VerbsLog log;
    tutti_verbs_info info = info_of("MPI_COMM_WORLD");
    info.additions = 40;
    log.add(info, 0, 4);
    info = info_of("halves");
    info.additions = 2;
    log.add(info, 0, 2);
    const auto rows = merge_verbs(log.records());
    EXPECT_EQ(verbs_text(rows),
              "tutti: messages by RDMA on MPI_COMM_WORLD (4 ranks, 2 hosts) and 1 more: its first "
              "rank by mlx5_0:1 to 2 ranks, 0.469 MiB registered; 42 messages as additions to "
              "counters\n");
    EXPECT_EQ(verbs_json(rows)[0]["additions"], 42);
}

TEST(VerbsTable, MoreReasonsThanRowsAreCounted) {
    VerbsLog log;
    for (int i = 0; i < 20; ++i) {
        log.add(info_of("a", ("reason " + std::to_string(i)).c_str()), 0, 2);
    }
    ASSERT_EQ(log.records().size(), 8u);
    EXPECT_EQ(log.records()[7].teams, 13u);
}

}  // namespace
}  // namespace tutti::mpi
