// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/report.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "mpi/report_table.h"

namespace tutti::mpi {
namespace {

ReportRecord record(Kind kind, uint32_t ranks, uint64_t calls, uint64_t bytes, const char* how) {
    ReportRecord r{};
    r.kind = kind;
    r.size_class = size_class(calls == 0 ? 0 : bytes / calls);
    r.ranks = ranks;
    r.calls = calls;
    r.bytes = bytes;
    r.nanoseconds = 2000 * calls;
    strncpy(r.how, how, sizeof r.how - 1);
    return r;
}

TEST(SizeClass, HasItsEdgesWhereTheyAreNamed) {
    EXPECT_EQ(size_class(0), size_class(256));
    EXPECT_NE(size_class(256), size_class(257));
    EXPECT_EQ(size_class(257), size_class(16384));
    EXPECT_NE(size_class(16384), size_class(16385));
    EXPECT_EQ(size_class(16385), size_class(1 << 20));
    EXPECT_STREQ(size_class_name(size_class((1 << 20) + 1)), "> 1 MiB");
}

TEST(Counters, AddWhatIsAlikeAndKeepTheRestApart) {
    static Counters counters;
    const std::string copy = "small";
    counters.count(kAllreduce, 4, 8, "small", 100);
    counters.count(kAllreduce, 4, 16, "small", 50);
    counters.count(kAllreduce, 4, 8, "host: why", 10);
    counters.count(kAllreduce, 2, 8, "small", 10);
    counters.count(kBarrier, 4, 0, "small", 10);
    counters.count(kAllreduce, 4, 300, "small", 10);
    const auto records = counters.records();
    ASSERT_EQ(records.size(), 5u);
    uint64_t found = 0;
    for (const ReportRecord& r : records) {
        if (r.kind != kAllreduce || r.ranks != 4 || r.size_class != 0) continue;
        if (strcmp(r.how, "small") != 0) continue;
        ++found;
        EXPECT_EQ(r.calls, 2u);
        EXPECT_EQ(r.bytes, 24u);
        EXPECT_EQ(r.nanoseconds, 150u);
    }
    EXPECT_EQ(found, 1u);
}

TEST(Counters, LoseNothingWhenThreadsCountAtOnce) {
    static Counters counters;
    constexpr uint64_t kCalls = 20000;
    const auto work = [] {
        for (uint64_t i = 0; i < kCalls; ++i) {
            counters.count(static_cast<Kind>(i % kKinds), 3, i % 7, i % 2 ? "a" : "host: b", 1);
        }
    };
    std::thread other(work);
    work();
    other.join();
    uint64_t calls = 0, time = 0;
    for (const ReportRecord& r : counters.records()) {
        calls += r.calls;
        time += r.nanoseconds;
    }
    EXPECT_EQ(calls, 2 * kCalls);
    EXPECT_EQ(time, 2 * kCalls);
}

TEST(Counters, AFullTableDropsWhatIsNewAndKeepsTheRest) {
    static Counters counters;
    for (uint32_t ranks = 1; ranks <= 2000; ++ranks) counters.count(kBcast, ranks, 8, "x", 1);
    const size_t held = counters.records().size();
    EXPECT_LT(held, 2000u);
    counters.count(kBcast, 1, 8, "x", 1);
    EXPECT_EQ(counters.records().size(), held);
}

// The first calls take twice as long as later ones.
TEST(Counters, EstimateTheTimeOfCallsThatAreSeldomTimed) {
    static Counters counters;
    Tally* const tally = counters.passed(kBcast, Form::kNonblocking, 4, 8);
    ASSERT_NE(tally, nullptr);
    EXPECT_EQ(tally, counters.passed(kBcast, Form::kNonblocking, 4, 16));
    EXPECT_NE(tally, counters.passed(kBcast, Form::kStart, 4, 8));
    constexpr uint64_t kFirst = 64, kCalls = 10000;
    uint64_t timed = 0;
    for (uint64_t i = 0; i < kCalls; ++i) {
        const bool is_timed = tally->is_timed();
        EXPECT_TRUE(is_timed || i >= kFirst) << i;
        tally->add(8, i % 2 == 0);
        if (!is_timed) continue;
        ++timed;
        tally->add_time(i < kFirst ? 200 : 100, i % 2 == 0);
    }
    EXPECT_GT(timed, kFirst + kCalls / 40);
    EXPECT_LT(timed, kFirst + kCalls / 25);
    // The other two have no call.
    const auto records = counters.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].calls, kCalls);
    EXPECT_EQ(records[0].bytes, 8 * kCalls);
    EXPECT_EQ(records[0].form, static_cast<uint8_t>(Form::kNonblocking));
    EXPECT_STREQ(records[0].how, kNotTakenOver);
    const double all = 100.0 * kCalls + 100.0 * kFirst;
    EXPECT_NEAR(static_cast<double>(records[0].nanoseconds), all, 0.01 * all);
}

