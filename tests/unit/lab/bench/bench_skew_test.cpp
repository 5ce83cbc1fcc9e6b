// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/bench_skew.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/bench/bench_curves.h"
#include "lab/bench/bench_report.h"

namespace tutti::bench {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(BenchSkew, TwoHostsClocksAreOffTogether) {
    const adapt::ClockReading own{0, 0, 0};
    const auto host = [](uint64_t before_ns, uint64_t after_ns) {
        return adapt::ClockLine({0, 5, before_ns}, {9, 5, after_ns});
    };
    const adapt::ClockLine first(own, own);
    EXPECT_EQ(clock_error_ns(std::vector{first}), 0u);
    EXPECT_EQ(clock_error_ns(std::vector{first, host(3, 4)}), 4u);
    EXPECT_EQ(clock_error_ns(std::vector{first, host(3, 4), host(10, 2), host(7, 7)}), 17u);
}

Cell some_cell(uint64_t most_ns) {
    Cell cell;
    cell.collective = TUTTI_ALLREDUCE;
    cell.bytes = 8;
    cell.host = {30, 40, 50, 9, 1};
    cell.tutti = Times{9, 10, 12, 9, 1};
    cell.algorithms = {{"ring", "", {1, 1.5, 2, 9, 1}, {}}, {"tree", "needs wings", {}, {}}};
    const adapt::ClockReading own{0, 0, 0};
    cell.host.late_us = 10'400;
    cell.skew = SkewedCell{most_ns, 2, {}};
    cell.skew->clocks.emplace_back(own, own);
    cell.skew->clocks.emplace_back(adapt::ClockReading{1, -70, 1500},
                                   adapt::ClockReading{2, 30, 2000});
    return cell;
}

BenchRun some_run() {
    BenchRun run;
    run.library = "An MPI";
    run.ranks = 4;
    run.cores = 2;
    run.has_tutti = true;
    run.has_algorithms = true;
    run.skew = SkewOptions{adapt::Skew::kUniform, {0, 10 * kMs}};
    run.seed = 7;
    run.cells = {some_cell(0), some_cell(10 * kMs)};
    return run;
}

TEST(BenchSkew, TheTableMarksWhatTheClockCannotTell) {
    const BenchRun run = some_run();
    EXPECT_EQ(
        table_head(run),
        "An MPI; 4 ranks, 2 cores\n"
        "skew uniform, seed 7; us: from the last arrival to the last exit, by one clock that "
        "is off by clock us at most\n"
        "collective    bytes       MAX  by                                   us        p99    "
        "ratio   clock us\n");
    EXPECT_EQ(
        table_row(run, run.cells[1]),
        "allreduce       8 B     10 ms  host                               40.0       50.0    "
        " 1.00       2.00\n"
        "allreduce       8 B     10 ms  tutti (its choice)                 10.0       12.0    "
        " 4.00       2.00\n"
        "allreduce       8 B     10 ms  ring                               1.50       2.00    "
        "26.67       2.00 <\n");
    // That one cannot run is told once, with the first cell.
    EXPECT_TRUE(table_row(run, run.cells[0])
                    .ends_with("\nallreduce       8 B  cannot: tree: needs wings\n"));
    EXPECT_EQ(table_foot(run), "< less than the error of the clock: no measurable delay\n");
    BenchRun exact = some_run();
    for (Cell& cell : exact.cells) cell.skew->error_us = 0;
    EXPECT_EQ(table_foot(exact), "");
    EXPECT_EQ(table_row(exact, exact.cells[0]).find('<'), std::string::npos);
}

TEST(BenchSkew, TheFileHasTheClocks) {
    const auto json = nlohmann::json::parse(to_json(some_run()));
    EXPECT_EQ(json["skew"]["distribution"], "uniform");
    EXPECT_EQ(json["skew"]["seed"], 7);
    const auto& cell = json["cells"][1];
    EXPECT_EQ(cell["most_ns"], 10 * kMs);
    EXPECT_EQ(cell["clock_error_us"], 2.0);
    EXPECT_EQ(cell["host"]["below_clock_error"], false);
    EXPECT_EQ(cell["host"]["late_us"], 10'400);
    EXPECT_EQ(cell["tutti"]["below_clock_error"], false);
    EXPECT_EQ(cell["algorithms"][0]["times"]["below_clock_error"], true);
    ASSERT_EQ(cell["clocks"].size(), 2u);
    EXPECT_EQ(cell["clocks"][1]["offset_before_ns"], -70);
    EXPECT_EQ(cell["clocks"][1]["offset_after_ns"], 30);
    EXPECT_EQ(cell["clocks"][1]["error_ns"], 2000);
}

size_t count_of(const std::string& text, std::string_view word) {
    size_t count = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        ++count;
    }
    return count;
}

TEST(BenchCurves, ACurveForEachWayInAPanelForEachCall) {
    BenchRun run = some_run();
    Cell barrier = some_cell(0);
    barrier.collective = TUTTI_BARRIER;
    barrier.bytes = 0;
    barrier.algorithms.clear();
    for (int i = 0; i < 8; ++i) {
        barrier.algorithms.push_back({"way " + std::to_string(i), "", {1, 0, 2, 9, 1}, {}});
    }
    run.cells.push_back(barrier);
    Cell skipped;
    skipped.skipped = "too large";
    run.cells.push_back(skipped);
    const std::string svg = draw_curves(run);
    EXPECT_NE(svg.find("<title>synchronization delay over MAX, skew uniform, seed 7; 4 ranks, An "
                       "MPI</title>"),
              std::string::npos)
        << svg;
    EXPECT_EQ(count_of(svg, ">allreduce, 8 B</text>"), 1u);
    EXPECT_EQ(count_of(svg, ">barrier</text>"), 1u);
    EXPECT_EQ(count_of(svg, "<polyline"), 3u + 10u);  // who cannot run has none
    EXPECT_EQ(count_of(svg, "<circle"), 2 * 3u + 10u);
    EXPECT_EQ(count_of(svg, "fill=\"#ffffff\"><title>ring: 1.5 us"), 2u);
    EXPECT_EQ(count_of(svg, "fill=\"#ffffff\"><title>host"), 0u);
    // Three more than there are colours, each with its line in the legend.
    EXPECT_EQ(count_of(svg, "stroke-dasharray"), 2 * 3u);
    // Each level twice: below each panel.
    EXPECT_EQ(count_of(svg, ">10 ms</text>"), 2u);
    // No time at all has no logarithm.
    EXPECT_EQ(svg.find("inf"), std::string::npos);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace tutti::bench
