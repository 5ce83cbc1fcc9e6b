// SPDX-License-Identifier: BSD-3-Clause
#include "base/assert.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "base/result.h"

namespace tutti {
namespace {

TEST(Assert, PrintsOneLineAndAborts) {
    EXPECT_DEATH(
        TUTTI_ASSERT(1 + 1 == 3, "arithmetic"),
        "tutti: .*assert_test.cpp:[0-9]+: assertion failed: 1 \\+ 1 == 3 \\(arithmetic\\)");
}

TEST(Assert, AHandlerIsToldAndCannotGoOn) {
    const auto handler = [](const char*, int, const char* condition, const char* message) {
        std::fprintf(stderr, "told: %s, %s\n", condition, message);
    };
    EXPECT_DEATH(
        {
            set_assert_handler(handler);
            TUTTI_ASSERT(false, "why");
        },
        "told: false, why");
}

TEST(Assert, ReplacingTheHandlerReturnsTheFormer) {
    const AssertHandler mine = [](const char*, int, const char*, const char*) {};
    const AssertHandler first = set_assert_handler(mine);
    EXPECT_EQ(set_assert_handler(nullptr), mine);
    // Null stands for the default.
    EXPECT_EQ(set_assert_handler(first), first);
}

TEST(Assert, EvaluatesItsConditionOnce) {
    int evaluations = 0;
    TUTTI_ASSERT(++evaluations > 0, "counted");
    EXPECT_EQ(evaluations, 1);
}

TEST(Result, HoldsAValueOrAnError) {
    const Result<int> good = 5;
    ASSERT_TRUE(good);
    EXPECT_EQ(good.value(), 5);
    const Result<int> bad = Error{ErrorCode::kMemory, "none left"};
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, ErrorCode::kMemory);
    EXPECT_EQ(bad.error().message, "none left");
    EXPECT_DEATH(static_cast<void>(bad.value()), "value of a failed Result");
    EXPECT_DEATH(static_cast<void>(good.error()), "error of a successful Result");
}

}  // namespace
}  // namespace tutti
