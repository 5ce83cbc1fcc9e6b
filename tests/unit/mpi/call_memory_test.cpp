// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/call_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "unit/threads.h"

namespace tutti::mpi {
namespace {

TEST(CallMemory, TheNextCallTakesOverWhatTheLastHad) {
    ScratchPool pool;
    std::byte* first = nullptr;
    {
        CallScratch call(pool);
        first = call.get(5000);
        ASSERT_NE(first, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 4096, 0u);
        EXPECT_EQ(call.get(100), first);
    }
    CallScratch next(pool);
    EXPECT_EQ(next.get(8000), first);
}

TEST(CallMemory, CallsUnderWayHaveTheirOwn) {
    ScratchPool pool;
    CallScratch one(pool);
    CallScratch other(pool);
    std::byte* const of_one = one.get(64);
    std::byte* const of_other = other.get(64);
    EXPECT_NE(of_one, of_other);
}

// A short call leaves the long ones' memory where there is another.
TEST(CallMemory, TakesTheSmallestThatFits) {
    ScratchPool pool;
    std::byte* large = nullptr;
    std::byte* small = nullptr;
    {
        CallScratch one(pool);
        CallScratch other(pool);
        large = one.get(1 << 20);
        small = other.get(100);
    }
    CallScratch short_call(pool);
    CallScratch long_call(pool);
    EXPECT_EQ(short_call.get(200), small);
    EXPECT_EQ(long_call.get(500'000), large);
}

TEST(CallMemory, OfNoBytesThereIsSome) {
    ScratchPool pool;
    CallScratch call(pool);
    EXPECT_NE(call.get(0), nullptr);
}

TEST(CallMemory, MoreThanThereIsIsNone) {
    ScratchPool pool;
    CallScratch call(pool);
    EXPECT_EQ(call.get(SIZE_MAX - 10), nullptr);
    EXPECT_NE(call.get(10), nullptr);
}

TEST(CallMemory, ThreadsShareAPool) {
    ScratchPool pool;
    test::run_threads(4, [&](uint32_t rank) {
        for (int i = 0; i < 200; ++i) {
            CallScratch call(pool);
            std::byte* const memory = call.get(4096);
            std::memset(memory, static_cast<int>(rank), 4096);
            for (int at = 0; at < 4096; at += 512) {
                ASSERT_EQ(memory[at], static_cast<std::byte>(rank));
            }
        }
    });
}

}  // namespace
}  // namespace tutti::mpi