TEST(Report, KeepsTheFormsOfACollectiveTogether) {
    std::vector<ReportRecord> records = {
        record(kBcast, 1, 1, 8, kNotTakenOver),      record(kAllreduce, 1, 1, 0, kNotTakenOver),
        record(kAllreduce, 1, 7, 56, kNotTakenOver), record(kAllreduce, 1, 2, 16, "small"),
        record(kAllreduce, 1, 3, 24, kNotTakenOver), record(kNeighborAlltoall, 1, 1, 8, "host: x")};
    records[1].form = static_cast<uint8_t>(Form::kInit);
    records[2].form = static_cast<uint8_t>(Form::kStart);
    records[4].form = records[5].form = static_cast<uint8_t>(Form::kNonblocking);
    const auto rows = merge_records(records);
    const auto json = nlohmann::json::parse(report_json({"MPI X", 1, ""}, rows));
    std::vector<std::string> names;
    for (const auto& row : json["collectives"]) names.push_back(row["collective"]);
    EXPECT_EQ(names, (std::vector<std::string>{"bcast", "allreduce", "iallreduce", "allreduce_init",
                                               "allreduce_start", "ineighbor_alltoall"}));
    const std::string text = report_text({"MPI X", 1, ""}, rows);
    EXPECT_NE(text.find("  allreduce_start "), std::string::npos) << text;
    EXPECT_NE(text.find("  mean <= 256 B "), std::string::npos) << text;
    records[0].form = kForms;
    EXPECT_EQ(merge_records(records).size(), rows.size() - 1);
}

TEST(Report, CountsCallsOfTheCommunicatorNotOfItsRanks) {
    const std::vector<ReportRecord> records = {
        record(kBcast, 2, 10, 80, "small"),     record(kBcast, 2, 10, 80, "small"),
        record(kBcast, 2, 1, 8, "host: first"), record(kBcast, 2, 1, 8, "host: first"),
        record(kBarrier, 2, 4, 0, "small"),     record(kBarrier, 2, 4, 0, "small")};
    const auto rows = merge_records(records);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].kind, kBarrier);
    EXPECT_EQ(rows[0].calls, 4u);
    EXPECT_EQ(rows[1].how, "small");  // Tutti before the host
    EXPECT_EQ(rows[1].calls, 10u);
    EXPECT_EQ(rows[1].bytes, 80u);
    EXPECT_DOUBLE_EQ(rows[1].seconds, 20e-6);
    EXPECT_EQ(rows[2].calls, 1u);
}

