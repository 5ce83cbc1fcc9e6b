// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/faulty/packets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace tutti::transport {
namespace {

constexpr size_t kBytesMax = 16;

struct Passed {
    std::vector<uint32_t> numbers;
    PacketFaults::Sink sink = [this](std::span<const std::byte> packet) {
        ASSERT_EQ(packet.size(), sizeof(uint32_t));
        std::memcpy(&numbers.emplace_back(), packet.data(), packet.size());
    };
};

// Packets 0, 1, 2 ..., one a microsecond, and what is held back at the end.
std::vector<uint32_t> pass(PacketFaults& faults, uint32_t count) {
    Passed passed;
    uint64_t now_ns = 0;
    for (uint32_t number = 0; number < count; ++number) {
        faults.pass(now_ns += 1000, std::as_bytes(std::span(&number, 1)), passed.sink);
    }
    while (faults.next_ns() != std::numeric_limits<uint64_t>::max()) {
        faults.release(faults.next_ns(), passed.sink);
    }
    return passed.numbers;
}

TEST(PacketFaults, PassesAllByItself) {
    PacketFaults faults({}, 0, kBytesMax);
    const auto numbers = pass(faults, 100);
    ASSERT_EQ(numbers.size(), 100u);
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
}

TEST(PacketFaults, DropsAndDoublesTheirShare) {
    PacketFaults faults({.drop_ppm = 100'000, .dup_ppm = 50'000, .seed = 7}, 3, kBytesMax);
    const auto numbers = pass(faults, 10'000);
    EXPECT_EQ(numbers.size(), 10'000 - faults.dropped() + faults.doubled());
    // Exact for these seeds; about 1,000 and 450.
    EXPECT_NEAR(static_cast<double>(faults.dropped()), 1000, 150);
    EXPECT_NEAR(static_cast<double>(faults.doubled()), 450, 100);
}

TEST(PacketFaults, ReordersWithinBounds) {
    constexpr uint32_t kReorder = 8;
    PacketFaults faults({.reorder = kReorder, .seed = 7}, 0, kBytesMax);
    auto numbers = pass(faults, 1000);
    ASSERT_EQ(numbers.size(), 1000u);
    EXPECT_GT(faults.held_back(), 100u);
    EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
    for (size_t i = 0; i < numbers.size(); ++i) {
        EXPECT_LE(i, numbers[i] + kReorder);
    }
    std::sort(numbers.begin(), numbers.end());
    for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(numbers[i], i);
}

TEST(PacketFaults, TheLastPacketIsNotHeldForEver) {
    PacketFaults faults({.reorder = 4, .seed = 1}, 0, kBytesMax);
    Passed passed;
    const uint32_t number = 5;
    // One of these is held back while nothing comes that could overtake it.
    while (faults.next_ns() == std::numeric_limits<uint64_t>::max()) {
        faults.pass(0, std::as_bytes(std::span(&number, 1)), passed.sink);
    }
    const size_t before = passed.numbers.size();
    faults.release(faults.next_ns() - 1, passed.sink);
    EXPECT_EQ(passed.numbers.size(), before);
    faults.release(faults.next_ns(), passed.sink);
    EXPECT_EQ(passed.numbers.size(), before + 1);
}

TEST(PacketFaults, SameSeedSameFaultsOtherMemberOthers) {
    const FaultPlan plan{.drop_ppm = 200'000, .dup_ppm = 10'000, .reorder = 4, .seed = 9};
    PacketFaults one(plan, 1, kBytesMax);
    PacketFaults again(plan, 1, kBytesMax);
    PacketFaults other(plan, 2, kBytesMax);
    const auto numbers = pass(one, 500);
    EXPECT_EQ(numbers, pass(again, 500));
    EXPECT_NE(numbers, pass(other, 500));
}

}  // namespace
}  // namespace tutti::transport
