// SPDX-License-Identifier: BSD-3-Clause
// The rules file: what is read, and that whatever is wrong is told with its place.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "plan/select/rules.h"

namespace tutti::select {
namespace {

constexpr const char* kWhole = R"(
built_in = false

[[rule]]
collective = ["gather", "scatter"]
bytes = "64K..1M"
ranks = 16
hosts = "2.."
ranks_per_host = "..8"
mpi = ["mpich", "impi"]
algorithm = "host"
why = "measured"

[[rule]]
collective = "barrier"
hosts = "4..16"
switches = "2.."
hosts_per_switch = "..8"
contiguous = false
algorithm = "dissemination"
order = "ranks"

[[rule]]
collective = "barrier"
algorithm = "tree"
flat = true
)";

TEST(RulesFile, IsReadWhole) {
    const auto parsed = Rules::parse(kWhole, "r.toml");
    ASSERT_TRUE(parsed) << parsed.error().message;
    const Rules& rules = parsed.value();
    EXPECT_EQ(rules.source(), "r.toml");
    EXPECT_FALSE(rules.has_built_in_after());
    ASSERT_EQ(rules.rules().size(), 3u);
    EXPECT_TRUE(rules.rules()[2].tuning.flat);
    const Rule& first = rules.rules()[0];
    EXPECT_EQ(first.number, 1u);
    EXPECT_EQ(first.line, 4u);
    for (int one = 0; one < TUTTI_COLLECTIVE_COUNT; ++one) {
        EXPECT_EQ(first.collectives[static_cast<size_t>(one)],
                  one == TUTTI_GATHER || one == TUTTI_SCATTER);
    }
    EXPECT_EQ(first.bytes, (Range{64u << 10, 1u << 20}));
    EXPECT_EQ(first.ranks, (Range{16, 16}));
    EXPECT_EQ(first.hosts, (Range{2, Range().high}));
    EXPECT_EQ(first.ranks_per_host, (Range{0, 8}));
    EXPECT_EQ(first.mpis, (std::vector<std::string>{"mpich", "impi"}));
    EXPECT_EQ(first.algorithm, "host");
    EXPECT_EQ(first.why, "measured");
    EXPECT_FALSE(first.commutative);
    EXPECT_EQ(describe(first),
              "gather/scatter, 64 KiB to 1 MiB, ranks 16, hosts 2 and more, ranks per host up to "
              "8, mpich, impi");
    const Rule& second = rules.rules()[1];
    EXPECT_EQ(second.hosts, (Range{4, 16}));
    EXPECT_EQ(second.tuning.order, algo::Order::kRanks);
    EXPECT_EQ(describe(second),
              "barrier, hosts 4 to 16, switches 2 and more, hosts per switch up to 8, not "
              "contiguous");
    EXPECT_FALSE(second.bytes);
}

TEST(RulesFile, IsFollowedByTheBuiltInOnesUnlessItSaysSo) {
    const auto empty = Rules::parse("", "r.toml");
    ASSERT_TRUE(empty);
    EXPECT_TRUE(empty.value().has_built_in_after());
    EXPECT_TRUE(empty.value().rules().empty());
}

TEST(RulesFile, TheBuiltInOnesAreRight) {
    const auto parsed = Rules::parse(Rules::built_in_text(), "built_in.toml");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_FALSE(parsed.value().rules().empty());
    EXPECT_EQ(Rules::built_in().rules().size(), parsed.value().rules().size());
    EXPECT_EQ(Rules::built_in().source(), "built-in");
    EXPECT_FALSE(Rules::built_in().has_built_in_after());
}

// The page's example is right.
TEST(RulesFile, ThePageIsUpToDate) {
    std::ifstream file(TUTTI_RULES_PAGE);
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    const size_t begin = page.find("```toml\n") + 8;
    const auto example = Rules::parse(page.substr(begin, page.find("```\n", begin) - begin), "e");
    ASSERT_TRUE(example) << example.error().message;
    EXPECT_EQ(example.value().rules().size(), 2u);
}

constexpr const char* kTuned = R"(
rate = "10Gbit"
latency = "1us"

[tuned]
mpi = "Open MPI v4.1.4"
hosts = "node#"
on = "2026-11-26"

[[rule]]
collective = "bcast"
algorithm = "host"

[[switch]]
name = "leaf0"
hosts = "n[0-7]"

[[link]]
from = "leaf0"
to = "n8"

[[host]]
name = "n8"
)";

