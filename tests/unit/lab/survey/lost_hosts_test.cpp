// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/lost_hosts.h"

#include <gtest/gtest.h>

namespace tutti::survey {
namespace {

const std::vector<Transfer> kPair{{0, 1}, {1, 0}};

TEST(LostHosts, IsLostAfterSoManyExperimentsInARow) {
    LostHosts lost(3);
    const std::vector<Transfer> two{{0, 2}, {1, 0}};
    const std::vector<uint64_t> times_ns{kMissingNs, 5};
    for (uint32_t i = 1; i < kMissingMax; ++i) EXPECT_FALSE(lost.take(two, times_ns));
    EXPECT_FALSE(lost.take(kPair, std::vector<uint64_t>{7, 7}));
    EXPECT_TRUE(lost.take(two, times_ns));
    EXPECT_FALSE(lost.take(two, times_ns));
    EXPECT_EQ(lost.by_host(), (std::vector<bool>{false, false, true}));
    EXPECT_EQ(lost.alive(), (std::vector<uint32_t>{0, 1}));
}

TEST(LostHosts, AnAnswerForgivesWhatWasMissing) {
    LostHosts lost(2);
    const std::vector<uint64_t> missing{kMissingNs, kMissingNs};
    for (uint32_t i = 0; i < 10; ++i) {
        const bool comes = i % kMissingMax == kMissingMax - 1;
        EXPECT_FALSE(lost.take(kPair, comes ? std::vector<uint64_t>{kMissingNs, 1} : missing));
    }
    EXPECT_EQ(lost.alive().size(), 2u);
}

// Host 0 has not answered host 2, which others hear. So its silence is not put on host 1.
TEST(LostHosts, IsNotLostForMeetingADeadOne) {
    LostHosts lost(3);
    lost.take(std::vector<Transfer>{{0, 2}, {2, 1}}, std::vector<uint64_t>{kMissingNs, 1});
    const std::vector<uint64_t> missing{kMissingNs, kMissingNs};
    for (uint32_t i = 0; i < 10; ++i) lost.take(kPair, missing);
    EXPECT_EQ(lost.alive(), (std::vector<uint32_t>{1, 2}));
}

}  // namespace
}  // namespace tutti::survey
