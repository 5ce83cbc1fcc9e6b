// SPDX-License-Identifier: BSD-3-Clause
// Each expectation by its formula: a is a message's latency, b the time of a byte.
#include "select/predict.h"

#include <gtest/gtest.h>

#include "algo/plan.h"

namespace tutti::select {
namespace {

using topo::Placement;

constexpr uint64_t kLatency = 2000;
constexpr sched::Speed kMessages{kLatency, 8000};  // b = 1 ns
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

// Two rounds are under way at once, so that in all steps but the last somebody sends two messages.
TEST_F(Predicting, BinomialTakesALogarithmOfMessages) {
    shape_.collective = TUTTI_BCAST;
    shape_.bytes = 1000;
    EXPECT_EQ(predict("binomial"), 3 * kLatency + 5 * 1000);
    hosts_ = 64;
    EXPECT_EQ(predict("binomial"), 6 * kLatency + 11 * 1000);
    // Inside a host nothing is sent.
    ranks_per_host_ = 4;
    shape_.root = 9;
    EXPECT_EQ(predict("binomial"), 6 * kLatency + 11 * 1000);
}

// The first of eight segments goes from one to the next, the others follow: two lanes in flight
// share the two latencies of each rank between the ends.
TEST_F(Predicting, AChainIsAPipeline) {
    shape_.collective = TUTTI_BCAST;
    shape_.bytes = 8000;
    tuning_.segment_bytes = 1000;
    tuning_.lanes_in_flight = 2;
    hosts_ = 4;
    EXPECT_EQ(predict("chain"), 3 * (kLatency + 1000) + 7 * kLatency);
    tuning_.lanes_in_flight = 8;
    EXPECT_EQ(predict("chain"), 3 * (kLatency + 1000) + 7 * 1000);
}

TEST_F(Predicting, ARingSendsEverythingTwice) {
    shape_.collective = TUTTI_ALLREDUCE;
    shape_.element_bytes = 8;
    shape_.bytes = 8000;
    tuning_.segment_bytes = 8000;
    EXPECT_EQ(predict("ring"), 14 * (kLatency + 1000));
    // Too many messages to follow: the root's rounds and bytes.
    hosts_ = 1000;
    EXPECT_EQ(predict("ring"), 1998 * (kLatency + 8));
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
