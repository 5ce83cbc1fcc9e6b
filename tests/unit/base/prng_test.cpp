// SPDX-License-Identifier: BSD-3-Clause
#include "base/prng.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

// A seed in a failure report must replay it anywhere: the published sequence, not merely our own.
TEST(Prng, IsSplitMix64) {
    Prng prng(1234567);
    for (const uint64_t expected :
         {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u,
          16408922859458223821u}) {
        EXPECT_EQ(prng.next(), expected);
    }
}

TEST(Prng, StaysBelowItsBound) {
    Prng prng(1);
    for (uint64_t bound = 1; bound < 100; ++bound) EXPECT_LT(prng.below(bound), bound);
}

}  // namespace
}  // namespace tutti
