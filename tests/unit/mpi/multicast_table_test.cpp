// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/multicast_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

namespace tutti::mpi {
namespace {

tutti_multicast_info info_of(tutti_multicast_state state, uint32_t group, const char* name) {
    tutti_multicast_info info{};
    info.struct_bytes = sizeof info;
    info.state = state;
    info.hosts = 4;
    info.group = group;
    info.carries = 1;
    strncpy(info.name, name, sizeof info.name - 1);
    return info;
}

tutti_multicast_info without(const char* name, const char* reason) {
    tutti_multicast_info info = info_of(TUTTI_MULTICAST_OFF, 0, name);
    info.carries = 0;
    strncpy(info.reason, reason, sizeof info.reason - 1);
    return info;
}

TEST(MulticastLog, OneVoiceForEachHostAndForEachReason) {
    MulticastLog log;
    log.add(info_of(TUTTI_MULTICAST_NONE, 0, "a"), 0, 8);
    tutti_multicast_info info = info_of(TUTTI_MULTICAST_ON, 7, "a");
    info.carries = 0;
    log.add(info, 0, 8);
    log.add(without("a", "why"), 3, 8);
    EXPECT_TRUE(log.records().empty());
    info.carries = 1;
    log.add(info, 3, 8);
    log.add(without("a", "why"), 0, 8);
    log.add(without("b", "why"), 0, 8);
    log.add(without("b", "something else"), 0, 8);
    ASSERT_EQ(log.records().size(), 3u);
    EXPECT_EQ(log.records()[0].teams, 1u);
    EXPECT_EQ(log.records()[1].teams, 2u);
    EXPECT_STREQ(log.records()[1].info.name, "a");
}

TEST(MulticastLog, AFullTableAddsToItsLastRow) {
    MulticastLog log;
    for (uint32_t group = 1; group <= 1000; ++group) {
        tutti_multicast_info info = info_of(TUTTI_MULTICAST_ON, group, "a");
        info.data_packets = 10;
        log.add(info, 0, 8);
    }
    uint64_t packets = 0;
    uint32_t teams = 0;
    for (const MulticastRecord& record : log.records()) {
        packets += record.info.data_packets;
        teams += record.teams;
    }
    EXPECT_LT(log.records().size(), 100u);
    EXPECT_EQ(packets, 10'000u);
    EXPECT_EQ(teams, 1000u);
}

std::vector<MulticastRecord> three_hosts() {
    std::vector<MulticastRecord> records;
    for (uint64_t host = 0; host < 3; ++host) {
        MulticastRecord record{8, 1, info_of(TUTTI_MULTICAST_ON, 7, "MPI_COMM_WORLD")};
        tutti_multicast_info& info = record.info;
        info.hosts = 3;
        info.bytes_per_s = 3'125'000;
        info.round_trip_ns = 400'000;
        info.data_packets = 100;
        info.losses = info.naks = info.repaired = 2 * host;
        info.repaired_in_10_ms = host;
        info.repair_ns_max = host * 7'000'000;
        info.repairs_to_one = 5;
        info.repairs_to_all = 1;
        info.duplicates = 3;
        info.rejected = 4;
        info.ungrouped = 2;
        info.malformed = 1;
        strcpy(info.interface_name, "eth0");
        strcpy(info.address, "239.1.2.3:17717");
        records.push_back(record);
    }
    return records;
}

TEST(MulticastTable, AddsUpTheHostsOfAGroup) {
    std::vector<MulticastRecord> records = three_hosts();
    records.push_back({4, 1, without("rows", "h3: why")});
    records.push_back({4, 2, without("columns", "h3: why")});
    const auto rows = merge_multicasts(records);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(multicast_text(rows),
              "tutti: multicast on MPI_COMM_WORLD (8 ranks, 3 hosts): eth0, 239.1.2.3:17717, 25 "
              "Mbit/s, round trip 0.4 ms, authenticated, readable by whoever joins; 300 packets, 6 "
              "losses, "
              "6 NAKs, 15 repairs to one and 3 to "
              "all (50 % within 10 ms, at most 14 ms), 9 duplicates, 12 rejected, 6 ungrouped, 3 "
              "malformed\n"
              "tutti: multicast off on rows (4 ranks, 4 hosts) and 2 more: h3: why\n");
    const auto json = multicast_json(rows);
    ASSERT_EQ(json.size(), 2u);
    EXPECT_EQ(json[0]["state"], "on");
    EXPECT_EQ(json[0]["communicators"], 1);
    EXPECT_EQ(json[0]["data_packets"], 300);
    EXPECT_EQ(json[0]["repaired_in_10_ms"], 3);
    EXPECT_EQ(json[0]["repair_s_max"], 0.014);
    EXPECT_FALSE(json[0].contains("reason"));
    EXPECT_EQ(json[1]["state"], "off");
    EXPECT_EQ(json[1]["reason"], "h3: why");
    EXPECT_EQ(json[1]["communicators"], 3);
    EXPECT_FALSE(json[1].contains("data_packets"));
}

TEST(MulticastTable, SaysWhoCanReadThePackets) {
    std::vector<MulticastRecord> records = three_hosts();
    EXPECT_EQ(multicast_json(merge_multicasts(records))[0]["encrypted"], false);
    EXPECT_EQ(multicast_json(merge_multicasts(records))[0]["code"], "all");
    const auto said = [&](tutti_multicast_protection protection, const std::string& text,
                          bool is_encrypted, const std::string& code) {
        for (MulticastRecord& record : records) record.info.protection = protection;
        const auto rows = merge_multicasts(records);
        EXPECT_NE(multicast_text(rows).find("round trip 0.4 ms, " + text), std::string::npos)
            << multicast_text(rows);
        EXPECT_EQ(multicast_json(rows)[0]["encrypted"], is_encrypted);
        EXPECT_EQ(multicast_json(rows)[0]["code"], code);
    };
    said(TUTTI_MULTICAST_ENCRYPTED, "encrypted; ", true, "all");
    said(TUTTI_MULTICAST_HEADERS, "headers authenticated: whoever joins reads packets, and can ",
         false, "header");
    said(TUTTI_MULTICAST_UNPROTECTED, "not authenticated: whoever joins reads packets, and can ",
         false, "none");
}

TEST(MulticastTable, SaysWhereCodesBoundTheRate) {
    std::vector<MulticastRecord> records = three_hosts();
    for (MulticastRecord& record : records) record.info.code_bytes_per_s = 3'200'000;
    auto rows = merge_multicasts(records);
    EXPECT_NE(multicast_text(rows).find(", 25 Mbit/s, round trip"), std::string::npos);
    EXPECT_EQ(multicast_json(rows)[0]["code_bytes_per_s"], 3'200'000);
    for (MulticastRecord& record : records) record.info.code_bytes_per_s = 3'125'000;
    rows = merge_multicasts(records);
    EXPECT_NE(multicast_text(rows).find(", 25 Mbit/s (as fast as packets are coded), round trip"),
              std::string::npos);
}

TEST(MulticastTable, SaysWhatCarriesThePackets) {
    std::vector<MulticastRecord> records = three_hosts();
    for (MulticastRecord& record : records) strcpy(record.info.no_verbs, "h1: no port");
    auto rows = merge_multicasts(records);
    EXPECT_NE(multicast_text(rows).find(": eth0 (not by verbs: h1: no port), 239.1.2.3:17717, "),
              std::string::npos);
    EXPECT_EQ(multicast_json(rows)[0]["over"], "udp");
    EXPECT_EQ(multicast_json(rows)[0]["no_verbs"], "h1: no port");
    for (MulticastRecord& record : records) {
        record.info.fabric = TUTTI_MULTICAST_VERBS;
        strcpy(record.info.no_verbs, "");
    }
    rows = merge_multicasts(records);
    EXPECT_EQ(multicast_json(rows)[0]["over"], "verbs");
    EXPECT_FALSE(multicast_json(rows)[0].contains("no_verbs"));
}

TEST(MulticastTable, SaysByWhatAFabricWasChosen) {
    std::vector<MulticastRecord> records = three_hosts();
    EXPECT_FALSE(multicast_json(merge_multicasts(records))[0].contains("predicted"));
    for (MulticastRecord& record : records) {
        tutti_multicast_info& info = record.info;
        strcpy(info.no_verbs, "UDP is predicted to be faster");
        info.predicted_short_ns[TUTTI_MULTICAST_VERBS] = 40'000;
        info.predicted_short_ns[TUTTI_MULTICAST_UDP] = 30'000;
        info.predicted_long_ns[TUTTI_MULTICAST_VERBS] = 2'000'000;
        info.predicted_long_ns[TUTTI_MULTICAST_UDP] = 1'000'000;
    }
    const auto rows = merge_multicasts(records);
    EXPECT_NE(multicast_text(rows).find(
                  ": eth0 (not by verbs: UDP is predicted to be faster) (broadcasts predicted: 8 B "
                  "0.04 ms by verbs, 0.03 ms by UDP; 64 KiB 2 ms by verbs, 1 ms by UDP), 239.1"),
              std::string::npos)
        << multicast_text(rows);
    const auto json = multicast_json(rows)[0]["predicted"];
    EXPECT_EQ(json["verbs"]["short_s"], 40'000 * 1e-9);
    EXPECT_EQ(json["verbs"]["long_s"], 2'000'000 * 1e-9);
    EXPECT_EQ(json["udp"]["short_s"], 30'000 * 1e-9);
    EXPECT_EQ(json["udp"]["long_s"], 1'000'000 * 1e-9);
}

TEST(MulticastTable, SaysWhyThereWasNoChoice) {
    std::vector<MulticastRecord> records = three_hosts();
    for (MulticastRecord& record : records) {
        record.info.fabric = TUTTI_MULTICAST_VERBS;
        strcpy(record.info.no_udp, "h1: no socket");
    }
    const auto rows = merge_multicasts(records);
    EXPECT_NE(multicast_text(rows).find(": eth0 (not compared with UDP: h1: no socket), 239.1"),
              std::string::npos)
        << multicast_text(rows);
    EXPECT_EQ(multicast_json(rows)[0]["over"], "verbs");
    EXPECT_EQ(multicast_json(rows)[0]["no_udp"], "h1: no socket");
    EXPECT_FALSE(multicast_json(rows)[0].contains("predicted"));
}

TEST(MulticastTable, AFailureIsNamedWhoeverNoticedIt) {
    std::vector<MulticastRecord> records = three_hosts();
    records[1].info.state = TUTTI_MULTICAST_FAILED;
    strcpy(records[1].info.reason, "h2 is gone");
    const std::string text = multicast_text(merge_multicasts(records));
    EXPECT_TRUE(
        text.starts_with("tutti: multicast until a failure on MPI_COMM_WORLD (8 ranks, 3 "
                         "hosts): h2 is gone; eth0, "))
        << text;
    EXPECT_EQ(multicast_json(merge_multicasts(records))[0]["reason"], "h2 is gone");
}

TEST(MulticastTable, SaysThatItCameBack) {
    std::vector<MulticastRecord> records = three_hosts();
    for (MulticastRecord& record : records) {
        record.info.failures = record.info.returns = 2;
        strcpy(record.info.reason, "h2 had not answered");
    }
    const auto rows = merge_multicasts(records);
    const std::string text = multicast_text(rows);
    EXPECT_TRUE(
        text.starts_with("tutti: multicast on MPI_COMM_WORLD (8 ranks, 3 hosts): came back "
                         "twice (h2 had not answered); eth0, "))
        << text;
    EXPECT_EQ(multicast_json(rows)[0]["failures"], 2);
    EXPECT_EQ(multicast_json(rows)[0]["returns"], 2);
    EXPECT_EQ(multicast_json(rows)[0]["reason"], "h2 had not answered");
    records[1].info.state = TUTTI_MULTICAST_FAILED;
    records[1].info.failures = 3;
    strcpy(records[1].info.reason, "h1 no longer answers");
    const auto failed = merge_multicasts(records);
    EXPECT_TRUE(multicast_text(failed).starts_with(
        "tutti: multicast until a failure on MPI_COMM_WORLD (8 ranks, 3 hosts): h1 no longer "
        "answers, after it came back twice; eth0, "));
    EXPECT_EQ(multicast_json(failed)[0]["failures"], 3);
}

// Of a team that has measured messages, whether it tried multicast or not.
TEST(MulticastTable, MessagesAsMeasured) {
    MulticastLog log;
    tutti_multicast_info info = info_of(TUTTI_MULTICAST_LATER, 0, "a");
    info.carries = 0;
    log.add(info, 0, 8);
    EXPECT_TRUE(log.records().empty());
    info.message_latency_ns = 45'000;
    info.message_bytes_per_s = 3'125'000;
    log.add(info, 1, 8);
    log.add(info, 0, 8);
    log.add(info, 0, 8);
    info.state = TUTTI_MULTICAST_OFF;
    strcpy(info.reason, "h1 is deaf");
    log.add(info, 0, 8);
    const auto rows = merge_multicasts(log.records());
    const std::string measured =
        "measured 0.045 ms, 25 Mbit/s; where prices decide, by that (TUTTI_PRICE)\n";
    EXPECT_EQ(multicast_text(rows),
              "tutti: messages on a (8 ranks, 4 hosts) and 1 more: " + measured +
                  "tutti: messages on a (8 ranks, 4 hosts): " + measured +
                  "tutti: multicast off on a (8 ranks, 4 hosts): h1 is deaf\n");
    const auto json = multicast_json(rows);
    EXPECT_EQ(json[0]["state"], "later");
    EXPECT_EQ(json[0]["message_bytes_per_s"], 3'125'000);
    EXPECT_EQ(json[1]["state"], "off");
}

TEST(MulticastTable, WithoutItIsSilent) {
    EXPECT_EQ(multicast_text({}), "");
    EXPECT_TRUE(multicast_json({}).empty());
}

}  // namespace
}  // namespace tutti::mpi
