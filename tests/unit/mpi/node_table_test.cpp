// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/node_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "mpi/report.h"
#include "mpi/report_table.h"

namespace tutti::mpi {
namespace {

// Two sockets: streams, and single copy from 32 KiB on.
tutti_node_info far_info(uint64_t processes, tutti_node_state state) {
    tutti_node_info info{};
    info.struct_bytes = sizeof info;
    info.state = state;
    info.ranks = 4;
    info.reads = 1;
    info.processes = processes;
    info.barrier_ns = 1234;
    const uint32_t ways[TUTTI_NODE_WAYS] = {31000, 25000, 30000, 15600};
    memcpy(info.way_ns, ways, sizeof ways);
    info.one_way_ring_ns[2] = 8000;
    info.one_way_single_ns[2] = 7000;
    info.one_way_single_ns[3] = 12000;
    info.way = 3;
    info.piece_count = 4;
    info.piece_bytes_min = 8192;
    info.piece_bytes_max = 65536;
    info.ring_bytes = 2097152;
    info.single_one_way_bytes = 32768;
    info.single_all_ways_bytes = UINT64_MAX;
    info.single_scatter_bytes = 16384;
    info.short_ns = 300;
    info.fold_ns = 17000;
    info.readers_ns[1] = 9000;
    info.readers_ns[2] = 11000;
    info.single_readers_max = 2;
    strncpy(info.host, "node7", sizeof info.host - 1);
    strncpy(info.figures, "FIGURES", sizeof info.figures - 1);
    strncpy(info.follows, "FOLLOWS", sizeof info.follows - 1);
    return info;
}

tutti_node_info crowded_info(uint64_t processes) {
    tutti_node_info info{};
    info.struct_bytes = sizeof info;
    info.state = TUTTI_NODE_UNMEASURED;
    info.ranks = 8;
    info.processes = processes;
    info.way = 1;
    info.piece_count = 8;
    info.piece_bytes_min = 2048;
    info.piece_bytes_max = 16384;
    info.ring_bytes = 524288;
    info.single_one_way_bytes = info.single_all_ways_bytes = UINT64_MAX;
    info.single_scatter_bytes = UINT64_MAX;
    info.single_readers_max = UINT32_MAX;
    strncpy(info.host, "node7", sizeof info.host - 1);
    strncpy(info.reason, "ranks share processors", sizeof info.reason - 1);
    strncpy(info.follows, "DEFAULTS", sizeof info.follows - 1);
    return info;
}

TEST(NodeLog, OneRecordForEachSetOfProcesses) {
    NodeLog log;
    tutti_node_info info = far_info(1, TUTTI_NODE_EARLIER);
    log.add(info);
    info.rank = 1;  // the first of each team speaks
    log.add(info);
    info = far_info(1, TUTTI_NODE_MEASURED);
    log.add(info);
    log.add(far_info(2, TUTTI_NODE_MEASURED));
    info.lean = 1;
    log.add(info);
    info.state = TUTTI_NODE_ALONE;
    log.add(info);
    ASSERT_EQ(log.records().size(), 2u);
    EXPECT_EQ(log.records()[0].teams, 3u);
    EXPECT_EQ(log.records()[0].lean, 1u);
    EXPECT_EQ(log.records()[0].info.state, TUTTI_NODE_MEASURED);
    EXPECT_EQ(log.records()[1].teams, 1u);
}

TEST(NodeLog, WhatWasMeasuredLastStays) {
    NodeLog log;
    tutti_node_info moved = far_info(1, TUTTI_NODE_EARLIER);
    moved.again = 2;
    moved.barrier_ns = 60;
    log.add(far_info(1, TUTTI_NODE_MEASURED));
    log.add(moved);
    log.add(far_info(1, TUTTI_NODE_EARLIER));
    const auto rows = merge_nodes(log.records());
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].teams, 3u);
    EXPECT_EQ(rows[0].info.barrier_ns, 60u);
    EXPECT_EQ(rows[0].info.again, 2u);
}

TEST(NodeLog, AFullTableCountsTheRest) {
    NodeLog log;
    for (uint64_t set = 1; set <= 100; ++set) log.add(far_info(set, TUTTI_NODE_MEASURED));
    ASSERT_EQ(log.records().size(), 32u);
    const auto rows = merge_nodes(log.records());
    const std::string text = node_text(rows);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8 * 2 + 1);
    EXPECT_NE(text.find("tutti: and of 92 communicators of other processes\n"), std::string::npos);
    EXPECT_EQ(node_json(rows)[31]["communicators_of_other_processes"], 68);
}

