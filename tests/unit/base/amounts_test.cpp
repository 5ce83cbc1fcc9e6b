// SPDX-License-Identifier: BSD-3-Clause
#include "base/amounts.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace tutti {
namespace {

// Rounded up, and right for more than 2^64 / 10^9 bytes.
TEST(Amounts, TimeOfManyBytes) {
    EXPECT_EQ(bytes_ns(0, 3), 0u);
    EXPECT_EQ(bytes_ns(1, 3), 333'333'334u);
    EXPECT_EQ(bytes_ns(3, 3), 1'000'000'000u);
    EXPECT_EQ(bytes_ns(8'000'000'001, 8'000'000'000), 1'000'000'001u);
    EXPECT_EQ(bytes_ns(uint64_t{64} << 30, uint64_t{1} << 30), 64'000'000'000u);
    EXPECT_EQ(bytes_ns(uint64_t{64} << 30, uint64_t{1} << 40), 62'500'000u);
    EXPECT_EQ(bits_ns(uint64_t{64} << 30, 100'000'000'000), 5'497'558'139u);
    EXPECT_EQ(bits_ns(125, 1'000'000'000), 1000u);
}

TEST(Amounts, TimesAreRoundedUp) {
    EXPECT_EQ(bits_ns(0, 1000), 0u);
    EXPECT_EQ(bits_ns(1, 100'000'000'000), 1u);
    EXPECT_EQ(bits_ns(1 << 20, 25'000'000), 335'544'320u);
    EXPECT_EQ(bits_ns(size_t{1} << 30, 8), (uint64_t{1} << 30) * 1'000'000'000);
}

}  // namespace
}  // namespace tutti
