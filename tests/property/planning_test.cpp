// SPDX-License-Identifier: BSD-3-Clause
// Planning one rank of very many costs a constant amount of memory, and reading it none. A binary
// of its own, since it replaces malloc.
#include <gtest/gtest.h>

#include <cstddef>

#include "property/shapes.h"
#include "sanitized.h"

namespace {
thread_local bool counts = false;
thread_local size_t allocations = 0;
thread_local size_t allocated_bytes = 0;
}  // namespace

#if !TUTTI_TEST_SANITIZED
extern "C" {
void* __libc_malloc(size_t);

void* malloc(size_t bytes) {
    if (counts) {
        ++allocations;
        allocated_bytes += bytes;
    }
    return __libc_malloc(bytes);
}
}
#endif

namespace tutti::algo {
namespace {

// A Program of log p entries in a few tables: 32 depths of at most two stretches.
constexpr size_t kProgramBytesMax = 2048;

// A barrier by a counter is another barrier, whose messages are counted.
uint64_t own_of(const Algorithm& algorithm) {
    return algorithm.name.starts_with("counter") ? 2 : 1;
}

TEST(Planning, IsOneSmallAllocationForARankOfMillions) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer brings its own malloc";
    for (const Algorithm& algorithm : algorithms()) {
        for (const Rank p : {65'536U, 65'537U, 4'000'000U}) {
            const Shape shape = {.collective = algorithm.collective,
                                 .ranks = p,
                                 .root = has_root(algorithm.collective) ? p / 3 : 0,
                                 .bytes = 4096,
                                 .element_bytes = 8,
                                 .has_multicast = true};
            if (!algorithm.obstacle(shape).empty()) continue;
            for (const Rank rank : {Rank{0}, p / 3, p / 2, p - 1}) {
                allocations = 0;
                allocated_bytes = 0;
                counts = true;
                const auto program = algorithm.make(shape, rank, {});
                counts = false;
                EXPECT_EQ(allocations, own_of(algorithm)) << algorithm.name;
                EXPECT_LE(allocated_bytes, kProgramBytesMax) << algorithm.name;
                const uint64_t rounds = program->extent().rounds;
                sched::Round round;
                counts = true;
                for (uint64_t k = 0; k < rounds; k += 1 + rounds / 100) program->read(0, k, round);
                counts = false;
                EXPECT_EQ(allocations, own_of(algorithm)) << algorithm.name;
            }
        }
    }
}

}  // namespace
}  // namespace tutti::algo
