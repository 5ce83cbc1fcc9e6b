// SPDX-License-Identifier: BSD-3-Clause
#include "run/multicast/network_choice.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "run/multicast/process_multicast.h"
#include "run/multicast/team_multicast.h"
#include "run/node/slice.h"
#include "run/transport/carrier/ring.h"

namespace tutti::test {
namespace {

using multicast::is_next_faster;
using multicast::NetworkChoice;
using multicast::Predicted;

Predicted predicted(uint64_t latency_ns, uint64_t bytes_per_s) {
    multicast::AgreedMulticast facts;
    facts.latency_ns = latency_ns;
    facts.bytes_per_s = bytes_per_s;
    return multicast::predict(facts);
}

TEST(NetworkChoice, ABroadcastIsALatencyAndItsBytes) {
    const Predicted one = predicted(10'000, 1'000'000'000);
    EXPECT_EQ(one.short_ns, 10'000u + 8);
    EXPECT_EQ(one.long_ns, 10'000u + 65'536);
    EXPECT_EQ(predicted(10'000, 3).short_ns, 10'000u + 2'666'666'667);
}

TEST(NetworkChoice, TheFasterOneIsTaken) {
    const Predicted slow = predicted(30'000, 100'000'000);
    const Predicted fast = predicted(3'000, 3'000'000'000);
    EXPECT_FALSE(is_next_faster(fast, slow));
    EXPECT_TRUE(is_next_faster(slow, fast));
}

// The latency of one, the rate of the other: 8 bytes in half the time do not make up for 64 KiB in
// twice, nor the other way round; in a quarter of it they do for half as much again.
TEST(NetworkChoice, BothLengthsCount) {
    EXPECT_FALSE(is_next_faster({10'000, 100'000}, {5'000, 200'000}));
    EXPECT_FALSE(is_next_faster({10'000, 100'000}, {20'000, 50'000}));
    EXPECT_TRUE(is_next_faster({10'000, 100'000}, {2'500, 150'000}));
    EXPECT_TRUE(is_next_faster({10'000, 100'000}, {15'000, 25'000}));
}

TEST(NetworkChoice, TheFirstStaysWhereTheyAreNearEachOther) {
    EXPECT_FALSE(is_next_faster({10'000, 100'000}, {10'000, 100'000}));
    EXPECT_FALSE(is_next_faster({10'000, 100'000}, {9'000, 90'000}));
    EXPECT_FALSE(is_next_faster({10'000, 100'000}, {10'000, 80'000}));
    EXPECT_TRUE(is_next_faster({10'000, 100'000}, {8'990, 90'000}));
}

TEST(NetworkChoice, TheFirstStaysWhereOneIsNotKnown) {
    const Predicted slow = predicted(1'000'000, 1'000);
    const Predicted fast = predicted(1'000, 1'000'000'000);
    EXPECT_EQ(predicted(0, 1'000'000), Predicted{});
    EXPECT_EQ(predicted(1'000, 0), Predicted{});
    EXPECT_FALSE(is_next_faster(slow, {}));
    EXPECT_FALSE(is_next_faster({}, fast));
    EXPECT_FALSE(is_next_faster({}, {}));
}

// A byte a second, and a rate above every link's: no product is too large.
TEST(NetworkChoice, AllRatesAreCompared) {
    const Predicted slowest = predicted(UINT32_MAX, 1);
    const Predicted fastest = predicted(1, uint64_t{1} << 50);
    EXPECT_TRUE(is_next_faster(slowest, fastest));
    EXPECT_FALSE(is_next_faster(fastest, slowest));
}

constexpr size_t kLast = kMulticastNetworks.size() - 1;

TEST(NetworkChoice, TheLastOneIsTheOnlyOneByDefault) {
    NetworkChoice choice{McastOver{}};
    EXPECT_EQ(choice.next(), kLast);
    choice.take({nullptr, "h1: no socket"});
    EXPECT_EQ(choice.next(), std::nullopt);
    EXPECT_EQ(choice.kept(), nullptr);
    EXPECT_EQ(choice.finish().obstacle, "h1: no socket");
}

TEST(NetworkChoice, WhereNoneReachesAllEachReasonIsSaid) {
    for (const bool takes_faster : {false, true}) {
        NetworkChoice choice({.first = 0, .takes_faster = takes_faster});
        for (size_t number = 0; number <= kLast; ++number) {
            EXPECT_EQ(choice.next(), number);
            choice.take({nullptr, "why " + std::to_string(number)});
        }
        EXPECT_EQ(choice.next(), std::nullopt);
        EXPECT_EQ(choice.finish().obstacle, "by verbs: why 0; by UDP: why 1");
    }
}

// Nothing is sent in these tests.
struct NoMessages final : transport::Transport {
    void send(transport::Rank, const transport::MessageId&, const std::byte*, size_t,
              transport::Ticket&) override {}
    void recv(transport::Rank, const transport::MessageId&, std::byte*, size_t,
              transport::Ticket&) override {}
    transport::State test(transport::Ticket& ticket) override { return ticket.state; }
    [[nodiscard]] std::string error() const override { return {}; }
};

// What a member that does not carry has of networks that work.
struct NetworkChoiceTest : testing::Test {
    multicast::MulticastOutcome works(size_t network, uint64_t latency_ns, uint64_t bytes_per_s) {
        constexpr transport::carrier::RingParams kRing{4, 2, 2};
        auto slice =
            arena::Mapping::anonymous(node::kPageBytes + transport::carrier::ring_bytes(kRing));
        new (slice.value()->base()) node::SliceHeader{};
        transport::carrier::Ring::format(multicast::ring_memory(*slice.value()), kRing);
        multicast::MulticastOutcome outcome;
        outcome.route = std::make_unique<multicast::TeamMulticast>(
            process,
            multicast::TeamMulticast::Parts{slice.value(), network, Fd(eventfd(0, EFD_CLOEXEC)),
                                            nullptr},
            1, placement, messages);
        outcome.route->agreed().latency_ns = latency_ns;
        outcome.route->agreed().bytes_per_s = bytes_per_s;
        return outcome;
    }

    multicast::ProcessMulticast process{{}};
    const topo::Placement placement = topo::Placement::blocks(4, 2);
    NoMessages messages;
    NetworkChoice choice{{.first = 0, .takes_faster = true}};
};

TEST_F(NetworkChoiceTest, TheFasterOfTwoIsKeptWithBothPredictions) {
    choice.take(works(0, 30'000, 100'000'000));
    choice.take(works(1, 3'000, 3'000'000'000));
    const auto outcome = choice.finish();
    ASSERT_NE(outcome.route, nullptr);
    EXPECT_EQ(outcome.route->network(), 1u);
    const multicast::AgreedMulticast& agreed = outcome.route->agreed();
    EXPECT_EQ(agreed.predicted[0], predicted(30'000, 100'000'000));
    EXPECT_EQ(agreed.predicted[1], predicted(3'000, 3'000'000'000));
    EXPECT_FALSE(agreed.lacks_prediction[0] || agreed.lacks_prediction[1]);
}

TEST_F(NetworkChoiceTest, OneWithoutAPredictionIsNotCompared) {
    for (const bool first_lacks : {false, true}) {
        NetworkChoice two{{.first = 0, .takes_faster = true}};
        two.take(works(0, first_lacks ? 0 : 30'000, 100'000'000));
        two.take(works(1, 3'000, first_lacks ? 3'000'000'000 : 0));
        const auto outcome = two.finish();
        ASSERT_NE(outcome.route, nullptr);
        EXPECT_EQ(outcome.route->network(), 0u) << "the first one stays";
        const multicast::AgreedMulticast& agreed = outcome.route->agreed();
        EXPECT_EQ(agreed.lacks_prediction[0], first_lacks);
        EXPECT_EQ(agreed.lacks_prediction[1], !first_lacks);
        EXPECT_EQ(agreed.predicted[0], Predicted{});
        EXPECT_EQ(agreed.predicted[1], Predicted{});
    }
}

}  // namespace
}  // namespace tutti::test
