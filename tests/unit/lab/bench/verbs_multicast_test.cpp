// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/verbs_multicast.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "conformance/fake_ud.h"

namespace tutti::bench {
namespace {

constexpr uint64_t kPackets = 60;

// Who waits lets a millisecond go by.
struct TickingClock final : Clock {
    uint64_t ns = 0;
    uint64_t now_ns() override { return ns += 1'000; }
};

struct FakeMulticasts {
    explicit FakeMulticasts(size_t count, const test::FakeUdRules& rules)
        : fake(std::make_shared<test::FakeUd>(rules)) {
        for (size_t i = 0; i < count; ++i) devices.push_back(test::FakeUd::add_port(fake));
    }
    Result<MulticastFigures> measure() {
        std::vector<transport::verbs::Device*> ports;
        for (const auto& device : devices) ports.push_back(device.get());
        const MulticastOrder order{{8, 100, 2048}, kPackets, {239, 195, 1, 2}};
        return measure_multicast(ports, order, clock, [this] {
            fake->tick();
            clock.ns += 1'000'000;
        });
    }
    std::shared_ptr<test::FakeUd> fake;
    std::vector<std::unique_ptr<transport::verbs::Device>> devices;
    TickingClock clock;
};

// One request a packet, whoever has to have it; each has it once, and the sender as well.
TEST(VerbsMulticast, CountsWhatAPacketTakes) {
    for (const size_t count : {2u, 8u}) {
        FakeMulticasts all(count, {.seed = count});
        const auto measured = all.measure();
        ASSERT_TRUE(measured) << measured.error().message;
        const MulticastFigures& figures = measured.value();
        EXPECT_EQ(figures.to_one_us.size(), 3u);
        EXPECT_EQ(figures.to_all_us.size(), 3u);
        for (const MulticastCounts* counts : {&figures.to_one, &figures.to_all}) {
            const uint64_t others = counts == &figures.to_one ? 1 : count - 1;
            EXPECT_EQ(counts->packets, 3 * kPackets);
            EXPECT_EQ(counts->posts, 3 * kPackets);
            EXPECT_EQ(counts->received, 3 * kPackets * others);
            EXPECT_EQ(counts->echoed, 3 * kPackets);
            EXPECT_EQ(counts->lost, 0u);
        }
        EXPECT_EQ(all.fake->unreceived(), 0u);
        EXPECT_EQ(all.fake->attachments(), 0u);
        EXPECT_EQ(all.fake->fault(), "");
    }
}

// What is lost is counted, and neither what comes late nor what comes twice is taken for another.
TEST(VerbsMulticast, LosesSome) {
    uint64_t lost = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        test::FakeUdRules rules{.seed = seed, .loss_ppm = 50'000, .dup_ppm = 50'000};
        rules.overtakers_max = 3;
        rules.completes_late = true;
        FakeMulticasts all(4, rules);
        const auto measured = all.measure();
        ASSERT_TRUE(measured) << measured.error().message;
        const MulticastCounts& counts = measured.value().to_all;
        EXPECT_LE(counts.received, 3 * counts.packets);
        EXPECT_GE(counts.received, 3 * (counts.packets - counts.lost));
        lost += counts.lost;
        EXPECT_EQ(all.fake->fault(), "");
    }
    EXPECT_GT(lost, 0u);
}

TEST(VerbsMulticast, SaysWhatItCannotHave) {
    FakeMulticasts groupless(3, {.groupless_port = 1});
    EXPECT_FALSE(groupless.measure());
    EXPECT_EQ(groupless.fake->attachments(), 0u);
    FakeMulticasts deaf(2, {.loss_ppm = 1'000'000});
    const auto measured = deaf.measure();
    ASSERT_FALSE(measured);
    EXPECT_EQ(measured.error().message, "no packet has come to all");
    FakeMulticasts failing(2, {.fails_after = 30});
    EXPECT_FALSE(failing.measure());
}

}  // namespace
}  // namespace tutti::bench
