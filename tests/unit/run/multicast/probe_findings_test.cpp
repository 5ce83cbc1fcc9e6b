// SPDX-License-Identifier: BSD-3-Clause
#include "run/multicast/probe_findings.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace tutti::multicast {
namespace {

// Three hosts, two ranks each, of which the first carries.
std::vector<Finding> findings() {
    std::vector<Finding> all(6);
    all[0] = {.bytes_per_s = 3'000'000,
              .code_bytes_per_s = 9'000'000,
              .round_trip_ns = 400'000,
              .round_trip_ns_min = 60'001,
              .message = {}};
    all[2] = {.bytes_per_s = 2'000'000,
              .code_bytes_per_s = 8'000'000,
              .round_trip_ns = 900'000,
              .round_trip_ns_min = 50'000,
              .message = {}};
    all[4] = {.bytes_per_s = 5'000'000,
              .code_bytes_per_s = 7'000'000,
              .round_trip_ns = 300'000,
              .round_trip_ns_min = 70'000,
              .message = {}};
    return all;
}

TEST(ProbeFindings, TheSlowestHostHolds) {
    const JointFinding joint = join_findings(findings(), {});
    EXPECT_TRUE(joint.is_good);
    EXPECT_FALSE(joint.is_cut);
    EXPECT_EQ(joint.bytes_per_s, 2'000'000u);
    EXPECT_EQ(joint.code_bytes_per_s, 7'000'000u);
    EXPECT_EQ(joint.round_trip_ns, 900'000u);
    EXPECT_EQ(joint.latency_ns, 35'000u);
    EXPECT_EQ(joint.message.mbit, 0u);
}

TEST(ProbeFindings, OneObstacleIsOneForAll) {
    std::vector<Finding> all = findings();
    all[5].obstacle = agree::Obstacle::kNetwork;
    EXPECT_FALSE(join_findings(all, {}).is_good);
    EXPECT_TRUE(join_findings(all, {}).is_of_network);
    all[1].obstacle = agree::Obstacle::kMemory;
    EXPECT_FALSE(join_findings(all, {}).is_of_network);
    all[5].is_cut = 1;
    EXPECT_TRUE(join_findings(all, {}).is_cut);
}

TEST(ProbeFindings, AWantedRateHoldsAsFarAsPacketsAreCoded) {
    const JointFinding joint = join_findings(findings(), {});
    EXPECT_EQ(joint.rate(0), 2'000'000u);
    EXPECT_EQ(joint.rate(4'000'000), 4'000'000u);
    EXPECT_EQ(joint.rate(40'000'000), 7'000'000u);
}

TEST(ProbeFindings, WithoutAMeasurementThereIsNoRate) {
    std::vector<Finding> all = findings();
    for (Finding& one : all) one.bytes_per_s = 0;
    const JointFinding joint = join_findings(all, {});
    EXPECT_EQ(joint.rate(0), std::nullopt);
    EXPECT_EQ(joint.rate(4'000'000), 4'000'000u);
    EXPECT_EQ(join_findings({}, {}).rate(5), 5u) << "nobody said how fast packets are coded";
}

// Those two hosts that have the slowest messages decide; what was known before counts as well.
TEST(ProbeFindings, MessagesAreAsSlowAsBetweenTheSlowestTwo) {
    std::vector<Finding> all = findings();
    all[2].message.latency_ns = 20'000;
    all[2].message.mbit = 900;
    EXPECT_EQ(join_findings(all, {}).message.latency_ns, 20'000u);
    all[4].message.latency_ns = 10'000;
    all[4].message.mbit = 300;
    const sched::Speed both = join_findings(all, {}).message;
    EXPECT_EQ(both.latency_ns, 20'000u);
    EXPECT_EQ(both.mbit, 300u);
    sched::Speed before;
    before.latency_ns = 30'000;
    before.mbit = 2'000;
    EXPECT_EQ(join_findings(all, before).message.latency_ns, 30'000u);
}

}  // namespace
}  // namespace tutti::multicast