TEST(MergeNodes, HostsAndSetsStayApart) {
    std::vector<NodeRecord> records;
    for (const char* host : {"node7", "node8"}) {
        NodeRecord record{1, 0, far_info(1, TUTTI_NODE_MEASURED)};
        strncpy(record.info.host, host, sizeof record.info.host - 1);
        records.push_back(record);
        records.push_back(record);  // another team, of another first member
    }
    records.push_back({1, 0, crowded_info(3)});
    const auto rows = merge_nodes(records);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].info.ranks, 8u);
    EXPECT_STREQ(rows[1].info.host, "node7");
    EXPECT_EQ(rows[1].teams, 2u);
    EXPECT_STREQ(rows[2].info.host, "node8");
}

TEST(NodeTable, Text) {
    NodeRecord far{3, 0, far_info(1, TUTTI_NODE_MEASURED)};
    far.info.again = 1;
    const std::vector<NodeRecord> rows = {{1, 0, crowded_info(2)}, far};
    EXPECT_EQ(node_text(rows),
              "tutti: within node7, 8 ranks, 1 communicator: not measured: ranks share "
              "processors\n"
              "tutti:   -> DEFAULTS\n"
              "tutti: within node7, 4 ranks, 3 communicators, measured again once: FIGURES\n"
              "tutti:   -> FOLLOWS\n");
    far.info.again = 2;
    far.lean = 2;
    EXPECT_NE(node_text({&far, 1}).find(" 3 communicators (2 lean), measured"), std::string::npos);
    EXPECT_NE(node_text({&far, 1}).find(", measured again 2 times: FIGURES"), std::string::npos);
    EXPECT_EQ(node_text({}), "");
}

TEST(NodeTable, Json) {
    const std::vector<NodeRecord> rows = {{3, 0, far_info(1, TUTTI_NODE_MEASURED), 2},
                                          {1, 0, crowded_info(2)}};
    const auto expected = nlohmann::ordered_json::parse(R"([
      {"host": "node7", "ranks": 4, "communicators": 3, "lean_communicators": 2,
       "measured": true, "measured_again": 0,
       "barrier_ns": 1234,
       "one_way_64k_ns": {"plain": 31000, "prefetch": 25000, "string": 30000, "stream": 15600},
       "one_way": [{"bytes": 32768, "rings_ns": 8000, "single_copy_ns": 7000},
                   {"bytes": 65536, "single_copy_ns": 12000}],
       "all_ways": [],
       "one_way_1k_ns": 300, "folded_64k_ns": 17000,
       "one_way_64k_readers": [{"readers": 2, "single_copy_ns": 9000},
                               {"readers": 4, "single_copy_ns": 11000}],
       "follows": {"way": "stream", "pieces": 4, "piece_bytes_min": 8192, "piece_bytes_max": 65536,
                   "ring_bytes": 2097152,
                   "single_copy": true, "single_copy_one_way_from_bytes": 32768,
                   "single_copy_all_ways_from_bytes": null,
                   "single_copy_scatter_from_bytes": 16384, "single_copy_readers_max": 2}},
      {"host": "node7", "ranks": 8, "communicators": 1, "lean_communicators": 0,
       "measured": false,
       "reason": "ranks share processors",
       "follows": {"way": "prefetch", "pieces": 8, "piece_bytes_min": 2048,
                   "piece_bytes_max": 16384, "ring_bytes": 524288, "single_copy": false,
                   "single_copy_one_way_from_bytes": null,
                   "single_copy_all_ways_from_bytes": null,
                   "single_copy_scatter_from_bytes": null,
                   "single_copy_readers_max": null}}])");
    EXPECT_EQ(node_json(rows), expected);
}

// Of the table, where all there is was asked for.
TEST(NodeTable, StandsInBothReports) {
    ReportHead head;
    head.nodes = {{1, 0, crowded_info(2)}};
    const std::vector<ReportRow> rows = {{kBarrier, 0, 0, 4, "small", 1, 0, 0}};
    EXPECT_EQ(report_text(head, rows).find("tutti: within"), std::string::npos);
    head.is_full = true;
    EXPECT_NE(report_text(head, rows).find("tutti: within node7"), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(report_json(head, rows))["nodes"].size(), 1u);
}

}  // namespace
}  // namespace tutti::mpi
