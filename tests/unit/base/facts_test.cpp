// SPDX-License-Identifier: BSD-3-Clause
#include "base/facts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti {
namespace {

using Value = Fact::Value;

std::string said(Value value, const char* phrase, uint64_t from = 1,
                 tutti_fact_unit unit = TUTTI_UNIT_NONE) {
    FactRow row;
    row.add("it", std::move(value)).in(unit).say(phrase, from);
    return row.text();
}

TEST(Facts, ValuesHaveUnits) {
    EXPECT_EQ(said(uint64_t{1'234'567}, "{}"), "1,234,567");
    EXPECT_EQ(said(uint64_t{491'520}, "{}", 1, TUTTI_UNIT_BYTES), "480 KiB");
    EXPECT_EQ(said(uint64_t{1000}, "{}", 1, TUTTI_UNIT_BYTES), "1000 B");
    EXPECT_EQ(said(uint64_t{3'125'000}, "{}", 1, TUTTI_UNIT_BYTES_PER_SECOND), "25 Mbit/s");
    EXPECT_EQ(said(uint64_t{12'500'000'000}, "{}", 1, TUTTI_UNIT_BYTES_PER_SECOND), "100 Gbit/s");
    EXPECT_EQ(said(uint64_t{1500}, "{}", 1, TUTTI_UNIT_NANOSECONDS), "1.5 us");
    EXPECT_EQ(said(0.0015, "{}", 1, TUTTI_UNIT_SECONDS), "1.5 ms");
    EXPECT_EQ(said(0.25, "{}"), "0.25");
    EXPECT_EQ(said(nullptr, "from {} on"), "from never on");
    EXPECT_EQ(said("a text", "<{}>"), "<a text>");
}

// Small numbers, empty texts and flags that are not set are left out.
TEST(Facts, PhrasesAreSaidFromANumberOn) {
    EXPECT_EQ(said(uint64_t{0}, "{} losses"), "");
    EXPECT_EQ(said(uint64_t{0}, "{} losses", 0), "0 losses");
    EXPECT_EQ(said(uint64_t{1}, "one of {}", 2), "");
    EXPECT_EQ(said(uint64_t{2}, "one of {}", 2), "one of 2");
    EXPECT_EQ(said(0.0, "{}", 1, TUTTI_UNIT_SECONDS), "");
    EXPECT_EQ(said("", "because {}"), "");
    EXPECT_EQ(said(false, "it shares"), "");
    EXPECT_EQ(said(true, "it shares"), "it shares");
    EXPECT_EQ(said(uint64_t{7}, ""), "");
}

TEST(Facts, NumbersHaveTheirWords) {
    EXPECT_EQ(said(uint64_t{1}, "{:rank}"), "1 rank");
    EXPECT_EQ(said(uint64_t{2}, "{:long message}"), "2 long messages");
    EXPECT_EQ(said(uint64_t{0}, "{:rank}", 0), "0 ranks");
}

TEST(Facts, PhrasesNameOtherFacts) {
    FactRow row;
    row.add("repaired", uint64_t{4});
    row.add("quick", uint64_t{3}).say("{} of {repaired} quick, {other} {repaired:repair}");
    row.add("torn", uint64_t{1}).say("; {no end");
    EXPECT_EQ(row.text(), "3 of 4 quick, ? 4 repairs; ");
}

FactRow row_of_one(uint64_t weight, uint64_t count, const char* name) {
    FactRow row;
    row.weight = weight;
    row.add("name", name);
    row.add("sum", count).sum();
    row.add("most", count).most();
    row.add("seconds", static_cast<double>(count)).in(TUTTI_UNIT_SECONDS).sum();
    return row;
}

TEST(Facts, TheHeaviestSpeaks) {
    FactRow row = row_of_one(2, 3, "a");
    row.merge(row_of_one(2, 4, "b"));
    EXPECT_EQ(std::get<std::string>(row.find("name")->value), "a") << "of two alike the first";
    row.merge(row_of_one(5, 1, "c"));
    row.merge(row_of_one(1, 1, "d"));
    EXPECT_EQ(std::get<std::string>(row.find("name")->value), "c");
    EXPECT_EQ(std::get<uint64_t>(row.find("sum")->value), 9u);
    EXPECT_EQ(std::get<uint64_t>(row.find("most")->value), 4u);
    EXPECT_EQ(std::get<double>(row.find("seconds")->value), 9.0);
}

// A member may know what the speaker does not.
TEST(Facts, SumsOfOthersAreKept) {
    FactRow row;
    FactRow other;
    other.add("losses", uint64_t{3}).sum();
    other.add("port", "b");
    row.merge(other);
    EXPECT_EQ(std::get<uint64_t>(row.find("losses")->value), 3u);
    EXPECT_EQ(row.find("port"), nullptr);
}

// Of one process each.
TEST(Facts, ListsByRankGrow) {
    FactRow row;
    row.add("late_s", Fact::ByRank{{0, 1.5}});
    FactRow other;
    other.weight = 1;
    other.add("late_s", Fact::ByRank{{1, 2.5}});
    row.merge(other);
    auto told = std::get<Fact::ByRank>(row.find("late_s")->value);
    std::ranges::sort(told);
    EXPECT_EQ(told, (Fact::ByRank{{0, 1.5}, {1, 2.5}}));
}

TEST(Facts, RanksAreNamesNotAmounts) {
    FactRow row;
    const Fact fact = row.add("rank", uint64_t{4096}).in(TUTTI_UNIT_RANK);
    EXPECT_EQ(value_text(fact), "4096");
}

TEST(Facts, PassTheCInterface) {
    FactRow row;
    row.subject = "verbs";
    row.key = "on";
    row.weight = 7;
    row.by_rank = true;
    row.add("nothing", nullptr);
    row.add("flag", true);
    row.add("number", uint64_t{1} << 63).in(TUTTI_UNIT_BYTES).most();
    row.add("real", 0.5).in(TUTTI_UNIT_SECONDS).sum();
    row.add("text", "words").say("{} in all", 3);
    const std::vector<tutti_fact> facts = c_facts(row);
    const tutti_fact_row c_row{sizeof(tutti_fact_row), "verbs",     "on", 7, 1,
                               facts.data(),           facts.size()};
    const FactRow back = row_of(c_row);
    EXPECT_EQ(back.subject, row.subject);
    EXPECT_EQ(back.key, row.key);
    EXPECT_EQ(back.weight, row.weight);
    EXPECT_EQ(back.by_rank, row.by_rank);
    ASSERT_EQ(back.facts.size(), row.facts.size());
    for (size_t i = 0; i < row.facts.size(); ++i) {
        EXPECT_EQ(facts[i].struct_bytes, sizeof(tutti_fact));
        EXPECT_EQ(back.facts[i].name, row.facts[i].name);
        EXPECT_EQ(back.facts[i].value, row.facts[i].value) << row.facts[i].name;
        EXPECT_EQ(back.facts[i].unit, row.facts[i].unit);
        EXPECT_EQ(back.facts[i].merge, row.facts[i].merge);
        EXPECT_EQ(back.facts[i].phrase, row.facts[i].phrase);
        EXPECT_EQ(back.facts[i].said_from, row.facts[i].said_from);
    }
}

}  // namespace
}  // namespace tutti
