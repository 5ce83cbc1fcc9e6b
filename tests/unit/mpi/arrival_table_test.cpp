// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/arrival_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "mpi/report.h"
#include "mpi/report_table.h"

namespace tutti::mpi {
namespace {

// 64 samples of 4096 calls, each of them waited for by all others together for as long.
tutti_arrivals_info info_of(uint64_t waited_ns_each) {
    tutti_arrivals_info info{};
    info.struct_bytes = sizeof info;
    info.calls = 4096;
    info.compared = 64;
    info.samples = 40;
    info.spread_ns = 40 * uint64_t{1'500'000};
    info.spread_ns_max = 9'000'000;
    info.delay_samples = 20;
    info.delay_ns = 20 * uint64_t{30'000};
    info.delay_ns_max = 50'000;
    info.waited_ns = 40 * waited_ns_each;
    info.own_waited_ns = 1'000'000'000;
    info.clock_error_ns = 12'000;
    info.last_rank[0] = 2;
    info.last_samples[0] = 30;
    info.last_rank[1] = 0;
    info.last_samples[1] = 10;
    strncpy(info.last_host[0], "node12", sizeof info.last_host[0] - 1);
    strncpy(info.last_host[1], "node7", sizeof info.last_host[1] - 1);
    return info;
}

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
const std::array kLong{inside(TUTTI_ALLREDUCE, 64, 1000), inside(TUTTI_BARRIER, 8, 1000),
                       inside(TUTTI_BCAST, 3, 1000)};

// Numbers of the world: those of the communicator, and 35 more.
std::vector<int> in_world(size_t ranks) {
    std::vector<int> numbers(ranks);
    std::iota(numbers.begin(), numbers.end(), 35);
    return numbers;
}

TEST(ArrivalTable, SaysWhoIsLate) {
    ArrivalLog log;
    log.add(TUTTI_ALLREDUCE, info_of(3'000'000), in_world(64));
    log.add_waited(info_of(3'000'000));
    const auto rows = merge_arrivals(log.records(), kLong);
    // 40 samples of 3 ms stand for 64 times as much; 64 ranks bear it.
    const std::string line =
        "tutti: late: rank 37 on node12 was last in 75 % of 40 sampled allreduces of 64 ranks, on "
        "average 1.5 ms after the first; in all each rank waited some 120 ms for others, 6 % of "
        "the run\n";
    EXPECT_EQ(arrival_text(rows, 2), line);
    const nlohmann::ordered_json json = arrival_json(rows, {{log.waited()}, {}});
    ASSERT_EQ(json["calls"].size(), 1u);
    const nlohmann::ordered_json& one = json["calls"][0];
    EXPECT_EQ(one["collective"], "allreduce");
    EXPECT_EQ(one["ranks"], 64);
    EXPECT_EQ(one["samples"], 40);
    EXPECT_DOUBLE_EQ(one["calls_per_sample"], 64);
    EXPECT_DOUBLE_EQ(one["spread"]["mean_s"], 1.5e-3);
    EXPECT_DOUBLE_EQ(one["spread"]["max_s"], 9e-3);
    EXPECT_DOUBLE_EQ(one["synchronization_delay"]["mean_s"], 30e-6);
    EXPECT_DOUBLE_EQ(one["waited_s"], 64 * 0.12);
    EXPECT_DOUBLE_EQ(one["clock_error_s"], 12e-6);
    EXPECT_EQ(one["last"][0]["rank"], 37);
    EXPECT_EQ(one["last"][1]["host"], "node7");
    EXPECT_EQ(one["last"].size(), 2u);
    EXPECT_DOUBLE_EQ(json["waited_s_by_rank"][0], 64.0);
    EXPECT_FALSE(json.contains("more"));
}

TEST(ArrivalTable, NothingOfNoSamples) {
    ArrivalLog log;
    log.add_waited(tutti_arrivals_info{});
    EXPECT_EQ(log.waited().seconds, 0);
    log.add(TUTTI_BARRIER, tutti_arrivals_info{}, in_world(64));
    EXPECT_TRUE(log.records().empty());
    EXPECT_EQ(arrival_text({}, 1), "");
}

// What costs less than a hundredth of the run is in the file alone.
TEST(ArrivalTable, OnlyWhatMatters) {
    ArrivalLog log;
    log.add(TUTTI_ALLREDUCE, info_of(3'000'000), in_world(64));
    const auto rows = merge_arrivals(log.records(), kLong);
    EXPECT_NE(arrival_text(rows, 11.9), "");
    EXPECT_EQ(arrival_text(rows, 12.1), "");
    EXPECT_EQ(arrival_json(rows, {})["calls"].size(), 1u);
}

// One sample that is long by chance stands for 64 calls: ranks seemed to have lost 120 ms of the
// 4.28 ms that they were inside.
TEST(ArrivalTable, NoMoreThanWasMeasured) {
    ArrivalLog log;
    log.add(TUTTI_ALLREDUCE, info_of(3'000'000), in_world(64));
    const std::array calls{inside(TUTTI_ALLREDUCE, 64, 4e-3), inside(TUTTI_ALLREDUCE, 64, 0.28e-3),
                           inside(TUTTI_ALLREDUCE, 63, 1), inside(TUTTI_BARRIER, 64, 1)};
    const auto rows = merge_arrivals(log.records(), calls);
    EXPECT_NE(arrival_text(rows, 0.1).find("each rank waited some 4.3 ms for others, 4 % of the"),
              std::string::npos)
        << arrival_text(rows, 0.1);
    EXPECT_DOUBLE_EQ(arrival_json(rows, {})["calls"][0]["waited_s"], 64 * 4.28e-3);
    EXPECT_EQ(arrival_text(merge_arrivals(log.records(), {}), 0.1), "");
}

// Communicators of one size share what was measured of their calls.
TEST(ArrivalTable, NoMoreThanWasMeasuredOfAll) {
    ArrivalLog log;
    log.add(TUTTI_BARRIER, info_of(3'000'000), in_world(8));
    log.add(TUTTI_BARRIER, info_of(2'000'000), in_world(8));
    // 7.68 s and 5.12 s by samples.
    const auto rows = merge_arrivals(log.records(), std::array{inside(TUTTI_BARRIER, 8, 1.25)});
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_DOUBLE_EQ(rows[0].waited_s, 7.68);
    EXPECT_NEAR(rows[1].waited_s, 10 - 7.68, 1e-12);
}

TEST(ArrivalTable, ARankWaitsNoLongerThanItIsInside) {
    ArrivalLog log;
    log.add_waited(info_of(3'000'000));
    std::array<ReportRecord, 3> own{};
    own[0].kind = kAllreduce;
    own[0].nanoseconds = 500'000'000;
    own[1].kind = kBcast;
    own[1].nanoseconds = 900'000'000'000;
    own[2].kind = kReduceScatterBlock;
    own[2].nanoseconds = 250'000'000;
    log.bound_waited(own);
    EXPECT_DOUBLE_EQ(log.waited().seconds, 0.75);
}

// Nobody knows who waited for whom there.
TEST(ArrivalTable, NoLineOfRootedCalls) {
    ArrivalLog log;
    log.add(TUTTI_BCAST, info_of(0), in_world(3));
    const auto rows = merge_arrivals(log.records(), kLong);
    EXPECT_EQ(arrival_text(rows, 0), "");
    EXPECT_EQ(arrival_json(rows, {})["calls"].size(), 1u);
}

// A program of many communicators: the table keeps those that cost most, whatever their order, and
// says how many it has not.
TEST(ArrivalTable, KeepsTheWorst) {
    for (const bool ascending : {true, false}) {
        ArrivalLog log;
        for (uint64_t i = 0; i < 100; ++i) {
            const uint64_t waited = 1000 * (ascending ? i + 1 : 100 - i);
            log.add(TUTTI_BARRIER, info_of(waited), in_world(8));
        }
        const auto rows = merge_arrivals(log.records(), kLong);
        ASSERT_EQ(rows.size(), 16u);
        uint64_t more = 0;
        for (uint64_t i = 0; i < rows.size(); ++i) {
            EXPECT_EQ(rows[i].info.waited_ns, 40 * 1000 * (100 - i));
            more += rows[i].more;
        }
        EXPECT_EQ(more, 84u);
        EXPECT_EQ(arrival_json(rows, {})["more"], 84);
    }
}

// Small losses beside a great one are not worth a line, and three are enough.
TEST(ArrivalTable, FewLines) {
    ArrivalLog log;
    for (const uint64_t waited : {900'000, 100'000, 10'000'000, 20'000'000, 8'000'000, 9'000'000}) {
        log.add(TUTTI_BARRIER, info_of(waited), in_world(8));
    }
    const auto lines = [](const std::string& text) {
        return std::count(text.begin(), text.end(), '\n');
    };
    const auto rows = merge_arrivals(log.records(), kLong);
    EXPECT_EQ(lines(arrival_text(rows, 0.001)), 3);
    EXPECT_EQ(lines(arrival_text(std::span(rows).last(2), 0.001)), 2);
    EXPECT_EQ(lines(arrival_text(std::array{rows[0], rows[5]}, 0.001)), 1);
}

// Of the collective of the world that was sampled most: how late each rank came, call by call.
TEST(ArrivalTable, ArrivalsAreRecorded) {
    std::vector<LatenessRecord> ranks;
    for (uint64_t rank = 0; rank < 3; ++rank) {
        ArrivalLog log;
        for (const uint32_t samples : {5u, 7u, 6u}) {
            tutti_arrivals_info info = info_of(1000);
            info.samples = samples;
            info.recent = 2;
            info.recent_late_ns[0] = 1000 * rank;
            info.recent_late_ns[1] = 1'000'000 * samples;
            log.add_world(samples == 7 ? TUTTI_ALLREDUCE : TUTTI_BARRIER, info);
        }
        ranks.push_back(log.lateness());
    }
    const nlohmann::ordered_json json = arrival_json({}, {{}, ranks});
    EXPECT_EQ(json["recorded"]["collective"], "allreduce");
    ASSERT_EQ(json["recorded"]["late_s"].size(), 2u);
    ASSERT_EQ(json["recorded"]["late_s"][0].size(), 3u);
    EXPECT_DOUBLE_EQ(json["recorded"]["late_s"][0][2], 2e-6);
    EXPECT_DOUBLE_EQ(json["recorded"]["late_s"][1][0], 7e-3);
    EXPECT_FALSE(arrival_json({}, {{}, {LatenessRecord{}}}).contains("recorded"));
}

TEST(ArrivalTable, StandsInTheReport) {
    ArrivalLog log;
    log.add(TUTTI_ALLREDUCE, info_of(3'000'000), in_world(64));
    ReportHead head;
    head.host = "MPI";
    head.ranks = 64;
    head.arrivals = merge_arrivals(log.records(), kLong);
    head.rank_arrivals = {{log.waited()}, {}};
    ReportRow row;
    row.ranks = 64;
    row.how = "small";
    row.calls = 1;
    EXPECT_NE(report_text(head, std::array{row}).find("tutti: late: rank 37"), std::string::npos);
    const auto json = nlohmann::json::parse(report_json(head, std::array{row}));
    EXPECT_EQ(json["arrivals"]["calls"].size(), 1u);
    head.arrivals.clear();
    EXPECT_FALSE(nlohmann::json::parse(report_json(head, std::array{row})).contains("arrivals"));
}

}  // namespace
}  // namespace tutti::mpi
