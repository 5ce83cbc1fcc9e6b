// SPDX-License-Identifier: BSD-3-Clause
// Two nodes with the real machines between them, packets passed by hand.
#include "run/transport/carrier/ring_feed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "run/transport/carrier/route.h"
#include "unit/run/transport/carrier/ring_support.h"

namespace tutti::transport::carrier {
namespace {

using mcast::Member;
using test::ring_bytes_of;

constexpr uint64_t kMs = 1'000'000;
// Ranks 0 and 1 on node 0, 2 and 3 on node 1.
constexpr std::array<Member, 4> kMemberOf{0, 0, 1, 1};

struct Node {
    explicit Node(Member member, uint32_t slots, uint32_t window)
        : memory({slots, 2, 2}), ring(memory.ring()) {
        mcast::Params params;
        params.member = member;
        params.members = 2;
        params.window_packets = window;
        params.seed = member + 1u;
        group = std::move(mcast::Group::create(params).value());
        EXPECT_TRUE(group->open_team(kRingTeam));
        feed = std::make_unique<Feed>(ring, *group);
    }
    test::RingMemory memory;
    Ring ring;
    std::unique_ptr<mcast::Group> group;
    std::unique_ptr<Feed> feed;
    test::CountingWaker waker;
};

class FeedTest : public testing::Test {
  protected:
    void make(uint32_t slots, uint32_t window) {
        for (Member member = 0; member < 2; ++member) {
            nodes_.push_back(std::make_unique<Node>(member, slots, window));
        }
        for (Rank rank = 0; rank < 4; ++rank) {
            Node& node = *nodes_[kMemberOf[rank]];
            routes_.push_back(
                std::make_unique<Route>(node.ring, node.waker, RouteParams{rank, kMemberOf}));
        }
    }
    // Everything that is due, with packets that arrive at once or are lost.
    void run(uint64_t until_ns) {
        do {
            for (Node* node : {nodes_[0].get(), nodes_[1].get()}) step(*node);
            now_ns_ += kMs / 10;
        } while (now_ns_ < until_ns);
    }
    void step(Node& node) {
        node.feed->wake_up();
        node.group->tick(now_ns_);
        do {
            node.feed->advance(now_ns_);
        } while (!node.feed->may_sleep());
        std::array<std::byte, 1472> packet{};
        Member to = mcast::kNobody;
        while (const size_t bytes = node.group->next_packet(now_ns_, packet, to)) {
            if (is_cut_) continue;
            Node& other = *nodes_[&node == nodes_[0].get() ? 1 : 0];
            other.group->on_packet(now_ns_, std::span<const std::byte>(packet).first(bytes));
            other.feed->advance(now_ns_);
        }
    }
    State send(Rank rank, uint64_t number, size_t bytes, Ticket& ticket) {
        data_ = ring_bytes_of(number, bytes);
        routes_[rank]->multicast(number, data_.data(), bytes, ticket);
        return ticket.state;
    }
    // Posts and expects it to be there.
    bool receive(Rank rank, Rank sender, uint64_t number, size_t bytes) {
        std::vector<std::byte> place(bytes);
        Ticket ticket;
        routes_[rank]->recv_multicast(number, sender, place.data(), bytes, ticket);
        return ticket.state == State::kDone && place == ring_bytes_of(number, bytes);
    }

    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<std::unique_ptr<Route>> routes_;
    std::vector<std::byte> data_;
    uint64_t now_ns_ = kMs;
    bool is_cut_ = false;
};

TEST_F(FeedTest, AMessageGoesToAllRanksAndItsSlotComesFree) {
    make(4, 64);
    Ticket ticket;
    EXPECT_EQ(send(0, 0, 5000, ticket), State::kDone);
    // The mate on the own node needs nobody.
    EXPECT_TRUE(receive(1, 0, 0, 5000));
    run(now_ns_ + 50 * kMs);
    EXPECT_TRUE(receive(2, 0, 0, 5000));
    EXPECT_FALSE(nodes_[1]->ring.is_free(4));
    EXPECT_TRUE(receive(3, 0, 0, 5000));
    EXPECT_TRUE(nodes_[1]->ring.is_free(4));
    EXPECT_TRUE(nodes_[0]->ring.is_free(4));
    EXPECT_EQ(nodes_[0]->ring.header().sent, 1u);
    EXPECT_EQ(nodes_[1]->ring.header().received, 1u);
    EXPECT_EQ(routes_[0]->counters().sent, 1u);
    EXPECT_EQ(routes_[3]->counters().received, 1u);
}

TEST_F(FeedTest, AnyRankIsASender) {
    make(4, 64);
    for (uint64_t number = 0; number < 30; ++number) {
        const Rank sender = static_cast<Rank>(number * 7 % 4);
        Ticket ticket;
        ASSERT_EQ(send(sender, number, number * 100, ticket), State::kDone);
        run(now_ns_ + 20 * kMs);
        for (Rank rank = 0; rank < 4; ++rank) {
            if (rank == sender) continue;
            ASSERT_TRUE(receive(rank, sender, number, number * 100));
        }
        run(now_ns_ + 20 * kMs);
    }
}

TEST_F(FeedTest, ARankThatNeverReadsHoldsTheOthersAtTheEndOfTheRing) {
    make(4, 64);
    std::array<Ticket, 10> tickets;
    uint64_t sent = 0;
    while (send(0, sent, 100, tickets[sent]) == State::kDone) {
        EXPECT_TRUE(receive(1, 0, sent, 100));
        run(now_ns_ + 20 * kMs);
        if (sent < 4) {
            EXPECT_TRUE(receive(2, 0, sent, 100));
        }
        ++sent;
    }
    // Four stand in node 1's slots and four in node 0's, since they are not placed.
    EXPECT_EQ(sent, 8u);
    EXPECT_EQ(nodes_[1]->group->inbox().pooled_packets(), 4u);
    for (uint64_t number = 0; number < 4; ++number) EXPECT_TRUE(receive(3, 0, number, 100));
    run(now_ns_ + 200 * kMs);
    EXPECT_EQ(routes_[0]->test(tickets[8]), State::kDone);
    for (uint64_t number = 4; number < 8; ++number) EXPECT_TRUE(receive(3, 0, number, 100));
}

TEST_F(FeedTest, WhatIsNotPlacedEverywhereIsHeld) {
    make(4, 64);
    Ticket ticket;
    for (uint64_t number = 0; number < 4; ++number) {
        ASSERT_EQ(send(0, number, 100, ticket), State::kDone);
        ASSERT_TRUE(receive(1, 0, number, 100));
    }
    run(now_ns_ + 50 * kMs);
    // Placed on node 1, though nobody has read them there: free here.
    ASSERT_EQ(send(0, 4, 100, ticket), State::kDone);
    ASSERT_TRUE(receive(1, 0, 4, 100));
    run(now_ns_ + 500 * kMs);
    EXPECT_TRUE(nodes_[0]->ring.is_held(4)) << "in node 1's pool only";
    EXPECT_TRUE(nodes_[0]->group->sender().is_acknowledged());
    EXPECT_EQ(nodes_[1]->group->inbox().pooled_packets(), 1u);
    // Its service sleeps until the slot comes free.
    const int before = nodes_[1]->waker.wakes;
    EXPECT_TRUE(receive(2, 0, 0, 100));
    EXPECT_EQ(nodes_[1]->waker.wakes, before);
    EXPECT_TRUE(receive(3, 0, 0, 100));
    EXPECT_EQ(nodes_[1]->waker.wakes, before + 1);
    run(now_ns_ + 500 * kMs);
    EXPECT_FALSE(nodes_[0]->ring.is_held(4));
    EXPECT_EQ(nodes_[1]->group->inbox().pooled_packets(), 0u);
    EXPECT_TRUE(nodes_[1]->ring.has(4));
}

TEST_F(FeedTest, AMessageLongerThanTheWindowGoesInParts) {
    make(4, 4);
    Ticket ticket;
    ASSERT_EQ(send(2, 0, kMulticastBytesMax, ticket), State::kDone);
    std::fill(data_.begin(), data_.end(), std::byte{0});
    run(now_ns_ + 100 * kMs);
    EXPECT_TRUE(receive(0, 2, 0, kMulticastBytesMax));
    EXPECT_TRUE(receive(1, 2, 0, kMulticastBytesMax));
    EXPECT_TRUE(receive(3, 2, 0, kMulticastBytesMax));
}

// Ranks of one node may fill their numbers in any order; the lowest must not stand behind others.
TEST_F(FeedTest, TheLowestNumberGoesFirst) {
    make(8, 4);
    std::vector<std::byte> place(64);
    std::array<Ticket, 8> tickets;
    // Rank 0 sends 1, rank 1 sends 0 and 2.
    routes_[0]->recv_multicast(0, 1, place.data(), 10, tickets[0]);
    send(0, 1, 10, tickets[1]);
    send(1, 0, 10, tickets[2]);
    routes_[1]->recv_multicast(1, 0, place.data(), 10, tickets[3]);
    send(1, 2, 10, tickets[4]);
    std::vector<uint64_t> order;
    nodes_[0]->feed->advance(now_ns_);
    std::array<std::byte, 1472> bytes{};
    Member to = mcast::kNobody;
    while (const size_t used = nodes_[0]->group->next_packet(now_ns_, bytes, to)) {
        const auto packet = mcast::parse(std::span<const std::byte>(bytes).first(used));
        order.push_back(std::get<mcast::Data>(packet->body).name.call);
    }
    EXPECT_EQ(order, (std::vector<uint64_t>{0, 1, 2}));
}

TEST_F(FeedTest, TheServiceIsWokenOnlyWhenItSleeps) {
    make(4, 64);
    Ticket ticket;
    nodes_[0]->feed->advance(now_ns_);
    send(0, 0, 10, ticket);
    EXPECT_EQ(nodes_[0]->waker.wakes, 0);
    EXPECT_FALSE(nodes_[0]->feed->may_sleep()) << "a rank came between the look and the sleep";
    nodes_[0]->feed->advance(now_ns_);
    EXPECT_TRUE(nodes_[0]->feed->may_sleep());
    send(0, 1, 10, ticket);
    EXPECT_EQ(nodes_[0]->waker.wakes, 1);
    nodes_[0]->feed->wake_up();
    send(0, 2, 10, ticket);
    EXPECT_EQ(nodes_[0]->waker.wakes, 1);
}

TEST_F(FeedTest, WhoSleepsInTheServicesSteadIsWokenByAFreedSlotToo) {
    make(4, 64);
    Ticket ticket;
    for (const uint64_t number : {0, 1}) {
        send(0, number, 10, ticket);
        run(now_ns_ + 50 * kMs);
        const int before = nodes_[1]->waker.wakes;
        ASSERT_TRUE(nodes_[1]->feed->may_sleep());
        if (number == 1) nodes_[1]->feed->wake_for_all();
        ASSERT_TRUE(receive(2, 0, number, 10));
        EXPECT_EQ(nodes_[1]->waker.wakes, before) << "its node mate has not read it";
        ASSERT_TRUE(receive(3, 0, number, 10));
        EXPECT_EQ(nodes_[1]->waker.wakes - before, number == 1 ? 1 : 0);
    }
}

// Half a round before a slot is needed again its sender asks whether all have the data, once.
TEST_F(FeedTest, AcknowledgementsComeInTimeForTheNextRound) {
    make(16, 64);
    Ticket ticket;
    const auto is_free = [&](uint64_t number) { return nodes_[0]->ring.is_free(number + 16); };
    const auto beats = [&] { return nodes_[0]->group->counters().sent.heartbeats; };
    // Everything at once: nothing comes because time passes.
    const auto exchange = [&] {
        for (int i = 0; i < 8; ++i) {
            for (const auto& node : nodes_) step(*node);
        }
    };
    ASSERT_EQ(send(0, 0, 10, ticket), State::kDone);
    for (Rank rank : {1, 2, 3}) {
        exchange();
        ASSERT_TRUE(receive(rank, 0, 0, 10));
    }
    for (uint64_t number = 1; number < 8; ++number) {
        EXPECT_EQ(beats(), 0u);
        ASSERT_EQ(send(2, number, 10, ticket), State::kDone);
        exchange();
        for (Rank rank : {0, 1, 3}) ASSERT_TRUE(receive(rank, 2, number, 10));
        EXPECT_FALSE(is_free(0)) << number;
    }
    ASSERT_EQ(send(2, 8, 10, ticket), State::kDone);
    exchange();
    EXPECT_EQ(beats(), 1u);
    EXPECT_TRUE(is_free(0));
}

TEST_F(FeedTest, AWrongLengthFailsTheTicket) {
    make(4, 64);
    Ticket ticket;
    send(0, 0, 100, ticket);
    EXPECT_FALSE(receive(1, 0, 0, 99));
    EXPECT_EQ(routes_[1]->error(),
              "multicast: a message has not the length that its receiver expects");
}

// A message that no slot holds cannot come from an honest sender: all who wait for it fail.
TEST_F(FeedTest, AMessageThatNoSlotHoldsFailsItsReaders) {
    make(4, 64);
    const std::vector<std::byte> data(kMulticastBytesMax + 1);
    mcast::Outgoing message{{kRingTeam, 0, 0, 0}, data, 0, false};
    ASSERT_TRUE(nodes_[0]->group->write(now_ns_, message));
    run(now_ns_ + 50 * kMs);
    EXPECT_FALSE(receive(2, 0, 0, 100));
    EXPECT_FALSE(receive(3, 0, 0, 0));
    EXPECT_NE(routes_[2]->error(), "");
}

TEST_F(FeedTest, WhoIsWaitedForLongAndGoneIsNoticed) {
    make(4, 64);
    is_cut_ = true;
    run(now_ns_ + 10'000 * kMs);
    EXPECT_FALSE(nodes_[1]->group->failure()) << "nobody waits";
    std::vector<std::byte> place(10);
    Ticket ticket;
    routes_[2]->recv_multicast(0, 0, place.data(), 10, ticket);
    for (int i = 0; i < 2000; ++i) routes_[2]->test(ticket);
    EXPECT_EQ(nodes_[1]->waker.wakes, 1);
    run(now_ns_ + 10'000 * kMs);
    EXPECT_EQ(nodes_[1]->group->failure(), Member{0});
    EXPECT_EQ(routes_[2]->test(ticket), State::kFailed);
    EXPECT_EQ(routes_[2]->error(), "multicast: node 0 of the team is gone");
}

// One look of the service finds a whole message and the failure that came behind it.
TEST_F(FeedTest, WhatWasAcknowledgedBeforeAFailureIsReadable) {
    make(4, 64);
    Ticket ticket;
    send(0, 0, 100, ticket);
    nodes_[0]->feed->advance(now_ns_);
    nodes_[1]->feed->advance(now_ns_);
    std::array<std::byte, 1472> packet{};
    Member to = mcast::kNobody;
    size_t bytes = nodes_[0]->group->next_packet(now_ns_, packet, to);
    nodes_[1]->group->on_packet(now_ns_, std::span<const std::byte>(packet).first(bytes));
    bytes = mcast::write({0, 0, mcast::Failure{1, mcast::Failure::Phase::kOver}, 1'000}, packet);
    nodes_[1]->group->on_packet(now_ns_, std::span<const std::byte>(packet).first(bytes));
    ASSERT_TRUE(nodes_[1]->group->failure());
    EXPECT_FALSE(nodes_[1]->feed->may_sleep());
    nodes_[1]->feed->advance(now_ns_);
    EXPECT_TRUE(nodes_[1]->feed->may_sleep());
    EXPECT_TRUE(routes_[2]->has_failed());
    EXPECT_EQ(routes_[2]->dead(), 1);
    EXPECT_TRUE(receive(2, 0, 0, 100));
    EXPECT_TRUE(receive(3, 0, 0, 100));
    EXPECT_FALSE(receive(2, 0, 1, 100)) << "without a network a failure is final";
    EXPECT_EQ(routes_[2]->step(), State::kFailed);
    EXPECT_FALSE(routes_[2]->is_decided());
}

TEST_F(FeedTest, WhoWatchesAllFindsOutThatNobodyIsThere) {
    make(4, 64);
    is_cut_ = true;
    routes_[2]->watch_all(true);
    routes_[2]->watch_all(true);
    routes_[3]->watch_all(true);
    routes_[3]->watch_all(false);
    run(now_ns_ + 10'000 * kMs);
    EXPECT_TRUE(routes_[3]->has_failed());
    EXPECT_EQ(routes_[3]->dead(), 0);
}

TEST_F(FeedTest, WhoWatchesNoLongerAccusesNobody) {
    make(4, 64);
    is_cut_ = true;
    routes_[2]->watch_all(true);
    run(now_ns_ + 1'000 * kMs);
    routes_[2]->watch_all(false);
    run(now_ns_ + 10'000 * kMs);
    EXPECT_FALSE(routes_[2]->has_failed());
}

TEST_F(FeedTest, AWaitThatEndsAccusesNobody) {
    make(4, 64);
    std::vector<std::byte> place(10);
    Ticket ticket;
    routes_[2]->recv_multicast(0, 0, place.data(), 10, ticket);
    for (int i = 0; i < 2000; ++i) routes_[2]->test(ticket);
    run(now_ns_ + 100 * kMs);
    Ticket sent;
    send(0, 0, 10, sent);
    run(now_ns_ + 100 * kMs);
    EXPECT_EQ(routes_[2]->test(ticket), State::kDone);
    receive(1, 0, 0, 10);
    receive(3, 0, 0, 10);
    run(now_ns_ + 100 * kMs);
    is_cut_ = true;
    run(now_ns_ + 10'000 * kMs);
    EXPECT_FALSE(nodes_[1]->group->failure());
    EXPECT_FALSE(nodes_[0]->group->failure());
}

// The node has left when all its ranks have and the group has taken all that they filled.
TEST_F(FeedTest, ANodeLeavesWithItsLastRank) {
    make(4, 4);
    Ticket ticket;
    Node& node = *nodes_[0];
    run(now_ns_ + kMs);
    is_cut_ = true;
    ASSERT_EQ(send(0, 0, kMulticastBytesMax, ticket), State::kDone);  // more than the window
    EXPECT_TRUE(receive(1, 0, 0, kMulticastBytesMax));
    const int before = node.waker.wakes;
    routes_[1]->leave();
    EXPECT_EQ(node.waker.wakes, before + 1);
    run(now_ns_ + 10 * kMs);
    EXPECT_FALSE(node.feed->has_left());
    routes_[0]->leave();
    EXPECT_EQ(node.waker.wakes, before + 2);
    run(now_ns_ + 10 * kMs);
    EXPECT_FALSE(node.feed->has_left()) << "the group has not taken all";
    is_cut_ = false;
    run(now_ns_ + 300 * kMs);
    EXPECT_TRUE(node.feed->has_left());
    EXPECT_FALSE(nodes_[1]->feed->has_left());
    // Others may still miss something, until all have left.
    EXPECT_TRUE(routes_[0]->is_needed());
    node.feed->end();
    EXPECT_FALSE(routes_[0]->is_needed());
    EXPECT_FALSE(routes_[1]->is_needed());
}

// The service of a ring that is frozen is woken by who leaves, and by nothing else.
TEST_F(FeedTest, RanksLeaveAFrozenRing) {
    make(4, 64);
    Node& node = *nodes_[0];
    node.group->give_up(now_ns_, 1);
    is_cut_ = true;
    run(now_ns_ + 20'000 * kMs);
    ASSERT_TRUE(node.ring.is_frozen());
    EXPECT_FALSE(node.feed->has_left());
    const int before = node.waker.wakes;
    for (Rank rank : {0, 1}) routes_[rank]->leave();
    EXPECT_EQ(node.waker.wakes, before + 2);
    EXPECT_FALSE(node.feed->may_sleep());
    node.feed->advance(now_ns_);
    EXPECT_TRUE(node.feed->may_sleep());
    EXPECT_TRUE(node.feed->has_left());
    // Whoever knows less needs the ranks here.
    node.feed->end();
    EXPECT_FALSE(node.ring.is_ended());
}

TEST_F(FeedTest, ADestroyedFeedLeavesTheGroupNothing) {
    make(4, 64);
    Ticket ticket;
    send(0, 0, 10, ticket);
    run(now_ns_ + kMs);
    nodes_[1]->feed.reset();
    nodes_[1]->group->close_team(now_ns_, kRingTeam);
    EXPECT_EQ(nodes_[1]->group->inbox().pooled_packets(), 0u);
}

}  // namespace
}  // namespace tutti::transport::carrier
