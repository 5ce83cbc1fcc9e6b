// SPDX-License-Identifier: BSD-3-Clause
// Synthetic tables, all in round numbers.
#include "plan/price/node_speed.h"

#include <gtest/gtest.h>

namespace tutti::price {
namespace {

using node::Figures;

constexpr uint64_t kGB = 1'000'000'000;

// One die: 4 pieces, of the 8,432 ns that 64 KiB take 4 x 60 are flags.
Figures near_cores() {
    Figures figures;
    figures.barrier_ns = 60;
    figures.way_ns = {9000, 8432, 9000, 11000};
    figures.one_way.single = {0, 0, 0, 16384, 0, 0};
    return figures;
}
// Two dies: streams, in 8 pieces.
Figures far_cores() {
    Figures figures;
    figures.barrier_ns = 300;
    figures.way_ns = {34000, 33000, 34000, 18784};
    return figures;
}
// Single copy wins from 32 KiB on.
Figures two_sockets() {
    Figures figures;
    figures.barrier_ns = 1000;
    figures.way_ns = {70000, 69536, 80000, 140000};
    figures.one_way.ring = {0, 20000, 40000, 0, 0, 0};
    figures.one_way.single = {0, 20000, 32768, 32768, 0, 65536};
    return figures;
}

node::Tuning tuned(const Figures& figures) { return node::tune(figures, {}, {}); }

uint64_t bcast_ns(const Figures& figures, uint64_t pieces) {
    return time_ns({pieces, 65536, 0, 0}, parameters_of(figures, tuned(figures)));
}

TEST(NodeSpeed, TheTripThatWasMeasuredTakesWhatItTook) {
    EXPECT_EQ(tuned(near_cores()).way, node::CopyWay::kPrefetch);
    EXPECT_EQ(bcast_ns(near_cores(), 4), 8432u);
    EXPECT_EQ(tuned(far_cores()).way, node::CopyWay::kStream);
    EXPECT_EQ(bcast_ns(far_cores(), 8), 18784u);
    EXPECT_EQ(tuned(two_sockets()).way, node::CopyWay::kPrefetch);
    EXPECT_EQ(bcast_ns(two_sockets(), 4), 69536u);
}

TEST(NodeSpeed, Parameters) {
    const NodeParameters near = parameters_of(near_cores(), tuned(near_cores()));
    EXPECT_EQ(near.flag_ns, 60u);
    EXPECT_EQ(near.copy_bytes_per_s, 8 * kGB);
    EXPECT_EQ(near.reduce_bytes_per_s, NodeParameters{}.reduce_bytes_per_s);
    const NodeParameters far = parameters_of(far_cores(), tuned(far_cores()));
    EXPECT_EQ(far.flag_ns, 300u);
    EXPECT_EQ(far.copy_bytes_per_s, 4 * kGB);
    const NodeParameters sockets = parameters_of(two_sockets(), tuned(two_sockets()));
    EXPECT_EQ(sockets.flag_ns, 1000u);
    EXPECT_EQ(sockets.copy_bytes_per_s, kGB);
}

TEST(NodeSpeed, FlagsAreNeverMoreThanHalfOfIt) {
    Figures figures = near_cores();
    figures.barrier_ns = 5000;
    EXPECT_EQ(parameters_of(figures, tuned(figures)).copy_bytes_per_s, 65536 * kGB / 4216 + 1);
}

// A reader's: as many flags as pieces, the first of which is written before it begins.
TEST(NodeSpeed, OneWayBothWaysAndFoldedTakeWhatTheyTook) {
    Figures figures = near_cores();
    figures.short_ns = 300;
    figures.all_ways.ring[node::kMeasuredMiddle] = 12'000;
    figures.fold_ns = 10'432;
    const NodeSpeeds speeds = *speeds_of(figures, tuned(figures), 2);
    EXPECT_EQ(speeds.flag_ns, 60u);
    EXPECT_EQ(speeds.write_ns, 12'000u - 60 - 1600 - 8192);
    EXPECT_EQ(speeds.start_ns, 300u - 60 - 128);  // 1 KiB of 8192 ns is 128
    EXPECT_EQ(time_ns({.rounds = 1, .read_bytes = 1024}, speeds) / 10, 29u);
    EXPECT_EQ(time_ns({.rounds = 4, .read_bytes = 65536, .first_bytes = 16384}, speeds), 8432u);
    EXPECT_EQ(
        time_ns({.rounds = 4, .read_bytes = 65536, .folded_bytes = 65536, .first_bytes = 16384},
                speeds),
        10'432u);
    EXPECT_EQ(time_ns({.own_bytes = 131'072}, speeds), 3200u);
}

TEST(NodeSpeed, WithoutFiguresBothSidesTakeAsLong) {
    const NodeSpeeds speeds = *speeds_of(near_cores(), tuned(near_cores()), 2);
    EXPECT_EQ(speeds.write_ns, 8192u);
    EXPECT_EQ(speeds.read_ns, 8192u - 2048);
    EXPECT_EQ(speeds.fold_ns, speeds.read_ns);
    EXPECT_EQ(speeds.start_ns, 0u);
    // Whatever was measured, nothing takes no time.
    Figures odd = near_cores();
    odd.all_ways.ring[node::kMeasuredMiddle] = 1;
    odd.short_ns = odd.fold_ns = 1;
    EXPECT_EQ(speeds_of(odd, tuned(odd), 2)->write_ns, 1024u);
    EXPECT_EQ(speeds_of(odd, tuned(odd), 2)->fold_ns, 1u);
    // Of more than two ranks it says nothing.
    EXPECT_EQ(speeds_of(odd, tuned(odd), 3)->write_ns, 8192u);
    EXPECT_EQ(speeds_of(odd, tuned(odd), 3)->fold_ns, 8192u - 2048);
    Figures flags;
    flags.barrier_ns = 60;
    EXPECT_FALSE(speeds_of(flags, tuned(flags), 2));
}

TEST(NodeSpeed, WhatWasNotMeasuredIsAssumed) {
    Figures figures;
    figures.barrier_ns = 60;
    const NodeParameters found = parameters_of(figures, tuned(figures));
    EXPECT_EQ(found.flag_ns, 60u);
    EXPECT_EQ(found.copy_bytes_per_s, NodeParameters{}.copy_bytes_per_s);
}

// What 64 KiB take.
uint64_t single_ns(const Figures& figures, uint64_t bytes) {
    const auto speeds = single_speeds_of(figures, bytes);
    return speeds ? speeds->read_ns : 0;
}

TEST(NodeSpeed, SingleCopyGoesByTheNextSize) {
    EXPECT_EQ(single_ns(far_cores(), 65536), 0u);
    EXPECT_EQ(single_ns(near_cores(), 8), 16384u);
    EXPECT_EQ(single_ns(near_cores(), 1 << 30), 16384u);
    const Figures figures = two_sockets();
    EXPECT_EQ(single_ns(figures, 1), 80'000u);
    EXPECT_EQ(single_ns(figures, 32767), 80'000u);
    EXPECT_EQ(single_ns(figures, 32768), 65536u);
    EXPECT_EQ(single_ns(figures, 65536), 32768u);
    EXPECT_EQ(single_ns(figures, 262144), 16384u);
    const NodeSpeeds speeds = *single_speeds_of(figures, 262144);
    EXPECT_EQ(speeds.fold_ns, speeds.read_ns + speeds.own_ns);
}

// As calls run: with as many readers at a time as were best.
TEST(NodeSpeed, SingleCopyGoesByTheBestReaders) {
    Figures figures = near_cores();
    figures.readers_ns[0] = 32768;
    EXPECT_EQ(single_ns(figures, 65536), 16384u);
    figures.readers_ns[1] = 8192;
    EXPECT_EQ(single_ns(figures, 65536), 8192u);
}

TEST(NodeSpeed, TimesAddUp) {
    const NodeParameters round{100, 8 * kGB, 4 * kGB};
    EXPECT_EQ(time_ns({}, round), 0u);
    EXPECT_EQ(time_ns({3, 0, 0, 0}, round), 300u);
    EXPECT_EQ(time_ns({3, 8000, 16000, 4000}, round), 300u + 3000u + 1000u);
}

}  // namespace
}  // namespace tutti::price
