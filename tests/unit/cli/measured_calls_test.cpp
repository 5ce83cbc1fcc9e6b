// SPDX-License-Identifier: BSD-3-Clause
#include "cli/measured_calls.h"

#include <gtest/gtest.h>

namespace tutti::cli {
namespace {

constexpr std::string_view kReport = R"({"collectives": [
  {"collective": "bcast", "ranks": 4, "size_class": "<= 16 KiB", "calls": 10, "bytes": 10240,
   "seconds": 0.001, "run_by": "tutti", "algorithm": "chain"},
  {"collective": "bcast", "ranks": 4, "calls": 3, "bytes": 24, "seconds": 1, "run_by": "host",
   "reason": "a rule"},
  {"collective": "bcast", "ranks": 2, "calls": 1, "bytes": 8, "seconds": 1, "run_by": "tutti",
   "algorithm": "binomial"},
  {"collective": "reduce", "ranks": 4, "calls": 1, "bytes": 8, "seconds": 1, "run_by": "tutti",
   "algorithm": "binomial"}]})";

TEST(MeasuredCalls, RowsOfTheCollectiveAndTheRanksThatTuttiRan) {
    const auto found = parse_measured_calls(kReport, "bcast", 4);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found.value().size(), 1u);
    EXPECT_EQ(found.value()[0].algorithm, "chain");
    EXPECT_EQ(found.value()[0].calls, 10u);
    EXPECT_EQ(found.value()[0].mean_bytes, 1024u);
    EXPECT_EQ(found.value()[0].mean_ns, 100'000u);
    EXPECT_TRUE(parse_measured_calls(kReport, "gather", 4).value().empty());
}

TEST(MeasuredCalls, WhatIsNoReportIsALine) {
    for (const std::string_view text : {"", "3", "{}", R"({"collectives": 3})"}) {
        const auto found = parse_measured_calls(text, "bcast", 4);
        ASSERT_FALSE(found) << text;
        EXPECT_EQ(found.error().message, "is no report of TUTTI_REPORT: no list \"collectives\"");
    }
    for (const std::string_view rest :
         {"", R"(, "algorithm": 3, "calls": 1, "bytes": 1, "seconds": 1)",
          R"(, "algorithm": "chain", "calls": 0, "bytes": 1, "seconds": 1)",
          R"(, "algorithm": "chain", "calls": 1, "bytes": -1, "seconds": 1)",
          R"(, "algorithm": "chain", "calls": 1, "bytes": 1, "seconds": 1e300)"}) {
        const std::string text =
            R"({"collectives": [{"collective": "bcast", "ranks": 4, "run_by": "tutti")" +
            std::string(rest) + "}]}";
        const auto found = parse_measured_calls(text, "bcast", 4);
        ASSERT_FALSE(found) << text;
        EXPECT_EQ(found.error().message, "a row of \"collectives\" is not whole");
    }
}

}  // namespace
}  // namespace tutti::cli
