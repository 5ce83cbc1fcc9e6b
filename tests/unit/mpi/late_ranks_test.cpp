// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/late_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mpi/report.h"
#include "mpi/report_table.h"

namespace tutti::mpi {
namespace {

// All that was measured of these calls: how long its ranks were inside, on average.
ReportRow inside(tutti_collective collective, uint32_t ranks, double seconds) {
    ReportRow row;
    row.kind = static_cast<uint8_t>(collective);
    row.ranks = ranks;
    row.how = "small";
    row.calls = 4096;
    row.seconds = seconds;
    return row;
}

// Long enough to bound nothing.
const std::array kLong{inside(TUTTI_ALLREDUCE, 64, 1000), inside(TUTTI_BARRIER, 8, 1000)};

// As the engine tells it; all ranks together have waited so long.
FactRow sampled(const char* collective, uint64_t ranks, double waited_s) {
    FactRow row;
    row.subject = "arrivals/calls";
    row.weight = static_cast<uint64_t>(waited_s * 1e9);
    row.add("collective", collective).say("late: some rank in {}s of {ranks:rank}");
    row.add("ranks", ranks);
    row.add("waited_s", waited_s).in(TUTTI_UNIT_SECONDS);
    row.add("follows_since_call", uint64_t{812}).say("; from call {} on");
    return row;
}

FactLog log_of(const std::vector<FactRow>& rows) {
    FactLog log(SIZE_MAX);
    for (const FactRow& row : rows) log.add(row);
    return log;
}

std::string text_of(FactLog log, std::span<const ReportRow> calls, double run_s) {
    bound_waits(log, calls, run_s);
    return facts_text(log, false);
}

double waited_of(const FactRow& row) { return std::get<double>(row.find("waited_s")->value); }

TEST(LateRanks, SaysWhatEachHasLost) {
    const FactLog log = log_of({sampled("allreduce", 64, 7.68)});
    const std::string line =
        "tutti: late: some rank in allreduces of 64 ranks; in all each rank waited some 120 ms for "
        "others, 6 % of the run; from call 812 on\n";
    EXPECT_EQ(text_of(log, kLong, 2), line);
}

// What costs less than a hundredth of the run is in the file alone.
TEST(LateRanks, OnlyWhatMatters) {
    FactLog log = log_of({sampled("allreduce", 64, 7.68)});
    EXPECT_NE(text_of(log, kLong, 11.9), "");
    EXPECT_EQ(text_of(log, kLong, 12.1), "");
    bound_waits(log, kLong, 12.1);
    nlohmann::ordered_json json;
    add_facts(json, log, 64);
    EXPECT_EQ(json["arrivals"]["calls"].size(), 1u);
}

// One sample that is long by chance stands for 64 calls: ranks seemed to have lost 120 ms of the
// 4.28 ms that they were inside.
TEST(LateRanks, NoMoreThanWasMeasured) {
    FactLog log = log_of({sampled("allreduce", 64, 7.68)});
    const std::array calls{inside(TUTTI_ALLREDUCE, 64, 4e-3), inside(TUTTI_ALLREDUCE, 64, 0.28e-3),
                           inside(TUTTI_ALLREDUCE, 63, 1), inside(TUTTI_BARRIER, 64, 1)};
    const std::string text = text_of(log, calls, 0.1);
    EXPECT_NE(text.find("each rank waited some 4.3 ms for others, 4 % of the"), std::string::npos)
        << text;
    EXPECT_EQ(text_of(log, {}, 0.1), "");
    bound_waits(log, calls, 0.1);
    EXPECT_DOUBLE_EQ(waited_of(log.rows("arrivals/calls")[0]), 64 * 4.28e-3);
}

// Communicators of one size share what was measured of their calls.
TEST(LateRanks, NoMoreThanWasMeasuredOfAll) {
    FactLog log = log_of({sampled("barrier", 8, 5.12), sampled("barrier", 8, 7.68)});
    bound_waits(log, std::array{inside(TUTTI_BARRIER, 8, 1.25)}, 1);
    const std::vector<FactRow> rows = log.rows("arrivals/calls");
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_DOUBLE_EQ(waited_of(rows[0]), 7.68);
    EXPECT_NEAR(waited_of(rows[1]), 10 - 7.68, 1e-12);
}

// Nobody knows who waited for whom in rooted calls, so the engine has no words for them.
TEST(LateRanks, NoLineWithoutWords) {
    FactRow row = sampled("bcast", 8, 0);
    for (Fact& fact : row.facts) fact.phrase.clear();
    EXPECT_EQ(text_of(log_of({row}), kLong, 0), "");
}

// Small losses beside a great one are not worth a line, and three are enough.
TEST(LateRanks, FewLines) {
    const auto lines = [](const std::vector<double>& waited) {
        std::vector<FactRow> rows;
        for (const double one : waited) rows.push_back(sampled("barrier", 8, one));
        const std::string text = text_of(log_of(rows), kLong, 0.001);
        return std::count(text.begin(), text.end(), '\n');
    };
    EXPECT_EQ(lines({0.9, 0.1, 10, 20, 8, 9}), 3);
    EXPECT_EQ(lines({0.9, 0.1}), 2);
    EXPECT_EQ(lines({20, 0.1}), 1);
}

FactRow own_wait(double waited_s) {
    FactRow row;
    row.subject = "arrivals";
    row.key = "waited";
    row.by_rank = true;
    row.add("waited_s_by_rank", waited_s).in(TUTTI_UNIT_SECONDS).sum();
    return row;
}

TEST(LateRanks, ARankWaitsNoLongerThanItIsInside) {
    FactLog log = log_of({own_wait(30), own_wait(34)});
    std::array<ReportRecord, 6> own{};
    own[0].kind = kAllreduce;
    own[0].nanoseconds = 500'000'000;
    own[1].kind = kBcast;
    own[1].nanoseconds = 900'000'000'000;
    own[2].kind = kReduceScatterBlock;
    own[2].nanoseconds = 250'000'000;
    own[3].kind = kAlltoall;
    own[3].nanoseconds = 125'000'000;
    // Not all wait for all, and one that is never sampled.
    own[4].kind = kScan;
    own[5].kind = kNeighborAlltoallv;
    own[4].nanoseconds = own[5].nanoseconds = 900'000'000'000;
    const auto waited = [&] {
        return std::get<double>(log.rows("arrivals")[0].find("waited_s_by_rank")->value);
    };
    EXPECT_DOUBLE_EQ(waited(), 64);
    bound_own_wait(log, own);
    EXPECT_DOUBLE_EQ(waited(), 0.875);
}

// Of three ranks the second has made no team.
TEST(LateRanks, StandInTheReportByRank) {
    FactLog job(SIZE_MAX);
    for (const uint32_t rank : {2u, 0u}) {
        FactLog log;
        log.add(own_wait(rank + 1));
        FactRow late;
        late.subject = "arrivals";
        late.key = "recorded";
        late.by_rank = true;
        late.add("recorded/collective", "barrier");
        late.add_seconds("recorded/late_s/0", 1000 * rank);
        late.add_seconds("recorded/late_s/1", 7'000'000);
        log.add(late);
        if (rank == 0) log.add(sampled("barrier", 3, 1));
        job.add_packed(log.packed(rank));
        EXPECT_EQ(log.packed(std::nullopt).empty(), rank != 0);
    }
    ReportHead head;
    head.ranks = 3;
    head.facts = job;
    const std::array rows{inside(TUTTI_BARRIER, 3, 1)};
    const auto arrivals = nlohmann::json::parse(report_json(head, rows))["arrivals"];
    EXPECT_EQ(arrivals["calls"].size(), 1u);
    EXPECT_EQ(arrivals["waited_s_by_rank"].dump(), "[1.0,0.0,3.0]");
    EXPECT_EQ(arrivals["recorded"]["collective"], "barrier");
    ASSERT_EQ(arrivals["recorded"]["late_s"].size(), 2u);
    EXPECT_DOUBLE_EQ(arrivals["recorded"]["late_s"][0][2], 2e-6);
    EXPECT_DOUBLE_EQ(arrivals["recorded"]["late_s"][1][0], 7e-3);
    head.facts = FactLog(SIZE_MAX);
    EXPECT_FALSE(nlohmann::json::parse(report_json(head, rows)).contains("arrivals"));
}

// A program of many communicators: those that cost most are kept.
TEST(LateRanks, SaysHowManyFoundNoRoom) {
    FactLog log;
    for (uint64_t i = 0; i < 100; ++i) log.add(sampled("barrier", 8, static_cast<double>(i + 1)));
    const std::vector<FactRow> rows = log.rows("arrivals/calls");
    ASSERT_EQ(rows.size(), FactLog::kRowsMax);
    EXPECT_DOUBLE_EQ(waited_of(rows.back()), 101.0 - FactLog::kRowsMax);
    nlohmann::ordered_json json;
    add_facts(json, log, 8);
    EXPECT_EQ(json["arrivals"]["more"], 100 - FactLog::kRowsMax);
    EXPECT_FALSE(json.contains("left_out"));
}

}  // namespace
}  // namespace tutti::mpi
