// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/figures_text.h"

#include <gtest/gtest.h>

namespace tutti::node {
namespace {

constexpr Tuning kUntried;

// Two cores of one die, as measured on an AMD EPYC.
Figures near_cores() {
    Figures figures;
    figures.barrier_ns = 62;
    figures.way_ns = {5300, 3440, 3360, 9900};
    figures.one_way.single[kMeasuredMiddle] = 7700;
    return figures;
}

TEST(FiguresText, NothingMeasured) {
    EXPECT_EQ(figures_text({}), std::vector<std::string>{"nothing measured"});
    Figures barrier;
    barrier.barrier_ns = 20;
    EXPECT_EQ(figures_text(barrier), std::vector<std::string>{"barrier 0.02 us"});
    EXPECT_EQ(consequence_text({}, kUntried, true),
              "copies by prefetch in pieces of up to 16 KiB; single copy not measured");
    EXPECT_EQ(consequence_text({}, kUntried, false),
              "copies by prefetch in pieces of up to 16 KiB; no single copy");
}

TEST(FiguresText, SingleCopy) {
    const auto text = [](uint64_t one_way, uint64_t all_ways, uint64_t scatter) {
        Tuning tuning;
        tuning.single_one_way = one_way;
        tuning.single_all_ways = all_ways;
        tuning.single_scatter = scatter;
        const std::string all = consequence_text(near_cores(), tuning, true);
        return all.substr(all.find("; ") + 2);
    };
    EXPECT_EQ(text(0, 0, 0), "single copy wherever it may");
    EXPECT_EQ(text(16384, 16384, 16384), "single copy from 16 KiB on");
    EXPECT_EQ(text(kNever, 65536, kNever), "single copy never one way, from 64 KiB on both ways");
    EXPECT_EQ(text(kNever, kNever, kNever), "single copy never");
    EXPECT_EQ(text(kNever, kNever, 65536), "single copy never, of scatters from 64 KiB on");
}

TEST(FiguresText, SingleCopyWhereRanksShareProcessors) {
    Tuning tuning = kUntried;
    tuning.single_once = 16384;
    EXPECT_EQ(
        consequence_text({}, tuning, true),
        "copies by prefetch in pieces of up to 16 KiB; single copy from 16 KiB on between all");
    EXPECT_EQ(consequence_text({}, tuning, false),
              "copies by prefetch in pieces of up to 16 KiB; no single copy");
}

TEST(FiguresText, ReadersAtATime) {
    Figures figures = near_cores();
    figures.one_way.single[kMeasuredMiddle] = 31'000;
    figures.readers_ns = {26'000, 18'500, 22'000, 0, 0, 0, 0, 0};
    EXPECT_EQ(figures_text(figures)[0],
              "barrier 0.06 us; 64 KiB one way: plain 5.3, prefetch 3.4, string 3.4, stream 9.9, "
              "single copy 31.0, by 2 at a time 18.5 us");
    Tuning tuning;
    tuning.set_single(65536);
    const auto text = [&](uint32_t readers) {
        tuning.readers_max = readers;
        const std::string all = consequence_text(figures, tuning, true);
        return all.substr(all.find("; ") + 2);
    };
    EXPECT_EQ(text(2), "single copy from 64 KiB on, 2 readers at a time");
    EXPECT_EQ(text(1), "single copy from 64 KiB on, 1 reader at a time");
    EXPECT_EQ(text(kAllReaders), "single copy from 64 KiB on");
    tuning.set_single(kNever);
    EXPECT_EQ(text(2), "single copy never");
}

}  // namespace
}  // namespace tutti::node
