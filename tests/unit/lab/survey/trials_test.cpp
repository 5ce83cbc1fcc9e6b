// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/trials.h"

#include <gtest/gtest.h>

namespace tutti::survey {
namespace {

TEST(Trials, HaveMediansOfWhatCame) {
    Trials trials;
    trials.begin(3);
    trials.take(std::vector<uint64_t>{10, kMissingNs, kMissingNs});
    trials.take(std::vector<uint64_t>{30, 8, kMissingNs});
    EXPECT_FALSE(trials.is_complete());
    trials.take(std::vector<uint64_t>{20, 8, 4});
    EXPECT_TRUE(trials.is_complete());
    EXPECT_EQ(trials.medians_ns(), (std::vector<double>{20, 8, kNoSpeed}));
}

TEST(Trials, TellHowMuchTimesOfOneTransferDiffer) {
    Trials trials;
    EXPECT_EQ(trials.spread(), 1);
    trials.begin(2);
    trials.take(std::vector<uint64_t>{10, 50, kMissingNs});
    trials.take(std::vector<uint64_t>{20, 100, kMissingNs});
    trials.count_spread();
    EXPECT_EQ(trials.spread(), 2);
    trials.begin(1);
    EXPECT_FALSE(trials.is_complete());
    EXPECT_EQ(trials.spread(), 2);
}

}  // namespace
}  // namespace tutti::survey
