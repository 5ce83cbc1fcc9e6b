// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/contradictions.h"

#include <gtest/gtest.h>

#include "unit/run/mcast/support.h"

namespace tutti::mcast {
namespace {

class ContradictionsTest : public testing::Test {
  protected:
    void take(uint64_t sequence, uint32_t offset, uint32_t total) {
        const Data data{sequence, {5, 0, 0, 0}, offset, total, false, payload_};
        contradictions_.on_data(1, data, sequence + 1);
    }
    const std::vector<std::byte> payload_ = test_bytes(100);
    Contradictions contradictions_{test_params()};
};

TEST_F(ContradictionsTest, MessagesThatFollowEachOtherAreNone) {
    take(0, 0, 200);
    take(1, 100, 200);
    take(2, 0, 100);
    EXPECT_FALSE(contradictions_.found());
}

TEST_F(ContradictionsTest, APacketThatDoesNotGoOnWhereTheOneBeforeItEndedIsOne) {
    take(0, 0, 200);
    take(1, 0, 100);
    EXPECT_EQ(contradictions_.found(), Member{1});
    take(2, 0, 100);
    EXPECT_EQ(contradictions_.found(), Member{1}) << "what is found stays found";
}

TEST_F(ContradictionsTest, ASenderThatHasNoMoreInTheMidstOfAMessageIsOne) {
    take(0, 0, 200);
    for (uint32_t i = 0; i < kIdleBeatsMax; ++i) contradictions_.on_heartbeat(1, {1, i, false});
    EXPECT_FALSE(contradictions_.found());
    contradictions_.on_heartbeat(1, {1, kIdleBeatsMax, false});
    EXPECT_EQ(contradictions_.found(), Member{1});
}

TEST_F(ContradictionsTest, ARefusedPacketThatComesAgainAndAgainIsOne) {
    for (uint32_t i = 0; i < 10 * kRefusedMax; ++i) contradictions_.on_refused(1, false);
    for (uint32_t i = 0; i < kRefusedMax; ++i) contradictions_.on_refused(1, true);
    EXPECT_FALSE(contradictions_.found());
    take(0, 0, 100);
    for (uint32_t i = 0; i < kRefusedMax; ++i) contradictions_.on_refused(1, true);
    EXPECT_FALSE(contradictions_.found()) << "the sender's own came between";
    contradictions_.on_refused(1, true);
    EXPECT_EQ(contradictions_.found(), Member{1});
}

TEST_F(ContradictionsTest, AMemberThatAsksForWhatItAcknowledgedIsOneAtLength) {
    uint64_t now_ns = 0;
    const auto ask = [&](uint32_t times, uint64_t first) {
        for (uint32_t i = 0; i < times; ++i) {
            contradictions_.on_nak(now_ns += kVainNakNs, 2, OwnNak(0, {{first, 1}}).nak, 1);
        }
    };
    ask(kVainNaksMax, 0);
    ask(1, 1);
    ask(kVainNaksMax, 0);
    EXPECT_FALSE(contradictions_.found()) << "it asked for what is kept between";
    ask(1, 0);
    EXPECT_EQ(contradictions_.found(), Member{2});
}

}  // namespace
}  // namespace tutti::mcast