TEST(TunedFile, IsRulesAndATopology) {
    const auto parsed = Rules::parse(kTuned, "t.toml");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed.value().tuned(), (Fingerprint{"Open MPI v4.1.4", "node#", ""}));
    EXPECT_TRUE(parsed.value().has_fabric());
    EXPECT_EQ(parsed.value().rules().size(), 1u);
}

TEST(TunedFile, NeedsNoTopology) {
    const auto parsed = Rules::parse(
        "[tuned]\nmpi = \"a\"\nhosts = \"b\"\nprocessor = \"c\"\nabout = \"\"", "t.toml");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed.value().tuned(), (Fingerprint{"a", "b", "c"}));
    EXPECT_FALSE(parsed.value().has_fabric());
    EXPECT_FALSE(Rules::parse("", "r.toml").value().tuned());
}

// The page's example is right.
TEST(TunedFile, ThePageIsUpToDate) {
    std::ifstream file(TUTTI_TUNED_PAGE);
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    const size_t begin = page.find("```toml\n") + 8;
    const auto example = Rules::parse(page.substr(begin, page.find("```\n", begin) - begin), "e");
    ASSERT_TRUE(example) << example.error().message;
    EXPECT_TRUE(example.value().tuned());
    EXPECT_TRUE(example.value().has_fabric());
}

struct Wrong {
    const char* text;
    const char* complaint;
};

class WrongRules : public testing::TestWithParam<Wrong> {};

TEST_P(WrongRules, AreToldWithTheirPlace) {
    const auto parsed = Rules::parse(GetParam().text, "r.toml");
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, ErrorCode::kArgument);
    EXPECT_EQ(parsed.error().message, std::string("r.toml:") + GetParam().complaint);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, WrongRules,
    testing::Values(Wrong{"builtin = true", "1:1: unknown key builtin; did you mean built_in?"},
                    Wrong{"built_in = 2", "1:12: built_in: expected true or false, not 2"},
                    Wrong{"rule = 1", "1:8: rules are written as [[rule]]"},
                    Wrong{"rule = [1]", "1:9: rules are written as [[rule]]"},
                    Wrong{"[[rule]]\ncolective = \"bcast\"",
                          "2:1: unknown key colective; did you mean collective?"},
                    Wrong{"[[rule]]\nzzz = 1\ncollective = 1", "2:1: unknown key zzz"},
                    Wrong{"[[rule]]", "1:1: a rule names its collective"},
                    Wrong{"[[rule]]\ncollective = \"bcast\"", "1:1: a rule names its algorithm"},
                    Wrong{"[[rule]]\ncollective = \"bcost\"",
                          "2:14: unknown collective bcost; did you mean bcast?"},
                    Wrong{"[[rule]]\ncollective = [\"bcast\", 3]",
                          "2:24: collective: expected a word or a list of words, not a list"},
                    Wrong{"[[rule]]\ncollective = []",
                          "2:14: collective: expected a word or a list of words, not a list"}));

INSTANTIATE_TEST_SUITE_P(
    Tuned, WrongRules,
    testing::Values(Wrong{"tuned = 1", "1:9: what was tuned is written as [tuned]"},
                    Wrong{"[tuned]\nmpi = \"a\"",
                          "1:1: hosts is missing: a tuned file names its MPI and hosts"},
                    Wrong{"[tuned]\nhosts = \"a\"",
                          "1:1: mpi is missing: a tuned file names its MPI and hosts"},
                    Wrong{"[tuned]\nmpi = \"\"", "2:7: mpi: expected a text, not \"\""},
                    Wrong{"[tuned]\nprocessor = 1", "2:13: processor: expected a text, not 1"},
                    Wrong{"[tuned]\nhots = \"a\"", "2:1: unknown key hots; did you mean hosts?"},
                    Wrong{"[tuned]\nmpi = \"a\"\nhosts = \"b\"\n[[swich]]",
                          "4:3: unknown key swich; did you mean switch?"},
                    Wrong{"rate = \"1Gbit\"", "1:1: unknown key rate; did you mean rule?"},
                    Wrong{"[[switch]]\nname = \"a\"", "1:3: unknown key switch"}));

