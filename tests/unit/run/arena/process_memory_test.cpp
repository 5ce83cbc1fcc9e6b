// SPDX-License-Identifier: BSD-3-Clause
// Reads the memory of this process, which it may.
#include "run/arena/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/prng.h"
#include "sim/seeds.h"
#include "unit/short_transfers.h"

namespace tutti::arena {
namespace {

uint64_t address_of(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

TEST(ProcessMemory, IsReadWholeThoughTheKernelMovesLess) {
    test::for_each_seed(200, [](uint64_t seed) {
        Prng prng(seed);
        std::vector<std::byte> theirs(1 + prng.below(100'000));
        for (std::byte& one : theirs) one = static_cast<std::byte>(prng.next());
        std::vector<std::byte> mine(theirs.size());
        ProcessMemory memory({getpid()});
        const test::ShortTransfers transfers(seed);
        ASSERT_TRUE(memory.read(0, mine.data(), address_of(theirs.data()), mine.size()));
        EXPECT_EQ(mine, theirs);
    });
}

// The kernel stops at what is not there. That is no denial, and other memory can be read.
TEST(ProcessMemory, SaysThatARangeEnds) {
    const auto page = static_cast<size_t>(getpagesize());
    void* const two =
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(two, MAP_FAILED);
    ASSERT_EQ(munmap(static_cast<std::byte*>(two) + page, page), 0);
    std::vector<std::byte> mine(2 * page);
    ProcessMemory memory({getpid()});
    EXPECT_FALSE(memory.read(0, mine.data(), address_of(two), mine.size()));
    EXPECT_EQ(memory.failure(), EFAULT);
    EXPECT_EQ(memory.denial().failure, 0);
    EXPECT_TRUE(memory.read(0, mine.data(), address_of(two), page));
    munmap(two, page);
}

}  // namespace
}  // namespace tutti::arena