// A gatherv of 4 ranks whose root knows all that comes, and an alltoallv of two sizes: each call is
// one, in the class of what its ranks know on average.
TEST(Report, MergesSizesThatDifferByRank) {
    const std::vector<ReportRecord> records = {
        record(kGatherv, 4, 5, 5 * 4000, "host: no"), record(kGatherv, 4, 5, 5 * 100, "host: no"),
        record(kGatherv, 4, 5, 5 * 100, "host: no"),  record(kGatherv, 4, 5, 5 * 100, "host: no"),
        record(kAlltoallv, 2, 1, 200, "host: no"),    record(kAlltoallv, 2, 1, 200, "host: no"),
        record(kAlltoallv, 2, 2, 200000, "host: no"), record(kAlltoallv, 2, 2, 0, "host: no"),
        record(kAlltoall, 1, 1, 200, "host: no"),     record(kAlltoall, 1, 1, 2000, "host: no")};
    const auto rows = merge_records(records);
    ASSERT_EQ(rows.size(), 4u);
    // Of one size on all ranks, each class has its row.
    EXPECT_EQ(rows[0].kind, kAlltoall);
    EXPECT_EQ(rows[1].kind, kAlltoall);
    EXPECT_EQ(rows[2].kind, kGatherv);
    EXPECT_EQ(rows[2].calls, 5u);
    EXPECT_EQ(rows[2].bytes, 5u * 4300 / 4);
    EXPECT_EQ(rows[2].size_class, size_class(4300 / 4));
    EXPECT_EQ(rows[3].kind, kAlltoallv);
    EXPECT_EQ(rows[3].calls, 3u);
    EXPECT_EQ(rows[3].bytes, 100200u);
    EXPECT_EQ(rows[3].size_class, size_class(33400));
    const std::string text = report_text({"MPI X", 4, ""}, rows);
    EXPECT_NE(text.find("  mean <= 16 KiB  "), std::string::npos) << text;
    EXPECT_NE(text.find("  mean <= 1 MiB   "), std::string::npos) << text;
}

TEST(Report, SkipsRecordsThatMakeNoSense) {
    std::vector<ReportRecord> records = {record(kBcast, 0, 1, 1, "x"),
                                         record(kBcast, 2, 1, 1, "x")};
    records[1].kind = 200;
    EXPECT_TRUE(merge_records(records).empty());
}

