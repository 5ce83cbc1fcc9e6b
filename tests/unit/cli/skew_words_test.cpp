// SPDX-License-Identifier: BSD-3-Clause
#include "cli/skew_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::cli {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(SkewWords, ReadsADistributionAndHowMuch) {
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

TEST(SkewWords, NamesWhatIsWrong) {
    const auto line = [](std::string_view text) { return parse_skew(text).error().message; };
    EXPECT_EQ(line("report:run.json"),
              "--skew 'report:run.json': reports have no arrivals yet that could be replayed");
    EXPECT_EQ(line("unifrom:1ms"), "--skew 'unifrom:1ms': did you mean uniform?");
    EXPECT_EQ(line("gauss:1ms"),
              "--skew 'gauss:1ms': expected DISTRIBUTION:MAX, such as uniform:10ms; distributions "
              "are none, one, uniform, exponential, node, alternating");
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

}  // namespace
}  // namespace tutti::cli
