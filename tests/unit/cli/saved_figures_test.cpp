// SPDX-License-Identifier: BSD-3-Clause
#include "cli/saved_figures.h"

#include <gtest/gtest.h>

#include <array>

namespace tutti::cli {
namespace {

// As a report tells it.
std::string node_text(uint32_t ranks, const std::string& more = "") {
    return R"({"host": "node7", "ranks": )" + std::to_string(ranks) +
           R"(, "communicators": 3, "measured": true, "barrier_ns": 1234,
       "one_way_64k_ns": {"plain": 31000, "prefetch": 25000, "stream": 15600},
       "one_way": [{"bytes": 32768, "rings_ns": 8000, "single_copy_ns": 7000},
                   {"bytes": 65536, "single_copy_ns": 12000}],
       "all_ways": [{"bytes": 131072, "rings_ns": 40000}],
       "follows": {"way": "stream", "single_copy": true})" +
           more + "}";
}
std::string report(const std::string& nodes) {
    return R"({"tutti": "0.1.0", "nodes": [)" + nodes + "]}";
}

constexpr const char* kUnmeasured =
    R"({"host": "node6", "ranks": 8, "measured": false, "reason": "ranks share processors"})";

TEST(NodeFigures, AsAReportTellsThem) {
    const auto found = parse_node_figures(report(node_text(4)), 4);
    ASSERT_TRUE(found) << found.error().message;
    const explain::MeasuredNode& node = found.value();
    EXPECT_EQ(node.host, "node7");
    EXPECT_EQ(node.ranks, 4u);
    EXPECT_TRUE(node.can_read);
    node::Figures expected;
    expected.barrier_ns = 1234;
    expected.way_ns = {31000, 25000, 0, 15600};
    expected.one_way.ring[2] = 8000;
    expected.one_way.single[2] = 7000;
    expected.one_way.single[3] = 12000;
    expected.all_ways.ring[4] = 40000;
    EXPECT_EQ(node.figures, expected);
    EXPECT_EQ(node.text(),
              "4 ranks of node7 measured: barrier 1.2 us; 64 KiB one way: plain 31.0, prefetch "
              "25.0, stream 15.6, single copy 12.0 us");
}

// Reports of before have no such list, as those above.
TEST(NodeFigures, ReadersAtATime) {
    const auto found = parse_node_figures(
        report(node_text(4, R"(, "one_way_64k_readers": [{"readers": 1, "single_copy_ns": 9000},
                                                        {"readers": 2, "single_copy_ns": 7000}],
                              "one_way_1k_ns": 300, "folded_64k_ns": 17000)")),
        4);
    ASSERT_TRUE(found) << found.error().message;
    const node::Figures& figures = found.value().figures;
    EXPECT_EQ(figures.short_ns, 300u);
    EXPECT_EQ(figures.fold_ns, 17000u);
    EXPECT_EQ(figures.readers_ns, (std::array<uint32_t, node::kReaderLimits>{9000, 7000}));
    EXPECT_EQ(explain::tuning_of(found.value(), {}, 4).readers_max, 2u);
    EXPECT_EQ(found.value().text().substr(found.value().text().find("single")),
              "single copy 12.0, by 2 at a time 7.0 us");
}

// The time for measuring did not suffice.
TEST(NodeFigures, WaysMayBeUnmeasured) {
    std::string text = report(node_text(4));
    const size_t begin = text.find("\"one_way_64k_ns\"");
    text.erase(begin, text.find("},", begin) + 2 - begin);
    const auto found = parse_node_figures(text, 4);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found.value().figures.way_ns[0], 0u);
}

TEST(NodeFigures, OfAsManyRanksOrElseTheFirst) {
    const std::string text =
        report(std::string(kUnmeasured) + "," + node_text(4) + "," + node_text(2));
    EXPECT_EQ(parse_node_figures(text, 2).value().ranks, 2u);
    EXPECT_EQ(parse_node_figures(text, 4).value().ranks, 4u);
    EXPECT_EQ(parse_node_figures(text, 8).value().ranks, 4u);
}

std::string complaint(const std::string& text) {
    const auto found = parse_node_figures(text, 2);
    return found ? "none" : found.error().message;
}

TEST(NodeFigures, OneLineOnWhatIsNoReport) {
    const std::string no_report = "is no report of TUTTI_REPORT: no list \"nodes\"";
    for (const char* text : {"", "{", "[]", "7", "{}", R"({"nodes": 7})"}) {
        EXPECT_EQ(complaint(text), no_report) << text;
    }
    const std::string nothing = "nothing was measured in that run";
    EXPECT_EQ(complaint(report("")), nothing);
    EXPECT_EQ(complaint(report(kUnmeasured)), nothing);
    EXPECT_EQ(complaint(report("7")), nothing);
}

TEST(NodeFigures, OneLineOnWhatIsWrong) {
    // Of equal keys the last one holds.
    const auto with = [](const std::string& more) {
        return complaint(report(node_text(4, ", " + more)));
    };
    EXPECT_EQ(with(R"("barrier_ns": 0)"), "\"barrier_ns\" is missing");
    EXPECT_EQ(with(R"("barrier_ns": -1)"), "\"barrier_ns\" is no number of 0 to 4294967295");
    EXPECT_EQ(with(R"("barrier_ns": 4294967296)"),
              "\"barrier_ns\" is no number of 0 to 4294967295");
    EXPECT_EQ(with(R"("one_way_64k_ns": {"plain": "quick"})"),
              "\"plain\" is no number of 0 to 4294967295");
    EXPECT_EQ(with(R"("one_way_64k_ns": [])"), "\"one_way_64k_ns\" is no table");
    EXPECT_EQ(with(R"("one_way": {})"), "no list \"one_way\"");
    EXPECT_EQ(with(R"("all_ways": [7])"), "\"all_ways\" holds no tables");
    EXPECT_EQ(with(R"("all_ways": [{"bytes": 1000, "rings_ns": 7}])"),
              "\"all_ways\": 1000 bytes are a size that no run measures");
    EXPECT_EQ(with(R"("one_way_64k_readers": {})"), "\"one_way_64k_readers\" is no list");
    EXPECT_EQ(with(R"("one_way_64k_readers": [2])"), "\"one_way_64k_readers\" holds no tables");
    for (const char* readers : {"0", "3", "256"}) {
        EXPECT_EQ(with(R"("one_way_64k_readers": [{"readers": )" + std::string(readers) + "}]"),
                  "\"one_way_64k_readers\": " + std::string(readers) +
                      " readers are a number that no run measures");
    }
    EXPECT_EQ(with(R"("all_ways": [{"bytes": 8192, "rings_ns": 0.5}])"),
              "\"rings_ns\" is no number of 0 to 4294967295");
}

}  // namespace
}  // namespace tutti::cli
