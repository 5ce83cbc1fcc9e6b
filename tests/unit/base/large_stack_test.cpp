// SPDX-License-Identifier: BSD-3-Clause
#include "base/large_stack.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <climits>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tutti {
namespace {

// Writes so much of the stack that it is called on.
__attribute__((noinline)) size_t touch(size_t bytes) {
    volatile char frame[1024];
    for (volatile char& one : frame) one = 1;
    return bytes <= sizeof frame ? 1 : touch(bytes - sizeof frame) + frame[0] - frame[1] + 1;
}

TEST(LargeStack, GivesWhatTheCallReturns) {
    const std::string text = on_large_stack([] { return std::string(100, 'x'); });
    EXPECT_EQ(text, std::string(100, 'x'));
}

TEST(LargeStack, PassesExceptionsOn) {
    const auto fail = []() -> int { throw std::runtime_error("as it was"); };
    try {
        on_large_stack(fail);
        FAIL();
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "as it was");
    }
}

TEST(LargeStack, MayBeTakenTwice) {
    const auto inner = [] { return touch(700'000); };
    EXPECT_EQ(on_large_stack([&] { return on_large_stack(inner) + touch(700'000); }),
              2 * touch(700'000));
}

#if defined(__x86_64__) && !defined(TUTTI_SANITIZED)
TEST(LargeStack, HoldsMoreThanTheThreads) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, 1u << 16), 0);
    size_t touched = 0;
    const auto body = [](void* user) -> void* {
        *static_cast<size_t*>(user) = on_large_stack([] { return touch(900'000); });
        return nullptr;
    };
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, &attributes, body, &touched), 0);
    pthread_join(thread, nullptr);
    EXPECT_EQ(touched, 879u);
}
#endif

}  // namespace
}  // namespace tutti
