// SPDX-License-Identifier: BSD-3-Clause
#include "base/prng.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti {
namespace {

// The published first values of SplitMix64 from the seed 1234567.
TEST(Prng, IsSplitMix64) {
    Prng prng(1234567);
    const std::vector<uint64_t> expected = {6457827717110365317u, 3203168211198807973u,
                                            9817491932198370423u, 4593380528125082431u,
                                            16408922859458223821u};
    for (const uint64_t value : expected) EXPECT_EQ(prng.next(), value);
}

TEST(Prng, StaysBelowItsBoundAndReachesAll) {
    Prng prng(1);
    std::vector<int> seen(7, 0);
    for (int i = 0; i < 7000; ++i) ++seen.at(prng.below(7));
    for (const int count : seen) {
        EXPECT_GT(count, 800);
        EXPECT_LT(count, 1200);
    }
    EXPECT_EQ(prng.below(1), 0u);
}

}  // namespace
}  // namespace tutti
