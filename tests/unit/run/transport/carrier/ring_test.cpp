// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "run/transport/carrier/route.h"
#include "unit/run/transport/carrier/ring_support.h"

namespace tutti::transport::carrier {
namespace {

using test::ring_bytes_of;
using Fill = Ring::Fill;

constexpr RingParams kParams{4, 3, 2};

class RingTest : public testing::Test {
  protected:
    test::RingMemory memory_{kParams};
    Ring ring_ = memory_.ring();

    Fill fill(uint64_t number, size_t bytes = 100) {
        const auto data = ring_bytes_of(number, bytes);
        return ring_.fill(number, 7, data.data(), bytes);
    }
    void publish(uint64_t number, size_t bytes = 100) {
        const auto data = ring_bytes_of(number, bytes);
        std::copy(data.begin(), data.end(), ring_.data(number));
        EXPECT_TRUE(ring_.publish(number, bytes));
    }
    bool is_right(uint64_t number, size_t bytes = 100) {
        const auto data = ring_bytes_of(number, bytes);
        return ring_.bytes(number) == bytes &&
               std::equal(data.begin(), data.end(), ring_.data(number));
    }
    bool read_all(uint64_t number, int readers) {
        bool must_wake = false;
        for (int i = 0; i < readers; ++i) {
            EXPECT_TRUE(ring_.has(number));
            EXPECT_FALSE(ring_.is_free(number + 4));
            must_wake = ring_.release(number);
        }
        return must_wake;
    }
};

TEST(RingMemoryTest, SlotsAreApartAndOnPages) {
    test::RingMemory memory({64, 2, 4096});
    const Ring ring = memory.ring();
    auto* begin = reinterpret_cast<std::byte*>(&ring.header());
    EXPECT_EQ(static_cast<size_t>(ring.data(63) - begin) + kMulticastBytesMax,
              ring_bytes({64, 2, 4096}));
    for (uint64_t number = 0; number < 64; ++number) {
        EXPECT_EQ(static_cast<size_t>(ring.data(number) - begin) % 4096, 0u);
        EXPECT_TRUE(ring.is_free(number));
        EXPECT_EQ(ring.data(number), ring.data(number + 64));
    }
    for (mcast::Member member = 0; member < 4096; ++member) EXPECT_EQ(ring.waiters(member), 0u);
}

TEST_F(RingTest, WhatARankFillsIsReadByTheOthersAndHeldByTheService) {
    EXPECT_FALSE(ring_.has(1));
    EXPECT_EQ(fill(1), Fill::kDone);
    EXPECT_TRUE(is_right(1));
    EXPECT_EQ(ring_.sender(1), 7u);
    EXPECT_TRUE(ring_.is_filled_here(1));
    EXPECT_TRUE(ring_.is_held(1));
    read_all(1, 2);
    EXPECT_FALSE(ring_.is_free(5)) << "not delivered yet";
    EXPECT_TRUE(ring_.release_hold(1));
    EXPECT_TRUE(ring_.is_free(5));
    EXPECT_FALSE(ring_.has(1));
    EXPECT_FALSE(ring_.is_held(1));
}

TEST_F(RingTest, TheLastReaderFreesASlotThatIsDelivered) {
    EXPECT_EQ(fill(1), Fill::kDone);
    EXPECT_FALSE(ring_.release_hold(1));
    EXPECT_FALSE(ring_.is_held(1));
    read_all(1, 2);
    EXPECT_TRUE(ring_.is_free(5));
}

TEST_F(RingTest, WhatCameIsReadByAll) {
    publish(2);
    EXPECT_TRUE(is_right(2));
    EXPECT_FALSE(ring_.is_filled_here(2));
    EXPECT_FALSE(ring_.is_held(2));
    read_all(2, 3);
    EXPECT_TRUE(ring_.is_free(6));
}

TEST_F(RingTest, GoesRoundAndRound) {
    for (uint64_t number = 0; number < 40; ++number) {
        if (number % 3 == 0) {
            ASSERT_EQ(fill(number, number), Fill::kDone);
            ring_.release_hold(number);
        } else {
            publish(number, number);
        }
        ASSERT_TRUE(is_right(number, number));
        ASSERT_EQ(fill(number + 4), Fill::kNotFree);
        read_all(number, number % 3 == 0 ? 2 : 3);
    }
}

TEST_F(RingTest, EmptyAndLongestMessages) {
    EXPECT_EQ(ring_.fill(0, 1, nullptr, 0), Fill::kDone);
    EXPECT_EQ(ring_.bytes(0), 0u);
    EXPECT_EQ(fill(1, kMulticastBytesMax), Fill::kDone);
    EXPECT_EQ(fill(2, kMulticastBytesMax), Fill::kDone);
    EXPECT_TRUE(is_right(1, kMulticastBytesMax));
    EXPECT_TRUE(is_right(2, kMulticastBytesMax));
}

TEST_F(RingTest, OnlyAServiceThatSleepsIsWoken) {
    EXPECT_FALSE(ring_.must_wake());
    ring_.header().sleep = RingHeader::kWakeIfFilled;
    EXPECT_TRUE(ring_.must_wake());
    publish(0);
    EXPECT_FALSE(read_all(0, 3)) << "it does not wait for slots";
    ring_.header().sleep = RingHeader::kWakeIfFilledOrFreed;
    publish(1);
    EXPECT_FALSE(ring_.release(1));
    EXPECT_FALSE(ring_.release(1));
    EXPECT_TRUE(ring_.release(1));
    EXPECT_TRUE(ring_.must_wake());
}

TEST_F(RingTest, AClosedRingTakesOnlyWhatComesFromOtherNodes) {
    EXPECT_EQ(fill(0), Fill::kDone);
    publish(1);
    ring_.close(1);
    EXPECT_FALSE(ring_.is_frozen());
    EXPECT_EQ(ring_.dead(), 1);
    EXPECT_EQ(fill(2), Fill::kClosed);
    EXPECT_EQ(fill(5), Fill::kClosed) << "before its slot is free";
    read_all(1, 3);
    EXPECT_EQ(fill(5), Fill::kClosed) << "after its slot was freed";
    for (const uint64_t number : {uint64_t{2}, uint64_t{5}}) {
        EXPECT_TRUE(ring_.is_open(number));
        publish(number);
        EXPECT_TRUE(ring_.has(number));
        EXPECT_FALSE(ring_.is_open(number));
    }
    EXPECT_FALSE(read_all(0, 2)) << "the service holds it";
    EXPECT_TRUE(ring_.is_held(0));
}

TEST_F(RingTest, AFrozenRingTakesNothingMoreAndKeepsWhatItHas) {
    EXPECT_EQ(fill(0), Fill::kDone);
    publish(1);
    ring_.close(1);
    ring_.freeze();
    EXPECT_TRUE(ring_.is_frozen());
    EXPECT_EQ(ring_.dead(), 1);
    EXPECT_TRUE(ring_.is_held(0));
    EXPECT_TRUE(ring_.has(1));
    EXPECT_FALSE(ring_.has(2));
    EXPECT_EQ(fill(2), Fill::kClosed);
    EXPECT_EQ(fill(4), Fill::kClosed) << "before its slot is free";
    read_all(1, 3);
    EXPECT_EQ(fill(5), Fill::kClosed) << "after its slot was freed";
    EXPECT_FALSE(ring_.has(5));
    EXPECT_TRUE(is_right(0));
}

// Where no code proves packets, one may have come under a number that a rank here sends.
TEST_F(RingTest, ANumberOfTwoSendersIsContradicted) {
    EXPECT_EQ(fill(0), Fill::kDone);
    EXPECT_FALSE(ring_.is_contradicted());
    EXPECT_FALSE(ring_.publish(0, 1));
    EXPECT_TRUE(ring_.is_contradicted());
    EXPECT_TRUE(is_right(0));
}

TEST_F(RingTest, WhatHasComeIsNotFilled) {
    publish(1);
    EXPECT_EQ(fill(1), Fill::kContradicted);
    EXPECT_TRUE(ring_.is_contradicted());
    EXPECT_TRUE(is_right(1));
    read_all(1, 3);
    EXPECT_EQ(fill(1), Fill::kContradicted) << "its slot has gone on";
    EXPECT_EQ(fill(5), Fill::kDone) << "until the group has failed";
}

using RingDeathTest = RingTest;

TEST_F(RingDeathTest, WhatMustNotHappenIsNoticed) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    publish(0);
    EXPECT_DEATH(static_cast<void>(fill(1, kMulticastBytesMax + 1)), "longer than a slot");
    EXPECT_DEATH(static_cast<void>(ring_.release_hold(0)), "more readers");
    EXPECT_DEATH(static_cast<void>(ring_.waiters(2)), "no such member");
}

// Whatever a rank may wait for at a slot, it sleeps for at the ring's bell.
TEST_F(RingTest, DeedsRing) {
    const auto rings = [&](const std::function<void()>& deed) {
        const Sleeper sleeper(ring_.header().bell);
        deed();
        return sleeper.has_rung();
    };
    EXPECT_FALSE(rings([] {}));
    EXPECT_TRUE(rings([&] { ASSERT_EQ(fill(0), Fill::kDone); }));
    EXPECT_FALSE(rings([&] { read_all(0, 2); })) << "the service still holds it";
    EXPECT_TRUE(rings([&] { ASSERT_TRUE(ring_.release_hold(0)); })) << "free for number 4";
    EXPECT_TRUE(rings([&] { publish(1); }));
    EXPECT_FALSE(rings([&] { read_all(1, 2); }));
    EXPECT_TRUE(rings([&] { read_all(1, 1); })) << "the last reader";
    EXPECT_TRUE(rings([&] { ring_.close(1); }));
    EXPECT_TRUE(rings([&] { ring_.freeze(); }));
}

// Or the last reader of one message would wake all who wait for the next.
TEST_F(RingTest, ARouteSleepsForWhatMovesIt) {
    struct NoWaker final : Waker {
        void wake() override {}
    } waker;
    constexpr std::array<mcast::Member, 4> kMemberOf{0, 0, 0, 1};
    Route route(ring_, waker, {.rank = 0, .member_of_rank = kMemberOf});
    const auto data = ring_bytes_of(4, 100);
    std::array<std::byte, 100> place{};
    std::array<Ticket, 5> tickets;
    EXPECT_EQ(route.awaited(), 0u);
    route.recv_multicast(0, 3, place.data(), place.size(), tickets[0]);
    EXPECT_EQ(route.awaited(), kFilledRings);
    for (uint64_t number = 1; number < 5; ++number) {
        route.multicast(number, data.data(), data.size(), tickets[number]);
    }
    ASSERT_EQ(tickets[3].state, State::kDone);
    ASSERT_EQ(tickets[4].state, State::kPending) << "number 0 has its slot";
    EXPECT_EQ(route.awaited(), kFilledRings | kFreedRings);
    publish(0);
    ASSERT_EQ(route.test(tickets[0]), State::kDone);
    EXPECT_EQ(route.awaited(), kFreedRings);
    read_all(0, 2);
    ASSERT_EQ(route.test(tickets[4]), State::kDone);
    EXPECT_EQ(route.awaited(), 0u);
}

TEST_F(RingTest, ARouteSleepsForWhatItSeeks) {
    struct NoWaker final : Waker {
        void wake() override {}
    } waker;
    constexpr std::array<mcast::Member, 4> kMemberOf{0, 0, 0, 1};
    Route route(ring_, waker, {.rank = 0, .member_of_rank = kMemberOf});
    std::array<std::byte, 100> place{};
    ASSERT_EQ(route.seek(0, place.data(), place.size()), Multicast::Sought::kNotYet);
    EXPECT_EQ(route.awaited(), kFilledRings);
    publish(0);
    ASSERT_EQ(route.seek(0, place.data(), place.size()), Multicast::Sought::kDone);
    EXPECT_EQ(route.awaited(), 0u);
    for (uint64_t number = 1; number < 4; ++number) {
        ASSERT_EQ(route.offer(number, place.data(), place.size()), Multicast::Sought::kDone);
    }
    ASSERT_EQ(route.offer(4, place.data(), place.size()), Multicast::Sought::kNotYet);
    EXPECT_EQ(route.awaited(), kFreedRings) << "number 0 has its slot";
    read_all(0, 2);
    ASSERT_EQ(route.offer(4, place.data(), place.size()), Multicast::Sought::kDone);
    EXPECT_EQ(route.awaited(), 0u);
}

// Where ranks outnumber processors. What is multicast by a call's root is another matter.
TEST_F(RingTest, ARouteLeavesItsOffersToTheService) {
    test::CountingWaker waker;
    constexpr std::array<mcast::Member, 4> kMemberOf{0, 0, 0, 1};
    Route route(ring_, waker, {.rank = 0, .member_of_rank = kMemberOf});
    ring_.header().sleep = RingHeader::kWakeIfFilled;
    std::array<std::byte, 100> place{};
    ASSERT_EQ(route.offer(0, place.data(), place.size()), Multicast::Sought::kDone);
    EXPECT_EQ(waker.wakes, 1);
    EXPECT_EQ(waker.thread_wakes, 0);
    route.leave_offers_to_service();
    ASSERT_EQ(route.offer(1, place.data(), place.size()), Multicast::Sought::kDone);
    EXPECT_EQ(waker.wakes, 1);
    EXPECT_EQ(waker.thread_wakes, 1);
    EXPECT_EQ(route.counters().wakes, 2u);
}

TEST_F(RingTest, RanksLeaveOneByOneAndSeeTheEnd) {
    ring_.header().sleep = RingHeader::kAwake;
    EXPECT_FALSE(ring_.leave_team());
    ring_.header().sleep = RingHeader::kWakeIfFilled;
    EXPECT_TRUE(ring_.leave_team());
    EXPECT_TRUE(ring_.leave_team());
    EXPECT_EQ(ring_.header().left, 3u);
    EXPECT_FALSE(ring_.is_ended());
    ring_.end();
    EXPECT_TRUE(ring_.is_ended());
    EXPECT_FALSE(ring_.is_frozen());
}

}  // namespace
}  // namespace tutti::transport::carrier
