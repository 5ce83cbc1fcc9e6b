// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/fact_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tutti::mpi {
namespace {

FactRow row_of_key(const std::string& key, uint64_t weight, uint64_t count = 1) {
    FactRow row;
    row.subject = "verbs";
    row.key = key;
    row.weight = weight;
    row.add("name", key).say("about {}");
    row.add("count", count).sum().say(", {:time}", 0);
    return row;
}

nlohmann::ordered_json json_of(const FactLog& log) {
    nlohmann::ordered_json json;
    add_facts(json, log, 1);
    return json;
}

TEST(FactLog, OfNothing) {
    EXPECT_EQ(facts_text(FactLog{}, true), "");
    EXPECT_EQ(json_of(FactLog{})["verbs"].dump(), "[]");
    EXPECT_EQ(FactLog{}.packed(std::nullopt), "");
}

TEST(FactLog, RowsOfOneKeyAreOneAndHeavyOnesComeFirst) {
    FactLog log;
    log.add(row_of_key("a", 1));
    log.add(row_of_key("b", 2));
    log.add(row_of_key("a", 1, 4));
    EXPECT_EQ(facts_text(log, false), "tutti: about b, 1 time\ntutti: about a, 5 times\n");
    EXPECT_EQ(json_of(log)["verbs"].dump(), R"([{"name":"b","count":1},{"name":"a","count":5}])");
}

TEST(FactLog, RowsWithoutAKeyStandAlone) {
    FactLog log;
    log.add(row_of_key("", 1));
    log.add(row_of_key("", 1));
    EXPECT_EQ(log.rows("verbs").size(), 2u);
}

// As ranks send them: those of several follow one another.
TEST(FactLog, TravelsAsLines) {
    FactLog one;
    one.add(row_of_key("a", 1));
    FactRow all = row_of_key("b\n\"\xff", 2);
    all.add("nothing", nullptr);
    all.add("flag", true).say("; flag");
    all.add("real", 3.0).in(TUTTI_UNIT_SECONDS).most().say("; {}");
    all.add("large", UINT64_MAX);
    one.add(all);
    FactLog two;
    two.add(row_of_key("a", 9, 2));
    FactLog job(SIZE_MAX);
    job.add_packed(one.packed(std::nullopt) + two.packed(std::nullopt));
    const auto rows = job.rows("verbs");
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].text(), "about a, 3 times");
    EXPECT_EQ(rows[1].text(), "about b\n\"\xef\xbf\xbd, 1 time; flag; 3 s");
    EXPECT_EQ(rows[1].find("large")->value, Fact::Value(UINT64_MAX));
    EXPECT_EQ(rows[1].find("nothing")->value, Fact::Value(nullptr));
}

TEST(FactLog, LinesOfOneRowStandUnderEachOther) {
    FactLog log;
    log.add(row_of_key("a\n  -> b", 1));
    EXPECT_EQ(facts_text(log, false), "tutti: about a\ntutti:   -> b, 1 time\n");
}

TEST(FactLog, KeepsTheHeaviestAndCountsTheOthers) {
    constexpr uint64_t kMany = 3 * FactLog::kRowsMax;
    FactLog log;
    for (uint64_t i = 0; i < kMany; ++i) log.add(row_of_key(std::to_string(i), i));
    log.add(row_of_key("0", 0));  // it found no room then, and finds none now
    FactLog job(SIZE_MAX);
    job.add_packed(log.packed(std::nullopt));
    job.add_packed(log.packed(std::nullopt));
    const auto rows = job.rows("verbs");
    ASSERT_EQ(rows.size(), FactLog::kRowsMax);
    EXPECT_EQ(rows.front().key, std::to_string(kMany - 1));
    EXPECT_EQ(rows.back().key, std::to_string(kMany - FactLog::kRowsMax));
    EXPECT_EQ(job.left_out("verbs"), 2 * (kMany - FactLog::kRowsMax + 1));
    const std::string text = facts_text(job, false);
    EXPECT_NE(text.find("tutti: 130 more found no room in the report\n"), std::string::npos)
        << text;
    EXPECT_EQ(json_of(job)["verbs"].size(), FactLog::kRowsMax);
    EXPECT_EQ(json_of(job)["left_out"]["verbs"], 130);
}

TEST(FactLog, NodesStandInTheFullTextAndAFewOfThem) {
    constexpr size_t kLines = 8;
    FactLog log;
    for (size_t i = 0; i <= kLines; ++i) {
        FactRow row = row_of_key("host" + std::to_string(i), i);
        row.subject = "nodes";
        log.add(row);
    }
    EXPECT_EQ(facts_text(log, false), "");
    const std::string text = facts_text(log, true);
    EXPECT_TRUE(text.starts_with("tutti: about host8, 1 time\n")) << text;
    EXPECT_TRUE(text.ends_with("tutti: about host1, 1 time\ntutti: and 1 more such line\n"))
        << text;
    EXPECT_EQ(json_of(log)["nodes"].size(), kLines + 1);
}

// Without memory at hand.
TEST(FactLog, TeamsThatCouldNotTellAreCounted) {
    FactLog log;
    log.lose();
    FactLog job(SIZE_MAX);
    job.add_packed(log.packed(std::nullopt));
    job.add_packed(log.packed(std::nullopt));
    EXPECT_EQ(facts_text(job, false), "tutti: 2 more found no room in the report\n");
    EXPECT_EQ(json_of(job)["left_out"]["teams"], 2);
    EXPECT_FALSE(json_of(job).contains("teams"));
}

// A network that reports have never heard of.
TEST(FactLog, AnySubjectIsPrinted) {
    FactLog log;
    FactRow row;
    row.subject = "loops/all";
    row.add("one/", nullptr);
    row.add("none/", nullptr);
    row.add("one/0/bytes", uint64_t{8});
    row.add("one/0/ns", uint64_t{5});
    row.add("one/1/bytes", uint64_t{16});
    row.add("by/udp/s", 0.5).say("by UDP {}");
    log.add(row);
    EXPECT_EQ(facts_text(log, false), "tutti: by UDP 0.5\n");
    EXPECT_EQ(json_of(log)["loops"]["all"].dump(),
              R"([{"one":[{"bytes":8,"ns":5},{"bytes":16}],"none":[],"by":{"udp":{"s":0.5}}}])");
}

}  // namespace
}  // namespace tutti::mpi
