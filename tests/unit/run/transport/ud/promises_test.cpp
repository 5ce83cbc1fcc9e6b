// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/ud/promises.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::transport::ud {
namespace {

TEST(Promises, AWindowIsTheSmallestShareOfHalf) {
    EXPECT_EQ(choose_window(std::vector<uint32_t>(16, 3072)), 3072u / 2 / 15);
    EXPECT_EQ(choose_window(std::vector<uint32_t>{3072, 192, 3072, 3072}), 32u);
    EXPECT_EQ(choose_window(std::vector<uint32_t>{3072, 3072}), kWindowPacketsMax);
}

TEST(Promises, ALargeGroupHasTheLeastWindowAndWhatThereIs) {
    EXPECT_EQ(choose_window(std::vector<uint32_t>(4096, 3072)), kWindowPacketsMin);
    EXPECT_EQ(promise_of(kWindowPacketsMin, 193, 3072), 3072u);
    EXPECT_EQ(promise_of(kWindowPacketsMin, 4096, 3072), 3072u);
    EXPECT_EQ(promise_of(102, 16, 3072), 1530u);
}

TEST(Promises, OfOneMemberThereIsNothing) {
    EXPECT_EQ(choose_window(std::vector<uint32_t>{3072}), kWindowPacketsMax);
    EXPECT_EQ(promise_of(kWindowPacketsMax, 1, 3072), 0u);
}

}  // namespace
}  // namespace tutti::transport::ud