TEST(Report, TextHasAlignedColumnsAndTotals) {
    const std::vector<ReportRecord> records = {record(kAllreduce, 1, 12, 96, "small"),
                                               record(kReduceScatterBlock, 1, 3, 0, "host: no")};
    const std::string text = report_text({"MPI X v7.1", 1, ""}, merge_records(records));
    EXPECT_NE(text.find("tutti: MPI X v7.1, 1 rank: 12 collectives by Tutti, 3 by MPI X\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("tutti: bytes and times are those of one rank, on average\n"),
              std::string::npos);
    // The last column begins at one place in every line of the table.
    const size_t head = text.find("run by") - text.rfind('\n', text.find("run by"));
    const size_t row = text.find("Tutti: small") - text.rfind('\n', text.find("Tutti: small"));
    const size_t host = text.find("MPI X: no") - text.rfind('\n', text.find("MPI X: no"));
    EXPECT_EQ(head, row) << text;
    EXPECT_EQ(head, host) << text;
}

TEST(Report, MakingAPersistentRequestIsNoCollective) {
    std::vector<ReportRecord> records(2, record(kAllreduce, 1, 3, 0, "host: not taken over yet"));
    records[0].form = static_cast<uint8_t>(Form::kInit);
    records[1].form = static_cast<uint8_t>(Form::kStart);
    const std::string text = report_text({"MPI X 1", 1, ""}, merge_records(records));
    EXPECT_NE(text.find("0 collectives by Tutti, 3 by MPI X\n"), std::string::npos) << text;
}

TEST(Report, LargeNumbersCanBeRead) {
    const std::vector<ReportRecord> records = {record(kAllreduce, 1, 1234567, 9876536, "small")};
    ReportHead head{"MPI X", 1, ""};
    head.run_s = 2.5;
    EXPECT_EQ(
        report_text(head, merge_records(records)),
        "tutti: MPI X, 1 rank: 1,234,567 collectives by Tutti, 0 by MPI X; 2.50 s from "
        "MPI_Init to MPI_Finalize\n"
        "tutti: bytes and times are those of one rank, on average\n"
        "  collective  ranks  call size      calls      bytes  time in calls  per call  run by: "
        "algorithm, or why not by Tutti\n"
        "  allreduce       1  <= 256 B   1,234,567  9,876,536         2.47 s   2.00 us  Tutti: "
        "small\n");
}

TEST(Report, SaysThatNothingWasSeen) {
    EXPECT_EQ(report_text({"MPI X", 3, ""}, {}),
              "tutti: MPI X, 3 ranks: no collective operation was seen in this run\n");
    EXPECT_TRUE(nlohmann::json::parse(report_json({"MPI X", 3, ""}, {}))["collectives"].empty());
}

TEST(Report, SaysThatFaultsAreInjected) {
    const std::vector<ReportRecord> records = {record(kBarrier, 1, 1, 0, "small")};
    const ReportHead head{"MPI X", 1, "drop:0.1,seed:2"};
    EXPECT_NE(report_text(head, merge_records(records)).find("faults injected: drop:0.1,seed:2\n"),
              std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(report_json(head, {}))["faults_injected"], "drop:0.1,seed:2");
    EXPECT_FALSE(
        nlohmann::json::parse(report_json({"MPI X", 1, ""}, {})).contains("faults_injected"));
}

TEST(Report, SaysWhereDeviceMemoryWasStaged) {
    const std::vector<StagedRecord> records = {
        {3, 100, "CUDA"}, {0, 0, ""}, {2, 50, "CUDA"}, {1, 8, "HIP"}};
    const Staged staged = merge_staged(records);
    EXPECT_EQ(staged.calls, 6u);
    EXPECT_EQ(staged.bytes, 158u);
    EXPECT_EQ(staged.ranks, 3u);
    EXPECT_EQ(staged.runtimes, "CUDA, HIP");
    const auto rows = merge_records(std::vector<ReportRecord>{record(kBcast, 1, 1, 8, "x")});
    const std::string text = report_text({"MPI X", 4, "", staged}, rows);
    EXPECT_NE(text.find("device memory (CUDA, HIP) was staged on 3 of 4 ranks: 6 times in all, 158 "
                        "bytes"),
              std::string::npos)
        << text;
    EXPECT_EQ(report_text({"MPI X", 4, "", {}}, rows).find("device"), std::string::npos);
    ReportHead tuned{"MPI X", 4, "", {}};
    tuned.tuned = "/t.toml";
    EXPECT_NE(report_text(tuned, rows).find("tutti: tuned by /t.toml\n"), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(report_json(tuned, rows))["tuned"], "/t.toml");
    EXPECT_EQ(text.find("tuned"), std::string::npos);
    const auto json = nlohmann::json::parse(report_json({"MPI X", 4, "", staged}, rows));
    EXPECT_FALSE(json.contains("tuned"));
    EXPECT_EQ(json["device_memory"]["staged"], 6);
    EXPECT_FALSE(
        nlohmann::json::parse(report_json({"MPI X", 4, "", {}}, rows)).contains("device_memory"));
}

TEST(Report, JsonSaysWhoRanWhatAndWhy) {
    const std::vector<ReportRecord> records = {record(kGather, 1, 2, 20, "small"),
                                               record(kScan, 1, 1, 0, "host: cut \xc3")};
    const auto json = nlohmann::json::parse(report_json({"MPI X", 1, ""}, merge_records(records)));
    ASSERT_EQ(json["collectives"].size(), 2u);
    EXPECT_EQ(json["collectives"][0]["algorithm"], "small");
    EXPECT_EQ(json["collectives"][0]["run_by"], "tutti");
    EXPECT_EQ(json["collectives"][0]["bytes"], 20);
    EXPECT_EQ(json["collectives"][1]["run_by"], "host");
    EXPECT_TRUE(json["collectives"][1].contains("reason"));
}

TEST(Kinds, HaveNamesThatBelongTogether) {
    EXPECT_STREQ(kind_name(kReduceScatterBlock), "reduce_scatter_block");
    EXPECT_STREQ(kind_function(kAlltoallw), "MPI_Alltoallw");
}

}  // namespace
}  // namespace tutti::mpi
