// SPDX-License-Identifier: BSD-3-Clause
#include "cli/progress.h"

#include <gtest/gtest.h>

namespace tutti::cli {
namespace {

constexpr uint64_t kPause = ProgressLine::kPauseNs;

TEST(ProgressLine, IsWrittenOverOnATerminal) {
    ProgressLine line(true, 0);
    EXPECT_EQ(line.next("1 of 3", 0), "\r\033[K1 of 3");
    EXPECT_EQ(line.next("2 of 3", 1), "\r\033[K2 of 3");
    EXPECT_EQ(line.clear(), "\r\033[K");
}

TEST(ProgressLine, ComesNowAndThenInALog) {
    ProgressLine line(false, 5);
    EXPECT_EQ(line.next("1 of 3", 5), "");
    EXPECT_EQ(line.next("1 of 3", 4 + kPause), "");
    EXPECT_EQ(line.next("2 of 3", 5 + kPause), "tutti: 2 of 3\n");
    EXPECT_EQ(line.next("2 of 3", 6 + kPause), "");
    EXPECT_EQ(line.next("3 of 3", 5 + 2 * kPause), "tutti: 3 of 3\n");
    EXPECT_EQ(line.clear(), "");
}

}  // namespace
}  // namespace tutti::cli
