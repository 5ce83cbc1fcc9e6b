// SPDX-License-Identifier: BSD-3-Clause
// Each expectation by its formula: a is a message's latency, b the time of a byte.
#include "plan/select/predict.h"

#include <gtest/gtest.h>

#include <array>

#include "plan/algo/plan.h"

namespace tutti::select {
namespace {

using topo::Placement;

constexpr uint64_t kLatency = 2000;
constexpr sched::Speed kMessages{kLatency, 8000};  // b = 1 ns
constexpr uint64_t kFold = 250;                    // ns for 1000 bytes, assumed
constexpr sched::Speed kMulticasts{30'000, 1000};  // b = 8 ns

class Predicting : public testing::Test {
  protected:
    uint64_t predict(std::string_view algorithm) {
        shape_.multicast_speed = kMulticasts;
        shape_.message_speed = kMessages;
        shape_.has_multicast = true;
        const algo::Algorithm* found = algo::find(shape_.collective, algorithm);
        EXPECT_NE(found, nullptr);
        shape_.ranks = hosts_ * ranks_per_host_;
        const Placement placement = Placement::blocks(shape_.ranks, hosts_);
        EXPECT_EQ(algo::plan_obstacle(*found, shape_, placement, tuning_), "");
        return predicted_ns(*found, shape_, placement, tuning_);
    }
    sched::Shape shape_;
    algo::Tuning tuning_;
    uint32_t hosts_ = 8;
    uint32_t ranks_per_host_ = 1;
};

TEST_F(Predicting, BinomialTakesALogarithmOfMessages) {
    shape_.collective = TUTTI_BCAST;
    shape_.bytes = 1000;
    EXPECT_EQ(predict("binomial"), 3 * (kLatency + 1000));
    hosts_ = 64;
    EXPECT_EQ(predict("binomial"), 6 * (kLatency + 1000));
    // Inside a host nothing is sent.
    ranks_per_host_ = 4;
    shape_.root = 9;
    EXPECT_EQ(predict("binomial"), 6 * (kLatency + 1000));
}

// The first of eight segments goes from one to the next, the others follow. A rank between the ends
// holds one of two slots for a latency and two segments, six lanes wait for one.
TEST_F(Predicting, AChainIsAPipeline) {
    shape_.collective = TUTTI_BCAST;
    shape_.bytes = 8000;
    tuning_.segment_bytes = 1000;
    tuning_.lanes_in_flight = 2;
    hosts_ = 4;
    EXPECT_EQ(predict("chain"), 3 * (kLatency + 1000) + 6 * (kLatency + 2000) / 2);
    tuning_.lanes_in_flight = 8;
    EXPECT_EQ(predict("chain"), 3 * (kLatency + 1000) + 7 * 1000);
}

TEST_F(Predicting, ARingSendsEverythingTwice) {
    shape_.collective = TUTTI_ALLREDUCE;
    shape_.element_bytes = 8;
    shape_.bytes = 8000;
    tuning_.segment_bytes = 8000;
    EXPECT_EQ(predict("ring"), 14 * (kLatency + 1000) + 7 * kFold * 1000 / 1000);
    // From 12 and 24 hosts (plan/select/many_hosts.h).
    hosts_ = 1000;
    const auto ns = static_cast<double>(1998 * (kLatency + 8) + 999 * kFold * 8 / 1000);
    EXPECT_NEAR(static_cast<double>(predict("ring")), ns, ns / 100);
}

// Kandalla, Subramoni, Panda 2010, section 4.2, where bytes take no time: 16 hosts on 4 switches.
TEST_F(Predicting, AGatherOfAFewBytesIsThePapers) {
    const std::array<uint32_t, 4> leaves = {4, 4, 4, 4};
    Cluster cluster;
    topo::Fabric& fabric = cluster.network.fabric;
    fabric = topo::Fabric::leaves(leaves);
    fabric.latency_ns = 1000;
    fabric.trunk_latency_ns = 300;
    fabric.host_bits_per_s = fabric.trunk_bits_per_s = uint64_t{1} << 54;
    sched::Shape shape;
    shape.collective = TUTTI_GATHER;
    shape.ranks = 16;
    shape.bytes = 8;
    const algo::Algorithm& tree = *algo::find(TUTTI_GATHER, "binomial");
    // Neighbouring ranks share a switch: C2 = log2(4), and log2(R) = 2 rounds between them.
    const Placement placement = Placement::blocks(16, 16);
    const uint64_t along_ns = predicted_ns(tree, shape, placement, {}, cluster);
    EXPECT_NEAR(static_cast<double>(along_ns), 2 * 1000 + 2 * 1600, 20);
    // With foreign traffic alpha holds for the bytes alone, which take no time here.
    cluster.network.foreign_permille = 3000;
    EXPECT_NEAR(static_cast<double>(predicted_ns(tree, shape, placement, {}, cluster)),
                static_cast<double>(along_ns), 20);
    // In turn over three switches of 6, 5 and 5 hosts nearly every round is between two of them.
    const std::array<uint32_t, 3> uneven = {6, 5, 5};
    fabric = topo::Fabric::leaves(uneven);
    fabric.latency_ns = 1000;
    fabric.trunk_latency_ns = 300;
    fabric.host_bits_per_s = fabric.trunk_bits_per_s = uint64_t{1} << 54;
    const uint32_t first = fabric.switch_of_host[0];
    for (uint32_t host = 0; host < 16; ++host) fabric.switch_of_host[host] = first + host % 3;
    EXPECT_NEAR(static_cast<double>(predicted_ns(tree, shape, placement, {}, cluster)), 4 * 1600,
                20);
}

TEST_F(Predicting, MulticastsComeOneBehindTheOther) {
    shape_.collective = TUTTI_BCAST;
    shape_.bytes = 1u << 20;
    EXPECT_EQ(predict("multicast"), 30'000 + 8 * shape_.bytes);
    shape_.collective = TUTTI_ALLGATHER;
    shape_.bytes = 4096;
    EXPECT_EQ(predict("multicast"), 30'000 + 8 * 8 * shape_.bytes);
    // Seven ranks tell one, which tells all.
    shape_.collective = TUTTI_BARRIER;
    shape_.bytes = 0;
    EXPECT_EQ(predict("gather_multicast"), kLatency + 30'000);
}

}  // namespace
}  // namespace tutti::select
