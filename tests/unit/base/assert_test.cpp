// SPDX-License-Identifier: BSD-3-Clause
#include "base/assert.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace tutti {
namespace {

TEST(AssertDeathTest, PrintsWhatAndWhereAndAborts) {
    EXPECT_DEATH(TUTTI_ASSERT(1 + 1 == 3, "arithmetic"),
                 "assert_test.cpp:[0-9]+: assertion failed: 1 \\+ 1 == 3 \\(arithmetic\\)");
}

TEST(AssertDeathTest, AHandlerThatReturnsDoesNotLetTheCallerGoOn) {
    EXPECT_DEATH(
        {
            set_assert_handler([](const char*, int, const char*, const char*) {});
            TUTTI_ASSERT(false, "never passed");
        },
        "");
}

TEST(AssertDeathTest, TheValueOfAFailureIsAMistake) {
    const Result<int> failed = Error{ErrorCode::kSystem, "no luck"};
    EXPECT_EQ(failed.error().message, "no luck");
    EXPECT_DEATH(static_cast<void>(failed.value()), "value of a failed Result");
}

TEST(Assert, TheHandlerIsReplacedAndRestored) {
    const AssertHandler ours = [](const char*, int, const char*, const char*) {};
    const AssertHandler former = set_assert_handler(ours);
    EXPECT_EQ(set_assert_handler(former), ours);
}

}  // namespace
}  // namespace tutti
