// SPDX-License-Identifier: BSD-3-Clause
// Prices where one rank comes late; against the simulator they are held by
// tests/sim/price_test.cpp.
#include "plan/select/skew_threshold.h"

#include <gtest/gtest.h>

#include <vector>

#include "plan/algo/plan.h"

namespace tutti::select {
namespace {

using topo::Placement;

constexpr uint64_t kLong = 1'000'000'000;

const algo::Algorithm& barrier(std::string_view name) { return *algo::find(TUTTI_BARRIER, name); }

struct Bed {
    explicit Bed(uint32_t hosts, uint64_t multicast_ns = 2000)
        : placement(Placement::blocks(hosts, hosts)) {
        cluster.network = price::Network::measured(hosts, {2000, 100'000}, {multicast_ns, 100'000});
        cluster.network.message_ns = 100;
        shape.ranks = hosts;
        shape.has_multicast = shape.gives_back = true;
    }
    [[nodiscard]] uint64_t price_ns(const algo::Algorithm& algorithm, uint64_t skew_ns) const {
        return predicted_late_ns(algorithm, shape, placement, {}, cluster, skew_ns).value();
    }
    [[nodiscard]] std::optional<uint64_t> from_ns(
        const algo::Algorithm& follower, const algo::Algorithm& fixed,
        uint64_t messages_max = price::kFollowedMessagesMax) const {
        return faster_from_ns({&follower}, {&fixed}, shape, placement, cluster, messages_max);
    }
    Placement placement;
    Cluster cluster;
    sched::Shape shape;
};

TEST(Skew, LateOnesStandForAll) {
    EXPECT_EQ(late_participants(16), (std::vector<sched::Rank>{2, 8, 13}));
    EXPECT_EQ(late_participants(3), (std::vector<sched::Rank>{0, 1, 2}));
    EXPECT_EQ(late_participants(2), (std::vector<sched::Rank>{0, 1}));
}

// a: a hop, m: what a message costs; no bytes but a header's.
TEST(Skew, WhatIsLeftBehindTheLastArrival) {
    const Bed bed(16);
    constexpr uint64_t kHop = 2000, kMessage = 100;
    // Four messages one after the other, sent and received, of whoever is late.
    EXPECT_EQ(bed.price_ns(barrier("dissemination"), kLong), 4 * kHop + 5 * kMessage);
    // A leaf has all others' parts: the receive that it posts, and the multicast.
    const uint64_t follows_ns = bed.price_ns(barrier("adaptive_multicast"), kLong);
    EXPECT_NEAR(static_cast<double>(follows_ns), kMessage + kHop, 5);
    // Without skew it is the price.
    for (const char* name :
         {"dissemination", "gather_multicast", "adaptive", "adaptive_multicast"}) {
        EXPECT_EQ(bed.price_ns(barrier(name), 0),
                  predicted_ns(barrier(name), bed.shape, bed.placement, {}, bed.cluster))
            << name;
    }
}

TEST(Skew, FedOnesAndTooManyMessagesHaveNoPrice) {
    const Bed bed(16);
    sched::Shape bcast = bed.shape;
    bcast.collective = TUTTI_BCAST;
    bcast.bytes = 65536;
    const algo::Algorithm& adaptive = *algo::find(TUTTI_BCAST, "adaptive");
    EXPECT_FALSE(predicted_late_ns(adaptive, bcast, bed.placement, {}, bed.cluster, 1000));
    EXPECT_TRUE(bed.from_ns(barrier("adaptive_multicast"), barrier("dissemination"), 64));
    EXPECT_FALSE(bed.from_ns(barrier("adaptive_multicast"), barrier("dissemination"), 63));
}

// Segments in lanes: those behind the first one take what they take.
TEST(Skew, FurtherLanesTakeAsLong) {
    Bed bed(8);
    bed.shape.collective = TUTTI_ALLREDUCE;
    bed.shape.bytes = 1 << 20;
    bed.shape.element_bytes = 8;
    const algo::Algorithm& chain = *algo::find(TUTTI_ALLREDUCE, "chain");
    const algo::Tuning tuning{.segment_bytes = 65536, .lanes_in_flight = 8};
    const auto late = [&](uint64_t skew_ns) {
        return predicted_late_ns(chain, bed.shape, bed.placement, tuning, bed.cluster, skew_ns);
    };
    EXPECT_EQ(*late(0), predicted_ns(chain, bed.shape, bed.placement, tuning, bed.cluster));
    EXPECT_LT(*late(kLong), *late(0));
    EXPECT_GT(*late(kLong), *late(0) / 2);
}

TEST(Skew, WhatIsFasterFromSomeSkewOn) {
    for (const uint32_t hosts : {5u, 16u, 100u}) {
        const Bed bed(hosts);
        for (const char* name : {"gather_multicast", "dissemination"}) {
            const algo::Algorithm& follower = barrier("adaptive_multicast");
            const auto from_ns = bed.from_ns(follower, barrier(name));
            ASSERT_TRUE(from_ns);
            ASSERT_LT(*from_ns, 100'000u);
            for (uint64_t skew_ns = *from_ns; skew_ns < kLong; skew_ns *= 2) {
                EXPECT_LT(bed.price_ns(follower, skew_ns), bed.price_ns(barrier(name), skew_ns));
                if (skew_ns == 0) break;
            }
            if (*from_ns == 0) continue;
            // An eighth of that earlier it is not.
            const uint64_t before_ns = *from_ns - *from_ns / 5;
            EXPECT_GE(bed.price_ns(follower, before_ns), bed.price_ns(barrier(name), before_ns))
                << hosts << ' ' << name;
        }
    }
}

TEST(Skew, OrFromNone) {
    const Bed slow(16, 20'000);
    EXPECT_EQ(slow.from_ns(barrier("adaptive_multicast"), barrier("dissemination")), kNoSkew);
    const Bed bed(16);
    EXPECT_EQ(bed.from_ns(barrier("dissemination"), barrier("dissemination")), kNoSkew);
    EXPECT_EQ(bed.from_ns(barrier("gather_multicast"), barrier("binomial")), 0u);
}

// ---- what it costs ----

uint64_t programs = 0;

TEST(Skew, FewWalksAreMade) {
    const Bed bed(16);
    algo::Algorithm counted = barrier("dissemination");
    counted.make = [](const sched::Shape& shape, sched::Rank rank, const algo::Tuning& tuning) {
        ++programs;
        return barrier("dissemination").make(shape, rank, tuning);
    };
    for (const char* name : {"adaptive_multicast", "gather_multicast", "binomial", "tree"}) {
        programs = 0;
        ASSERT_TRUE(bed.from_ns(barrier(name), counted));
        EXPECT_LE(programs, (1 + (kSkewsMax - 1) * kLateMax) * bed.shape.ranks) << name;
    }
}

}  // namespace
}  // namespace tutti::select