INSTANTIATE_TEST_SUITE_P(
    Values, WrongRules,
    testing::Values(
        Wrong{"[[rule]]\nbytes = \"4K..1K\"",
              "2:9: bytes = \"4K..1K\": expected a number or a range such as \"..4K\" or "
              "\"64K..1M\""},
        Wrong{"[[rule]]\nhosts = -1",
              "2:9: hosts = -1: expected a number or a range such as \"2..\" or \"4..16\""},
        Wrong{"[[rule]]\nranks = true",
              "2:9: ranks = true: expected a number or a range such as \"2..\" or \"4..16\""},
        Wrong{"[[rule]]\nmpi = \"lam\"", "2:7: unknown mpi lam: openmpi, mpich or impi"},
        Wrong{"[[rule]]\ncommutative = \"never\"",
              "2:15: commutative: expected true or false, not \"never\""},
        Wrong{"[[rule]]\nmulticast = 1.0",
              "2:13: multicast: expected true or false, not this value"},
        Wrong{"[[rule]]\nlanes = 17", "2:9: lanes=17: expected a number from 1 to 16"},
        Wrong{"[[rule]]\nlanes = \"4\"", "2:9: lanes: expected a number, not \"4\""},
        Wrong{"[[rule]]\nsegment = 1.5", "2:11: segment: expected a number, not this value"},
        Wrong{"[[rule]]\nalgorithm = \"\"", "2:13: algorithm: expected a text, not \"\""},
        Wrong{"[[rule]]\ncollective = \"barrier\"\nalgorithm = \"disemination\"",
              "3:13: unknown algorithm disemination of barrier; did you mean dissemination?"},
        Wrong{"[[rule]]\nflat = true\ncollective = \"barrier\"\nalgorithm = \"host\"",
              "4:13: host takes no options"}));

