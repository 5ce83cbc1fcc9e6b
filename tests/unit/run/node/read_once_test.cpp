// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/read_once.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tutti::node {
namespace {

struct Steps final : Clock {
    uint64_t now = 0;
    uint64_t now_ns() override { return now; }
};

// Takes a nanosecond for each 4 bytes, and as much again for other ranks at each other reading.
class SlowMemory final : public PeerMemory {
  public:
    SlowMemory(Steps& clock, size_t bytes_max) : clock_(clock), bytes_max_(bytes_max) {}
    bool read(Rank rank, std::byte* out, uint64_t address, size_t bytes) override {
        EXPECT_EQ(rank, 3u);
        if (bytes > bytes_max_) return false;
        std::memcpy(out, reinterpret_cast<const std::byte*>(address), bytes);
        clock_.now += bytes / 4 * (1 + ++readings_ % 2);
        return true;
    }

  private:
    Steps& clock_;
    size_t bytes_max_;
    size_t readings_ = 0;
};

TEST(ReadOnce, TakesTheLeastOfSeveral) {
    Steps clock;
    SlowMemory memory(clock, SIZE_MAX);
    const Times times = ReadOnce().measure(memory, 3, clock);
    for (size_t size = 0; size <= kMeasuredMiddle; ++size) {
        EXPECT_EQ(times.single[size], kMeasuredBytes[size] / 4);
        EXPECT_EQ(times.ring[size], 1u) << "the clock stood still, and 0 is not measured";
    }
    EXPECT_EQ(times.ring.back(), 0u);
    EXPECT_EQ(times.single.back(), 0u);
}

TEST(ReadOnce, WhatCannotBeReadIsNotMeasured) {
    Steps clock;
    SlowMemory memory(clock, kMeasuredBytes[1]);
    const Times times = ReadOnce().measure(memory, 3, clock);
    EXPECT_NE(times.single[1], 0u);
    EXPECT_EQ(times.single[2], 0u);
}

TEST(ReadOnce, TheSlowestRankCounts) {
    Times one, other;
    one.ring = {1, 5, 3, 0, 0, 0};
    one.single = {1, 5, 3, 4, 0, 0};
    other.ring = {2, 4, 3, 0, 0, 0};
    other.single = {2, 4, 3, 0, 4, 0};
    take_most(one, other);
    EXPECT_EQ(one.ring, (std::array<uint32_t, 6>{2, 5, 3, 0, 0, 0}));
    EXPECT_EQ(one.single, (std::array<uint32_t, 6>{2, 5, 3, 0, 0, 0})) << "all have to read";
}

}  // namespace
}  // namespace tutti::node
