// SPDX-License-Identifier: BSD-3-Clause
#include "base/allowance.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tutti::test {
namespace {

TEST(Allowance, GivesNoMoreThanThereIs) {
    Allowance all;
    auto most = all.take(6, 10);
    ASSERT_TRUE(most);
    EXPECT_EQ(most->amount(), 6u);
    EXPECT_FALSE(all.take(5, 10));
    EXPECT_FALSE(all.take(UINT64_MAX, 10));
    EXPECT_TRUE(all.take(4, 10));  // given back at once
    EXPECT_EQ(all.taken(), 6u);
    most.reset();
    EXPECT_TRUE(all.take(10, 10));
}

TEST(Allowance, ZeroIsNoBound) {
    Allowance all;
    const auto part = all.take(uint64_t{1} << 60, 0);
    EXPECT_TRUE(part);
    EXPECT_FALSE(all.take(1, 10));
}

TEST(Allowance, MovedPartsAreGivenBackOnce) {
    Allowance all;
    {
        Allowance::Part kept;
        kept = std::move(*all.take(3, 10));
        Allowance::Part other(std::move(kept));
        other = std::move(*all.take(2, 10));
        EXPECT_EQ(other.amount(), 2u);
        EXPECT_EQ(all.taken(), 2u);
    }
    EXPECT_EQ(all.taken(), 0u);
}

TEST(Allowance, OfManyThreads) {
    Allowance all;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int j = 0; j < 1000; ++j) {
                const auto part = all.take(4, 10);
                EXPECT_LE(all.taken(), 10u);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(all.taken(), 0u);
}

}  // namespace
}  // namespace tutti::test