INSTANTIATE_TEST_SUITE_P(
    Nonsense, WrongRules,
    testing::Values(
        Wrong{"[[rule]]\ncollective = \"bcast\"\nranks = \"..4\"\nhosts = \"5..\"\n"
              "algorithm = \"host\"",
              "5:13: never fits: fewer ranks than hosts"},
        Wrong{"[[rule]]\ncollective = \"barrier\"\nhosts = 1\nalgorithm = \"dissemination\"",
              "4:13: never fits: on one host only host and node run"},
        Wrong{"[[rule]]\ncollective = \"barrier\"\nhosts = 2\nalgorithm = \"node\"",
              "4:13: never fits: node runs on one host only"},
        Wrong{"[[rule]]\ncollective = \"bcast\"\nswitches = 0\nalgorithm = \"chain\"",
              "4:13: never fits: where switches are known, there is one at least"},
        Wrong{"[[rule]]\ncollective = \"bcast\"\nhosts_per_switch = 0\nalgorithm = \"chain\"",
              "4:13: never fits: only switches with hosts count"},
        Wrong{"[[rule]]\ncollective = \"bcast\"\nhosts = 2\nhosts_per_switch = 3\n"
              "algorithm = \"chain\"",
              "5:13: never fits: fewer hosts than on one switch"},
        Wrong{"[[rule]]\ncollective = \"bcast\"\nswitches = 1\nalgorithm = \"node\"",
              "4:13: never fits: a team on one host knows no switches"},
        Wrong{"[[rule]]\ncollective = \"bcast\"\nhosts = 2\nswitches = 3\nalgorithm = \"chain\"",
              "5:13: never fits: fewer hosts than switches"},
        Wrong{"[[rule]]\ncollective = \"barrier\"\nbytes = \"1..\"\nalgorithm = \"host\"",
              "4:13: never fits: a barrier has no bytes"},
        Wrong{"[[rule]]\ncollective = \"bcast\"\ncommutative = false\nalgorithm = \"host\"",
              "4:13: never fits: only reduce and allreduce have an operator"},
        Wrong{"[[rule]]\ncollective = \"bcast\"\nmulticast_mbit = \"..9\"\nalgorithm = \"host\"",
              "4:13: multicast_mbit: needs multicast = true"},
        Wrong{"[[rule]]\ncollective = \"bcast\"\nmulticast = false\nalgorithm = \"multicast\"",
              "4:13: never fits: multicast needs hardware multicast"},
        Wrong{"[[rule]]\ncollective = \"bcast\"\nmulticast = true\nhosts = 1\nalgorithm = \"host\"",
              "5:13: never fits: on one host there is no multicast"},
        Wrong{"[[rule]]\ncollective = \"bcast\"\nrdma = true\nhosts = 1\nalgorithm = \"host\"",
              "5:13: never fits: on one host there is no RDMA"},
        Wrong{"[[rule]]\ncollective = \"bcast\"\nrdma = true\nalgorithm = \"host\"\n"
              "[[rule]]\ncollective = \"bcast\"\nrdma = true\nbytes = \"..4K\"\n"
              "algorithm = \"host\"",
              "9:13: is never reached: rule 1 in line 1 takes the same calls first"},
        Wrong{"[[rule]]\ncollective = \"bcast\"\nmulticast = true\nalgorithm = \"host\"\n"
              "[[rule]]\ncollective = \"bcast\"\nmulticast = true\nbytes = \"..4K\"\n"
              "algorithm = \"host\"",
              "9:13: is never reached: rule 1 in line 1 takes the same calls first"},
        Wrong{"[[rule]]\ncollective = \"bcast\"\nalgorithm = \"host\"\n"
              "[[rule]]\ncollective = \"bcast\"\nbytes = \"..4K\"\nalgorithm = \"node\"",
              "7:13: is never reached: rule 1 in line 1 takes the same calls first"},
        Wrong{"[[rule]]\ncollective = \"barrier\"\nalgorithm = \"dissemination\"\n"
              "[[rule]]\ncollective = \"barrier\"\nranks = 4\nalgorithm = \"dissemination\"",
              "7:13: is never reached: rule 1 in line 1 takes the same calls first"}));

