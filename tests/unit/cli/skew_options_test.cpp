// SPDX-License-Identifier: BSD-3-Clause
#include "cli/skew_options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace tutti::cli {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(SkewOptions, ReadsADistributionAndHowMuch) {
    const auto one = parse_skew("one:10ms");
    ASSERT_TRUE(one);
    EXPECT_EQ(one.value().skew, adapt::Skew::kOne);
    EXPECT_EQ(one.value().most_ns, std::vector<uint64_t>{10 * kMs});
    const auto several = parse_skew("uniform:0,500us,1.5ms,1s");
    ASSERT_TRUE(several);
    EXPECT_EQ(several.value().most_ns, (std::vector<uint64_t>{0, 500'000, 1'500'000, 1000 * kMs}));
    const auto none = parse_skew("none");
    ASSERT_TRUE(none);
    EXPECT_EQ(none.value().most_ns, std::vector<uint64_t>{0});
}

TEST(SkewOptions, NamesWhatIsWrong) {
    const auto line = [](std::string_view text) { return parse_skew(text).error().message; };
    EXPECT_EQ(line("report"), "--skew 'report': expected report:FILE.json");
    EXPECT_NE(line("report:/nowhere/run.json").find("/nowhere/run.json"), std::string::npos);
    EXPECT_EQ(line("unifrom:1ms"), "--skew 'unifrom:1ms': did you mean uniform?");
    EXPECT_EQ(line("gauss:1ms"),
              "--skew 'gauss:1ms': expected DISTRIBUTION:MAX, such as uniform:10ms; distributions "
              "are none, one, uniform, exponential, node, alternating, report");
    EXPECT_EQ(line("one"), "--skew 'one': expected DISTRIBUTION:MAX, such as uniform:10ms");
    EXPECT_EQ(line("none:1ms"), "--skew 'none:1ms': none has no MAX");
    for (const char* bad : {"one:", "one:1", "one:-1ms", "one:1ms,", "one:61s", "one:1h", "one:x",
                            "one:1ms:2ms", "one:1 ms"}) {
        EXPECT_NE(line(bad).find("MAX is a time such as"), std::string::npos) << bad;
    }
    for (const char* bad : {"one:1ms,1ms", "one:1ms,0", "one:1ms,999us"}) {
        EXPECT_NE(line(bad).find("longer than the one before it"), std::string::npos) << bad;
    }
    std::string many = "one:0";
    for (int i = 1; i < 33; ++i) many += "," + std::to_string(i) + "ms";
    EXPECT_NE(line(many).find("more than 32 times MAX"), std::string::npos);
}

class SavedReport : public ::testing::Test {
  protected:
    ~SavedReport() override { std::remove(file_.c_str()); }
    // The option's value that names a report of these arrivals.
    std::string with(const std::string& arrivals) {
        std::ofstream(file_) << R"({"tutti": "0.1.0", "arrivals": )" << arrivals << "}";
        return "report:" + file_;
    }
    const std::string file_ =
        ::testing::TempDir() + "skew-words-" + std::to_string(getpid()) + ".json";
};

TEST_F(SavedReport, IsReplayed) {
    const auto skew =
        parse_skew(with(R"({"recorded": {"late_s": [[0, 1.5e-3, 2e-6], [3, 0, 0]]}})"));
    ASSERT_TRUE(skew) << skew.error().message;
    EXPECT_EQ(skew.value().skew, adapt::Skew::kReport);
    EXPECT_EQ(skew.value().most_ns, std::vector<uint64_t>{3000 * kMs});
    EXPECT_EQ(*skew.value().recorded,
              (adapt::RecordedDelays{{0, 1'500'000, 2000}, {3000 * kMs, 0, 0}}));
    EXPECT_EQ(skew.value().obstacle(3), "");
    EXPECT_EQ(skew.value().obstacle(4),
              "--skew report: arrivals of 3 ranks were recorded, and there are 4");
    EXPECT_EQ(parse_skew("none").value().obstacle(4), "");
}

TEST_F(SavedReport, ForeignOnesAreNamed) {
    for (const char* none : {"1", "[]", "{}", R"({"recorded": 3})", R"({"recorded": {}})",
                             R"({"recorded": {"late_s": []}})"}) {
        const auto skew = parse_skew(with(none));
        ASSERT_FALSE(skew) << none;
        EXPECT_NE(skew.error().message.find(file_ + "': has no recorded arrivals"),
                  std::string::npos)
            << none;
    }
    for (const char* bad : {"3", "[3]", "[[]]", "[[1], [1, 2]]", R"([["x"]])", "[[-1]]", "[[61]]",
                            "[[null]]", R"({"a": 1})"}) {
        const auto skew = parse_skew(with(R"({"recorded": {"late_s": )" + std::string(bad) + "}}"));
        ASSERT_FALSE(skew) << bad;
        EXPECT_EQ(skew.error().message.find('\n'), std::string::npos) << bad;
        EXPECT_NE(skew.error().message.find(file_), std::string::npos) << bad;
    }
    std::ofstream(file_) << R"({"arrivals": {"recorded)";  // cut off
    EXPECT_FALSE(parse_skew("report:" + file_));
}

}  // namespace
}  // namespace tutti::cli
