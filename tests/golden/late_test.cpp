// SPDX-License-Identifier: BSD-3-Clause
// explain --skew: what is left when a rank comes late.
#include "golden/transcript.h"

namespace tutti::golden {
namespace {

const std::string kCall =
    "explain barrier --ranks 8 --rate 100Gbit --latency 2us --algorithm gather_multicast ";

std::string row_of(const std::string& out, const std::string& name) {
    const size_t begin = out.find(name + ' ');
    return begin == std::string::npos ? "" : out.substr(begin, out.find('\n', begin) - begin);
}

// A hop of 2 us, a multicast of 5: to the root and to all, or, who is late knowing all, to all.
TEST_F(Transcript, WhatIsLeftWhenARankComesLate) {
    const Answer answer = tutti(kCall + "--multicast --multicast-speed 5us,100gbit --skew one:1ms");
    ASSERT_EQ(answer.status, 0) << answer.err;
    const auto ends = [&](const char* name, const char* times) {
        const std::string row = row_of(answer.out, name);
        EXPECT_NE(row.find(times), std::string::npos) << row;
    };
    ends(" dissemination", "       6 us       6 us  ceil");
    ends(" gather_multicast", "       7 us       7 us  up");
    ends(" adaptive_multicast", "   5.002 us  to");
    EXPECT_NE(answer.out.find("one rank 1 ms behind all others"), std::string::npos);
    EXPECT_NE(answer.out.find("\nadaptive: faster than gather_multicast at no skew\n"
                              "adaptive_multicast: faster than gather_multicast from "),
              std::string::npos)
        << answer.out;
    // Nobody has asked.
    EXPECT_EQ(tutti(kCall + "--multicast").out.find("late:"), std::string::npos);
}

TEST_F(Transcript, WhoIsLateIsOneRank) {
    const auto error = [&](const std::string& options) { return tutti(kCall + options).err; };
    EXPECT_EQ(error("--multicast --skew uniform:1ms"),
              "tutti: --skew=uniform:1ms: expected one rank's, such as one:1ms; tutti simulate has "
              "all\n");
    EXPECT_NE(error("--multicast --skew one:1ms,2ms").find("expected one rank's"),
              std::string::npos);
    EXPECT_NE(error("--multicast --skew one").find("--skew 'one': "), std::string::npos);
    EXPECT_EQ(tutti("explain barrier --ranks 8 --hosts 1 --skew one:1ms").err,
              "tutti: --skew: on one host no message is sent\n");
}

}  // namespace
}  // namespace tutti::golden
