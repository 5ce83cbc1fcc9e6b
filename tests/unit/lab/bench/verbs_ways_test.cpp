// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/verbs_ways.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "conformance/fake_verbs.h"

namespace tutti::bench {
namespace {

constexpr uint64_t kExchanges = 40;

WaysOrder few() { return {{1, 8, 200, 3000}, kExchanges}; }

class FakeWays {
  public:
    explicit FakeWays(const test::FakeRules& rules) : verbs(2, rules) {}
    Result<WaysFigures> measure(uint32_t b = 1, const WaysOrder& order = few()) {
        const Waits waits{[this] { verbs.pump(); },
                          [this](int fd) {
                              pollfd wanted{fd, POLLIN, 0};
                              while (::poll(&wanted, 1, 0) == 0 && !verbs.is_idle()) verbs.pump();
                              return ::poll(&wanted, 1, 0) == 1;
                          }};
        return measure_ways(verbs.device(0), verbs.device(b), order, verbs, waits);
    }
    test::FakeVerbs verbs;
};

// Per exchange: a message each way; of eight of a pair's, one is signaled.
TEST(VerbsWays, CountsWhatEachWayTakes) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        FakeWays ways({.seed = seed});
        const auto measured = ways.measure(seed % 2 == 0 ? 1 : 0);
        ASSERT_TRUE(measured) << measured.error().message;
        EXPECT_EQ(ways.verbs.fault(), "");
        const WaysFigures& figures = measured.value();
        const uint64_t messages = 2 * 4 * kExchanges;
        for (uint32_t way = 0; way < kWays; ++way) {
            const WayCounts& counts = figures.counts[way];
            const uint64_t recvs = static_cast<Way>(way) == Way::kWrite ? 0 : messages;
            EXPECT_EQ(figures.median_us[way].size(), 4u);
            EXPECT_EQ(counts.exchanges, 4 * kExchanges);
            EXPECT_EQ(counts.posts, messages);
            EXPECT_EQ(counts.recvs, recvs);
            // A signaled one's may be polled while the next ones are counted.
            EXPECT_GE(counts.completions, recvs + messages / 8 - 4 * 4);
            EXPECT_LE(counts.completions, recvs + messages / 8 + 4 * 4);
            EXPECT_EQ(counts.wakes, 0u);
            for (const double us : figures.median_us[way]) EXPECT_GT(us, 0);
        }
    }
}

// By each message, and for completions of its own sends.
TEST(VerbsWays, WhoSleepsIsWoken) {
    FakeWays ways({.seed = 3});
    const auto measured = ways.measure();
    ASSERT_TRUE(measured) << measured.error().message;
    const WaysFigures& figures = measured.value();
    EXPECT_TRUE(figures.can_sleep);
    for (const Way way : {Way::kTold, Way::kSend}) {
        const WayCounts& counts = figures.asleep[static_cast<uint32_t>(way)];
        EXPECT_EQ(counts.exchanges, kExchanges);
        EXPECT_GE(counts.wakes, 2 * kExchanges);
        EXPECT_LE(counts.wakes, counts.completions + 2 * kExchanges);
        EXPECT_GT(figures.asleep_us[static_cast<uint32_t>(way)], 0);
    }
    EXPECT_EQ(figures.asleep[static_cast<uint32_t>(Way::kWrite)].exchanges, 0u);
}

// What the specification does not promise: that the last byte of a write of a packet is placed
// last.
TEST(VerbsWays, SeesWhetherTheEndOfAWriteComesLast) {
    uint64_t torn = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        FakeWays loose({.seed = seed});
        const auto by_the_rules = loose.measure();
        ASSERT_TRUE(by_the_rules) << by_the_rules.error().message;
        torn += by_the_rules.value().torn;
        EXPECT_GE(by_the_rules.value().looked_for, 2 * 4 * kExchanges);
        FakeWays strict({.seed = seed, .mtu_bytes = 4096, .ends_last = true});
        const auto in_order = strict.measure();
        ASSERT_TRUE(in_order) << in_order.error().message;
        EXPECT_EQ(in_order.value().torn, 0u);
    }
    EXPECT_GT(torn, 0u);
}

TEST(VerbsWays, APeerThatIsGoneIsAnError) {
    FakeWays ways({});
    ways.verbs.cut(1);
    const auto measured = ways.measure();
    ASSERT_FALSE(measured);
    EXPECT_EQ(measured.error().message, "transport retry counter exceeded (status 12)");
}

TEST(VerbsWays, AQueueThatIsOverrunIsAnError) {
    FakeWays ways({.cq_entries = 1});
    const auto measured = ways.measure();
    ASSERT_FALSE(measured);
    EXPECT_EQ(measured.error().message, "the completion queue was overrun");
}

}  // namespace
}  // namespace tutti::bench
