// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/node_figures.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace tutti::explain {
namespace {

using node::kMeasuredMiddle;
using node::kNever;

constexpr node::Tuning kUntried;

// Two cores of one die, as measured on an AMD EPYC.
node::Figures near() {
    node::Figures figures;
    figures.barrier_ns = 62;
    figures.way_ns = {5300, 3440, 3360, 9900};
    figures.one_way.single[kMeasuredMiddle] = 7700;
    return figures;
}

// Two sockets, where single copy wins from 32 KiB on, both ways from 128 KiB on.
node::Figures far() {
    node::Figures figures;
    figures.barrier_ns = 1234;
    figures.way_ns = {31000, 25000, 30000, 15600};
    figures.one_way.ring = {3000, 4000, 8000, 0, 0, 0};
    figures.one_way.single = {0, 4100, 7000, 12000, 0, 0};
    figures.all_ways.ring = {0, 0, 0, 20000, 40000, 0};
    figures.all_ways.single = {0, 0, 0, 21000, 30000, 0};
    return figures;
}

PairSpeed speed(CpuPair cpus, const node::Figures& figures, const node::TuningLimits& limits) {
    return {std::move(cpus), "", figures, node::tune(figures, kUntried, limits)};
}

// One line each, label and text between bars.
std::string shown(const std::vector<SpeedLine>& lines) {
    std::string text;
    for (const SpeedLine& line : lines) text += line.label + "|" + line.text + "\n";
    return text;
}

TEST(SpeedLines, NearAndFar) {
    const std::vector<PairSpeed> pairs = {
        speed({0, 1, "same L3"}, near(), {}),
        speed({0, 32, "other Package"}, far(), {}),
    };
    EXPECT_EQ(shown(speed_lines(pairs, "")),
              "same L3 (0, 1)|barrier 0.06 us; 64 KiB one way: plain 5.3, prefetch 3.4, string "
              "3.4, stream 9.9, single copy 7.7 us\n"
              "|-> copies by string in pieces of up to 16 KiB; single copy never\n"
              "other Package (0, 32)|barrier 1.2 us; 64 KiB one way: plain 31.0, prefetch 25.0, "
              "string 30.0, stream 15.6, single copy 12.0 us\n"
              "|64 KiB both ways: rings 20.0, single copy 21.0 us\n"
              "|-> copies by stream in pieces of up to 64 KiB; single copy from 32 KiB on one way, "
              "from 128 KiB on both ways\n");
}

TEST(SpeedLines, WithoutSingleCopyTheReasonIsToldOnce) {
    node::Figures figures = near();
    figures.way_ns[2] = 0;  // the time was over before string instructions had their turn
    const std::vector<PairSpeed> pairs = {
        speed({0, 1, "same L3"}, figures, {.piece_bytes_max = 8192, .has_single = false}),
        speed({0, 8, "other L3"}, figures, {.has_single = false}),
    };
    EXPECT_EQ(shown(speed_lines(pairs, "a reason")),
              "same L3 (0, 1)|barrier 0.06 us; 64 KiB one way: plain 5.3, prefetch 3.4, stream "
              "9.9, single copy 7.7 us\n"
              "|-> copies by prefetch in pieces of up to 8 KiB; no single copy\n"
              "other L3 (0, 8)|barrier 0.06 us; 64 KiB one way: plain 5.3, prefetch 3.4, stream "
              "9.9, single copy 7.7 us\n"
              "|-> copies by prefetch in pieces of up to 16 KiB; no single copy\n"
              "single copy|off: a reason\n");
}

TEST(SpeedLines, APairThatCouldNotBeMeasuredHasOneLine) {
    const std::vector<PairSpeed> pairs = {{{0, 1, "any two"}, "no time", {}, kUntried}};
    EXPECT_EQ(shown(speed_lines(pairs, "")), "any two (0, 1)|not measured: no time\n");
}

TEST(LeastOf, TakesTheLessOfWhatWasMeasured) {
    node::Figures one = near();
    node::Figures other = far();
    one.way_ns = {5, 0, 7, 0};
    other.way_ns = {6, 8, 6, 0};
    one.short_ns = 7;
    other.short_ns = 6;
    one.fold_ns = 8;
    one.readers_ns = {0, 5, 9};
    other.readers_ns = {3, 6, 8};
    const node::Figures least = least_of(one, other);
    EXPECT_EQ(least.barrier_ns, 62u);
    EXPECT_EQ(least.way_ns, (std::array<uint32_t, 4>{5, 8, 6, 0}));
    EXPECT_EQ(least.one_way.single[kMeasuredMiddle], 7700u);
    EXPECT_EQ(least.one_way.ring, other.one_way.ring);
    EXPECT_EQ(least.all_ways, other.all_ways);
    EXPECT_EQ(least.short_ns, 6u);
    EXPECT_EQ(least.fold_ns, 8u);
    EXPECT_EQ(least.readers_ns, (std::array<uint32_t, node::kReaderLimits>{3, 5, 8}));
    EXPECT_EQ(least_of({}, other), other);
    EXPECT_EQ(least_of(other, {}), other);
}

topo::CpuSet set_of(std::initializer_list<uint32_t> cpus) {
    topo::CpuSet set;
    for (const uint32_t cpu : cpus) set.add(cpu);
    return set;
}

// "same L3 0 1; ..."
std::string pairs_of(const std::string& synthetic, const topo::CpuSet* allowed = nullptr) {
    const auto topology = topo::read_node_topology(synthetic);
    if (!topology) return topology.error().message;
    std::string text;
    for (const CpuPair& pair :
         pairs_by_distance(topology.value(), allowed ? *allowed : topology.value().cpus)) {
        text += pair.distance + " " + std::to_string(pair.first) + " " +
                std::to_string(pair.second) + "; ";
    }
    return text;
}

class Pairs : public testing::Test {
  protected:
    void SetUp() override {
        if (!topo::read_node_topology("core:2")) GTEST_SKIP() << "this build has no hwloc";
    }
};

TEST_F(Pairs, OneOfEachDistance) {
    const std::string two_sockets = "pack:2 l3:4 core:8 pu:1";
    EXPECT_EQ(pairs_of(two_sockets),
              "same L3 0 1; same Package, other L3 0 8; other Package 0 32; ");
    EXPECT_EQ(pairs_of("pack:2 core:4 pu:2"),
              "same Core 0 1; same Package, other Core 0 2; other Package 0 8; ");
    EXPECT_EQ(pairs_of("core:4"), "any two 0 1; ");
    EXPECT_EQ(pairs_of("core:1"), "");
}

TEST_F(Pairs, OnlyOfProcessorsThatMayBeUsed) {
    const std::string two_sockets = "pack:2 l3:4 core:8 pu:1";
    const topo::CpuSet apart = set_of({3, 9, 40, 47});
    EXPECT_EQ(pairs_of(two_sockets, &apart),
              "same L3 40 47; same Package, other L3 3 9; other Package 3 40; ");
    const topo::CpuSet two = set_of({5, 63});
    EXPECT_EQ(pairs_of(two_sockets, &two), "other Package 5 63; ");
    const topo::CpuSet one = set_of({5});
    EXPECT_EQ(pairs_of(two_sockets, &one), "");
    const topo::CpuSet strangers = set_of({5, 200});
    EXPECT_EQ(pairs_of(two_sockets, &strangers), "");
}

}  // namespace
}  // namespace tutti::explain