TEST(RulesFile, AFaultOfTheLanguageHasItsPlaceToo) {
    const auto parsed = Rules::parse("[[rule]]\nbytes = = 1\n", "a\nb.toml");
    ASSERT_FALSE(parsed);
    EXPECT_TRUE(parsed.error().message.starts_with("a\\x0ab.toml:2:9: ")) << parsed.error().message;
    EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
    EXPECT_FALSE(Rules::parse(std::string(300'000, '#'), "r.toml"));
}

// Found by fuzz_rules: toml++ itself would run into undefined behaviour or an assertion.
TEST(RulesFile, LettersBeyondAsciiAreForComments) {
    const auto comment = Rules::parse(
        "# f\xc3\xbcr Tr\xc3\xa4"
        "ff\n",
        "r.toml");
    EXPECT_TRUE(comment) << comment.error().message;
    const auto key = Rules::parse("\xcd\x9d = 1", "r.toml");
    ASSERT_FALSE(key);
    EXPECT_TRUE(key.error().message.starts_with("r.toml:1:1: ")) << key.error().message;
    EXPECT_FALSE(Rules::parse("[\f", "r.toml"));
    EXPECT_FALSE(Rules::parse("[\n\n", "r.toml"));
    const auto why = Rules::parse(
        "[[rule]]\ncollective = \"bcast\"\nalgorithm = \"host\"\nwhy = \"f\xc3\xbcr\"\n", "r.toml");
    ASSERT_TRUE(why) << why.error().message;
    EXPECT_EQ(why.value().rules()[0].why, "f??r");
}

// A rule that another one hides only in part is none of our business.
TEST(RulesFile, RulesMayOverlap) {
    const auto parsed = Rules::parse(
        "[[rule]]\ncollective = \"barrier\"\nhosts = \"..8\"\nalgorithm = \"host\"\n"
        "[[rule]]\ncollective = \"barrier\"\nhosts = \"8..16\"\nalgorithm = \"host\"\n"
        "[[rule]]\ncollective = \"barrier\"\nalgorithm = \"dissemination\"\n"
        "[[rule]]\ncollective = \"barrier\"\nalgorithm = \"dissemination\"\nflat = true\n",
        "r.toml");
    EXPECT_TRUE(parsed) << parsed.error().message;
}

class LoadRules : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "tutti-rules-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(root_); }
    [[nodiscard]] std::string file(const std::string& text) const {
        std::ofstream(root_ / "r.toml") << text;
        return (root_ / "r.toml").string();
    }

    std::filesystem::path root_;
    Settings settings_;
};

TEST_F(LoadRules, WithoutAFileTheBuiltInOnesHold) {
    const auto rules = load_rules(settings_);
    ASSERT_TRUE(rules);
    EXPECT_EQ(rules.value().source(), "built-in");
}

TEST_F(LoadRules, FromAFile) {
    settings_.rules.file = file(kWhole);
    const auto rules = load_rules(settings_);
    ASSERT_TRUE(rules) << rules.error().message;
    EXPECT_EQ(rules.value().rules().size(), 3u);
    EXPECT_EQ(rules.value().source(), settings_.rules.file);
}

TEST_F(LoadRules, TheTextOfRankZeroGoesBeforeTheFile) {
    settings_.rules.file = "/only/rank/0/has.toml";
    settings_.rules.text = "[[rule]]\nx = 1";
    const auto rules = load_rules(settings_);
    ASSERT_FALSE(rules);
    EXPECT_EQ(rules.error().message, "/only/rank/0/has.toml:2:1: unknown key x");
}

std::string tuned_text(const std::string& more) {
    return "[tuned]\nmpi = \"a\"\nhosts = \"b\"\n" + more;
}
constexpr const char* kTunedRule = "[[rule]]\ncollective = \"barrier\"\nalgorithm = \"tree\"\n";

TEST_F(LoadRules, OfATunedFile) {
    settings_.rules.tuned_file = file(tuned_text(kTunedRule));
    const auto rules = load_rules(settings_);
    ASSERT_TRUE(rules) << rules.error().message;
    EXPECT_EQ(rules.value().source(), settings_.rules.tuned_file);
    EXPECT_TRUE(rules.value().has_built_in_after());
    settings_.rules.tuned_file = "off";
    EXPECT_EQ(load_rules(settings_).value().source(), "built-in");
    settings_.rules.tuned_file = "/only/rank/0/has.toml";
    settings_.rules.tuned_name = "off";
    EXPECT_EQ(load_rules(settings_).value().source(), "built-in");
    settings_.rules.tuned_name = "/found/tuned.toml";
    settings_.rules.tuned_text = tuned_text("zzz = 1\n");
    EXPECT_EQ(load_rules(settings_).error().message, "/found/tuned.toml:4:1: unknown key zzz");
    settings_.rules.tuned_text = kTunedRule;
    EXPECT_EQ(load_rules(settings_).error().message,
              "/found/tuned.toml:1:1: no tuned file: it does not say [tuned]");
    settings_ = Settings();
    settings_.rules.tuned_file = (root_ / "none.toml").string();
    EXPECT_EQ(load_rules(settings_).error().message,
              "tuned file " + settings_.rules.tuned_file + ": No such file or directory");
}

TEST_F(LoadRules, ATunedFilesStandBehindTheUsers) {
    settings_.rules.text = "[[rule]]\ncollective = \"bcast\"\nalgorithm = \"chain\"\n";
    settings_.rules.tuned_name = "t.toml";
    settings_.rules.tuned_text = "parameters = \"ethernet-10g\"\n" + tuned_text(kTunedRule);
    auto rules = load_rules(settings_);
    ASSERT_TRUE(rules) << rules.error().message;
    ASSERT_EQ(rules.value().rules().size(), 2u);
    const Rules copy = rules.value();
    EXPECT_EQ(copy.source_of(copy.rules()[0]), "TUTTI_RULES_TEXT");
    EXPECT_EQ(copy.source_of(copy.rules()[1]), "t.toml");
    EXPECT_EQ(copy.rules()[1].number, 1u);
    ASSERT_TRUE(copy.parameters());
    const uint64_t tuned_bits = copy.parameters()->links.bits_per_s;
    // The user's parameters go before the tuned file's.
    settings_.rules.text += "[parameters]\nrate = \"3gbit\"\n";
    rules = load_rules(settings_);
    EXPECT_EQ(rules.value().parameters()->links.bits_per_s, 3'000'000'000u);
    EXPECT_NE(tuned_bits, 3'000'000'000u);
    // Where the user says that nothing follows, nothing does.
    settings_.rules.text = "built_in = false\n";
    rules = load_rules(settings_);
    EXPECT_TRUE(rules.value().rules().empty());
    EXPECT_FALSE(rules.value().parameters());
    EXPECT_FALSE(rules.value().has_built_in_after());
    settings_.rules.text = "built_in = true\n";
    settings_.rules.tuned_text = "built_in = false\n" + tuned_text(kTunedRule);
    rules = load_rules(settings_);
    EXPECT_EQ(rules.value().rules().size(), 1u);
    EXPECT_FALSE(rules.value().has_built_in_after());
}

TEST_F(LoadRules, AFileThatCannotBeRead) {
    settings_.rules.file = (root_ / "none.toml").string();
    const auto none = load_rules(settings_);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message,
              "rules file " + settings_.rules.file + ": No such file or directory");
    settings_.rules.file = root_.string();
    const auto directory = load_rules(settings_);
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().message, "rules file " + root_.string() + ": Is a directory");
    // Nobody writes to it.
    settings_.rules.file = (root_ / "pipe").string();
    ASSERT_EQ(mkfifo(settings_.rules.file.c_str(), 0600), 0);
    const auto pipe = load_rules(settings_);
    ASSERT_FALSE(pipe);
    EXPECT_EQ(pipe.error().message,
              "rules file " + settings_.rules.file + ": Operation not supported");
}

TEST_F(LoadRules, AForcedAlgorithmIsLookedAtToo) {
    settings_.rules.forced[TUTTI_BARRIER] = "disemination";
    const auto unknown = load_rules(settings_);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().message,
              "TUTTI_BARRIER=disemination: unknown algorithm disemination of barrier; did you mean "
              "dissemination?");
    settings_.rules.forced[TUTTI_BARRIER] = "dissemination";
    EXPECT_TRUE(load_rules(settings_));
    settings_.rules.forced[TUTTI_REDUCE] = "host";
    EXPECT_TRUE(load_rules(settings_));
    settings_.results.reproducible = true;
    const auto order = load_rules(settings_);
    ASSERT_FALSE(order);
    EXPECT_EQ(order.error().message,
              "TUTTI_REDUCE=host: under TUTTI_REPRODUCIBLE only chain may run");
}

TEST_F(LoadRules, ForcedAlgorithmsAreKeptAsParsed) {
    settings_.rules.forced[TUTTI_ALLREDUCE] = "ring:segment=4K,lanes=2";
    settings_.rules.forced[TUTTI_BCAST] = "node:small";
    for (const std::string& name : {std::string(), file(kWhole)}) {
        settings_.rules.file = name;
        const auto rules = load_rules(settings_);
        ASSERT_TRUE(rules) << rules.error().message;
        const Forced* ring = rules.value().forced(TUTTI_ALLREDUCE);
        ASSERT_NE(ring, nullptr);
        EXPECT_EQ(*ring, parse_forced(TUTTI_ALLREDUCE, "ring:lanes=2,segment=4096").value());
        const Forced* small = rules.value().forced(TUTTI_BCAST);
        ASSERT_NE(small, nullptr);
        EXPECT_EQ(small->algorithm, kNodeLevel);
        EXPECT_EQ(small->node_algorithm, "small");
        EXPECT_EQ(rules.value().forced(TUTTI_REDUCE), nullptr);
    }
    EXPECT_EQ(Rules::built_in().forced(TUTTI_ALLREDUCE), nullptr);
}

}  // namespace
}  // namespace tutti::select
