// SPDX-License-Identifier: BSD-3-Clause
#include "sim/cache_lines.h"

#include <gtest/gtest.h>

namespace tutti::test {
namespace {

constexpr Machine kMachine{"two sockets", 2, 4, 8, 16, {10, 100, 150, 300}};
// One core in each distance from core 0.
constexpr uint32_t kNear = 1;
constexpr uint32_t kFarther = 4;
constexpr uint32_t kFar = 8;
constexpr CoreModel kInTurn{.hit_ns = 1, .reads_ahead = 1, .serve_ns = 5};

TEST(CacheLines, AReadCostsTheWayToTheNearestCopy) {
    CacheLines lines(kMachine, kInTurn);
    EXPECT_EQ(lines.write(0, 7, 1000).at, 1000u);
    EXPECT_EQ(lines.read(kNear, 7, 2000), 2010u);
    EXPECT_EQ(lines.read(kNear, 7, 3000), 3001u);
    EXPECT_EQ(lines.read(kFarther, 7, 4000), 4150u);
    EXPECT_EQ(lines.read(kFar, 7, 5000), 5300u);
    EXPECT_EQ(lines.read(kFar + 1, 7, 6000), 6010u);
}

TEST(CacheLines, AWriteTakesTheLineFromTheFarthest) {
    CacheLines lines(kMachine, kInTurn);
    lines.write(0, 7, 1000);
    lines.read(kNear, 7, 2000);
    lines.read(kFar, 7, 2000);
    const CacheLines::Taken taken = lines.write(0, 7, 3000);
    EXPECT_EQ(taken.at, 3300u);
    EXPECT_EQ(taken.from, (std::vector<uint32_t>{kNear, kFar}));
    EXPECT_EQ(lines.visible_at(kNear, 7), 3300u);
    EXPECT_EQ(lines.visible_at(0, 7), 0u);
    // What the core writes afterwards is seen afterwards.
    EXPECT_EQ(lines.write(0, 8, 3001).at, 3300u);
    EXPECT_EQ(lines.read(kNear, 7, 3100), 3310u);
}

TEST(CacheLines, ReadersOfOneLineQueueUp) {
    CacheLines lines(kMachine, kInTurn);
    lines.write(0, 7, 1000);
    EXPECT_EQ(lines.read(kFarther, 7, 2000), 2150u);
    EXPECT_EQ(lines.read(kFar, 7, 2000), 2305u);
    // Nearer to the first reader's copy, once that is there.
    EXPECT_EQ(lines.read(kFarther + 1, 7, 2000), 2160u);
}

TEST(CacheLines, ReadsOverlapBehindTheFirst) {
    CacheLines lines(kMachine, {.hit_ns = 1, .reads_ahead = 2, .serve_ns = 5});
    for (const size_t line : {1u, 2u, 3u, 4u}) lines.write(kFar, line, 1000);
    EXPECT_EQ(lines.read(0, 1, 2000), 2300u);  // not foreseen
    EXPECT_EQ(lines.read(0, 2, 2300), 2600u);  // asked for when the first was there,
    EXPECT_EQ(lines.read(0, 3, 2600), 2601u);  // and so was this
    EXPECT_EQ(lines.read(0, 4, 2601), 2900u);  // when there was room again
    lines.pause(0);
    lines.write(kFar, 1, 3000);
    EXPECT_EQ(lines.read(0, 1, 4000), 4300u);
}

TEST(CacheLines, AMachineIsOneForHwloc) {
    EXPECT_EQ(kMachine.synthetic(), "pack:2 numa:2 l3:2 core:2 ");
}

}  // namespace
}  // namespace tutti::test
