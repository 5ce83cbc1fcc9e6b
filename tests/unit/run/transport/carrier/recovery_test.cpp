// SPDX-License-Identifier: BSD-3-Clause
// Ranks, each on a node, whose group has failed, step by step: what of a call that fails on top of
// that stays under way between them. Recoveries that go well are in tests/sim/ring_sim_test.cpp.
#include "run/transport/carrier/recovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "run/transport/carrier/recovery_messages.h"
#include "run/transport/carrier/recovery_tree.h"
#include "run/transport/carrier/route.h"
#include "unit/run/transport/carrier/ring_support.h"

namespace tutti::transport::carrier {
namespace {

using test::ring_bytes_of;

constexpr uint32_t kSlots = 4;
constexpr std::array<mcast::Member, 3> kMemberOf{0, 1, 2};
constexpr size_t kBytes = 100;

// The messages between the ranks; each ends when its other side is posted, or called off.
class Wire {
  public:
    class End final : public Transport {
      public:
        End(Wire& wire, Rank rank) : wire_(wire), rank_(rank) {}
        void send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
                  Ticket& ticket) override {
            wire_.post({rank_, peer, true, id, data, nullptr, bytes, &ticket});
        }
        void recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes,
                  Ticket& ticket) override {
            wire_.post({peer, rank_, false, id, nullptr, data, bytes, &ticket});
        }
        State test(Ticket& ticket) override {
            EXPECT_FALSE(wire_.has_called_off(ticket)) << "tested after it was called off";
            if (is_broken && ticket.state == State::kPending) ticket.state = State::kFailed;
            return ticket.state;
        }
        void cancel(Ticket& ticket) override { wire_.call_off(ticket); }
        [[nodiscard]] std::string error() const override { return "the cable is out"; }

        bool is_broken = false;

      private:
        Wire& wire_;
        Rank rank_;
    };

    // Of rank `at`, with memory within `place`.
    [[nodiscard]] size_t under_way(Rank at, const std::vector<std::byte>& place) const {
        return static_cast<size_t>(std::ranges::count_if(waiting_, [&](const Post& one) {
            const std::byte* data = one.is_send ? one.source : one.target;
            const bool is_within = data >= place.data() && data < place.data() + place.size();
            return (one.is_send ? one.from : one.to) == at && is_within;
        }));
    }
    [[nodiscard]] size_t under_way() const { return waiting_.size(); }

  private:
    struct Post {
        Rank from = 0;
        Rank to = 0;
        bool is_send = false;
        MessageId id;
        const std::byte* source = nullptr;
        std::byte* target = nullptr;
        size_t bytes = 0;
        Ticket* ticket = nullptr;
    };

    void post(const Post& post) {
        std::erase(called_off_, post.ticket);
        post.ticket->state = State::kPending;
        const auto other = std::ranges::find_if(waiting_, [&](const Post& one) {
            return one.is_send != post.is_send && one.from == post.from && one.to == post.to;
        });
        if (other == waiting_.end()) return waiting_.push_back(post);
        EXPECT_EQ(other->id, post.id) << "the order of both sides";
        EXPECT_EQ(other->bytes, post.bytes);
        std::byte* const target = post.is_send ? other->target : post.target;
        const std::byte* const source = post.is_send ? post.source : other->source;
        if (post.bytes > 0) std::memcpy(target, source, post.bytes);
        post.ticket->state = other->ticket->state = State::kDone;
        waiting_.erase(other);
    }
    void call_off(Ticket& ticket) {
        const auto is_it = [&](const Post& one) { return one.ticket == &ticket; };
        if (std::erase_if(waiting_, is_it) == 0) return;
        called_off_.push_back(&ticket);
    }
    [[nodiscard]] bool has_called_off(const Ticket& ticket) const {
        return std::ranges::find(called_off_, &ticket) != called_off_.end();
    }

    std::vector<Post> waiting_;  // in the order of posting
    std::vector<const Ticket*> called_off_;
};

// A rank, alone on its node.
struct Seat {
    Seat(Wire& wire, Rank own, uint32_t ranks = 2)
        : rank(own),
          node({kSlots, 1, ranks}),
          network(wire, own),
          route(node.ring(), waker, {own, std::span(kMemberOf).first(ranks), &network}) {}

    void multicast(uint64_t number) {
        ASSERT_EQ(number, tickets.size());
        memory.push_back(ring_bytes_of(number, kBytes));
        route.multicast(number, memory.back().data(), kBytes, tickets.emplace_back());
    }
    void recv(uint64_t number) {
        ASSERT_EQ(number, tickets.size());
        memory.emplace_back(kBytes);
        const Rank sender = rank == 0 ? 1 : 0;
        route.recv_multicast(number, sender, memory.back().data(), kBytes, tickets.emplace_back());
    }
    State test(uint64_t number) { return route.test(tickets[number]); }
    // The service of its node gives the group up.
    void fail() {
        ring().close(0);
        ring().freeze();
    }
    [[nodiscard]] Ring ring() const { return node.ring(); }

    Rank rank;
    test::RingMemory node;
    test::CountingWaker waker;
    Wire::End network;
    std::deque<std::vector<std::byte>> memory;  // of the call, by number
    std::deque<Ticket> tickets;
    Route route;
};

class RecoveryTest : public testing::Test {
  protected:
    void fail() {
        first_.fail();
        second_.fail();
    }
    void step(int turns = 20) {
        for (int turn = 0; turn < turns; ++turn) {
            static_cast<void>(first_.route.step());
            static_cast<void>(second_.route.step());
        }
    }

    Wire wire_;
    Seat first_{wire_, 0};
    Seat second_{wire_, 1};
};

TEST_F(RecoveryTest, WhatACallSendsIsCalledOffWithIt) {
    first_.multicast(0);
    ASSERT_EQ(first_.test(0), State::kDone) << "in the ring, for good";
    fail();
    first_.multicast(1);
    second_.recv(0);
    step();
    ASSERT_EQ(second_.test(0), State::kDone);
    EXPECT_EQ(second_.memory[0], first_.memory[0]);
    ASSERT_EQ(first_.test(1), State::kPending);
    ASSERT_EQ(wire_.under_way(0, first_.memory[1]), 1u);
    first_.route.call_off();
    EXPECT_EQ(wire_.under_way(0, first_.memory[1]), 0u);
    EXPECT_EQ(first_.route.step(), State::kDone) << "it owes nothing";
    first_.route.call_off();
    EXPECT_EQ(first_.route.step(), State::kDone) << "nor twice";
    EXPECT_EQ(wire_.under_way(), 0u);
}

// A call before it may not be over elsewhere.
TEST_F(RecoveryTest, WhatTheRingHoldsGoesAllTheSame) {
    first_.multicast(0);
    fail();
    first_.multicast(1);
    step();
    ASSERT_EQ(wire_.under_way(), 1u) << "number 0 to the second rank";
    ASSERT_EQ(wire_.under_way(0, first_.memory[1]), 0u) << "goes behind it";
    first_.route.call_off();
    second_.recv(0);
    step();
    EXPECT_EQ(second_.test(0), State::kDone);
    EXPECT_EQ(second_.memory[0], first_.memory[0]);
    second_.recv(1);
    step();
    EXPECT_EQ(second_.test(1), State::kPending);
    EXPECT_EQ(first_.route.step(), State::kDone);
    EXPECT_EQ(wire_.under_way(), 1u) << "what the second waits for, until its call fails, too";
    second_.route.call_off();
    EXPECT_EQ(wire_.under_way(), 0u);
}

// The second rank has all, the third nothing.
TEST(RecoveryOfThree, WhoGotWhatIsCalledOffGetsNoMore) {
    Wire wire;
    Seat first(wire, 0, 3);
    Seat second(wire, 1, 3);
    Seat third(wire, 2, 3);
    const auto step = [&](int turns = 20) {
        for (int turn = 0; turn < turns; ++turn) {
            for (Seat* seat : {&first, &second, &third}) static_cast<void>(seat->route.step());
        }
    };
    first.multicast(0);
    for (Seat* seat : {&first, &second, &third}) seat->fail();
    first.multicast(1);
    second.recv(0);
    second.recv(1);
    step();
    ASSERT_EQ(second.test(1), State::kDone);
    ASSERT_EQ(wire.under_way(), 1u) << "number 0 to the third rank";
    first.route.call_off();
    step();
    EXPECT_EQ(wire.under_way(), 1u);
    third.recv(0);
    step();
    EXPECT_EQ(third.test(0), State::kDone);
    EXPECT_EQ(first.route.step(), State::kDone);
    EXPECT_EQ(wire.under_way(), 0u);
}

// Number 4 waits for its slot while 5 goes by the ring, as all before it, when the group fails.
class RecoveryOutOfTurn : public RecoveryTest {
  protected:
    void SetUp() override {
        first_.multicast(0);
        second_.recv(0);
        second_.multicast(1);
        static_cast<void>(second_.ring().release_hold(1));
        std::ranges::copy(second_.memory[1], first_.ring().data(1));
        ASSERT_TRUE(first_.ring().publish(1, kBytes));
        first_.recv(1);
        for (uint64_t number = 2; number < 6; ++number) first_.multicast(number);
        ASSERT_EQ(first_.test(4), State::kPending);
        ASSERT_EQ(first_.tickets[5].state, State::kDone);
        fail();
        step();
        for (uint64_t number = 2; number < 4; ++number) second_.recv(number);
        step();
    }
};

TEST_F(RecoveryOutOfTurn, WhatComesBehindIsCalledOffToo) {
    ASSERT_EQ(wire_.under_way(0, first_.memory[4]), 1u);
    first_.route.call_off();
    EXPECT_EQ(wire_.under_way(), 0u);
    EXPECT_EQ(first_.route.step(), State::kDone);
    // Number 4 is not number 5's data.
    second_.recv(4);
    second_.recv(5);
    step();
    EXPECT_EQ(second_.test(4), State::kPending);
}

// Its own call is over here, and not elsewhere.
TEST_F(RecoveryOutOfTurn, WhatIsBehindNothingOfTheCallGoesOn) {
    second_.recv(4);
    step();
    ASSERT_EQ(second_.test(4), State::kDone);
    ASSERT_EQ(first_.test(4), State::kDone);
    first_.route.call_off();
    second_.recv(5);
    step();
    EXPECT_EQ(second_.test(5), State::kDone);
    EXPECT_EQ(second_.memory[5], first_.memory[5]);
}

TEST_F(RecoveryTest, AllThatACallReceivesIsCalledOffWithIt) {
    second_.recv(0);
    fail();
    second_.recv(1);
    step();
    second_.recv(2);
    for (uint64_t number = 0; number < 3; ++number) {
        ASSERT_EQ(wire_.under_way(1, second_.memory[number]), 1u) << "number " << number;
    }
    second_.route.call_off();
    EXPECT_EQ(wire_.under_way(), 0u);
    EXPECT_EQ(second_.route.awaited(), 0u);
    EXPECT_EQ(second_.route.step(), State::kDone);
}

// Nobody comes for it any more, so the others are not to send it.
TEST_F(RecoveryTest, WhatIsCalledOffBeforeItIsNotMissed) {
    first_.multicast(0);
    first_.multicast(1);
    second_.recv(0);
    second_.route.call_off();
    fail();
    step();
    EXPECT_EQ(wire_.under_way(), 0u);
    EXPECT_EQ(second_.memory[0], std::vector<std::byte>(kBytes));
    EXPECT_EQ(first_.route.step(), State::kDone);
    EXPECT_EQ(second_.route.step(), State::kDone);
    EXPECT_EQ(first_.route.counters().missed_by_others, 0u);
}

// By itself, without a word of the caller's.
TEST_F(RecoveryTest, WhereThereIsNoWayOnNothingStaysUnderWay) {
    second_.multicast(0);
    fail();
    second_.recv(1);
    second_.recv(2);
    step();
    second_.multicast(3);
    ASSERT_EQ(wire_.under_way(1, second_.memory[1]), 1u);
    ASSERT_EQ(wire_.under_way(1, second_.memory[2]), 1u);
    second_.network.is_broken = true;
    EXPECT_EQ(second_.test(1), State::kFailed);
    EXPECT_EQ(second_.test(2), State::kFailed);
    EXPECT_EQ(second_.test(3), State::kFailed);
    for (uint64_t number = 1; number < 4; ++number) {
        EXPECT_EQ(wire_.under_way(1, second_.memory[number]), 0u) << "number " << number;
    }
}

TEST_F(RecoveryTest, WhereThereIsNoWayOnNothingIsSought) {
    using Sought = Multicast::Sought;
    second_.multicast(0);
    const std::vector<std::byte> offered = ring_bytes_of(1, kBytes);
    ASSERT_EQ(first_.ring().fill(1, 0, offered.data(), kBytes), Ring::Fill::kDone);
    fail();
    std::vector<std::byte> place(kBytes);
    // The first rank says that it has number 1, and does not get to sending it.
    for (int turn = 0; turn < 20 && wire_.under_way(1, place) == 0; ++turn) {
        ASSERT_EQ(second_.route.seek(1, place.data(), kBytes), Sought::kNotYet);
        if (wire_.under_way(1, place) == 0) static_cast<void>(first_.route.step());
    }
    ASSERT_EQ(wire_.under_way(1, place), 1u);
    second_.network.is_broken = true;
    Sought sought = Sought::kNotYet;
    for (int turn = 0; turn < 20 && sought == Sought::kNotYet; ++turn) {
        sought = second_.route.seek(1, place.data(), kBytes);
    }
    EXPECT_EQ(sought, Sought::kFailed);
    EXPECT_EQ(wire_.under_way(1, place), 0u);
}

// One rank's part of the tree, alone.
struct TreeRank {
    TreeRank(Wire& wire, Rank own, Rank ranks)
        : network(wire, own), messages(network, ranks), tree(messages, own, ranks) {}
    ~TreeRank() { messages.call_off(); }

    Wire::End network;
    RecoveryMessages messages;
    RecoveryTree tree;
};

// Every rank is the one that knows more than the others.
TEST(RecoveryTree, AllKnowWhatOneKnew) {
    for (Rank ranks = 1; ranks <= 17; ++ranks) {
        for (Rank knows = 0; knows < ranks; ++knows) {
            Wire wire;
            std::deque<TreeRank> all;
            for (Rank rank = 0; rank < ranks; ++rank) {
                all.emplace_back(wire, rank, ranks)
                    .tree.begin({.calls_end = rank == knows ? 9u : 7,
                                 .dead = static_cast<mcast::Member>(3 + rank),
                                 .is_contradicted = rank == knows,
                                 .holds = rank == knows});
            }
            for (Rank turn = 0; turn < ranks; ++turn) {
                for (TreeRank& one : all) {
                    while (one.tree.step()) {
                    }
                }
            }
            for (const TreeRank& one : all) {
                EXPECT_TRUE(one.tree.is_done()) << ranks;
                EXPECT_EQ(one.tree.calls_end(), 9u) << ranks;
                EXPECT_EQ(one.tree.dead(), 3u) << "as rank 0 has it";
                EXPECT_TRUE(one.tree.is_contradicted()) << ranks;
                for (Rank rank = 0; rank < ranks; ++rank) {
                    EXPECT_EQ(one.tree.holds(rank), rank == knows) << ranks;
                }
            }
            EXPECT_EQ(wire.under_way(), 0u);
        }
    }
}

// Nothing is decided before the last rank has begun.
TEST(RecoveryTree, WaitsForAll) {
    Wire wire;
    std::deque<TreeRank> all;
    for (Rank rank = 0; rank < 5; ++rank) all.emplace_back(wire, rank, 5);
    for (Rank rank = 0; rank < 4; ++rank) all[rank].tree.begin({});
    for (int turn = 0; turn < 5; ++turn) {
        for (TreeRank& one : all) {
            while (one.tree.step()) {
            }
            EXPECT_FALSE(one.tree.is_decided());
        }
    }
    all[2].network.is_broken = true;
    EXPECT_FALSE(all[2].tree.step());
    EXPECT_TRUE(all[2].messages.has_failed());
}

}  // namespace
}  // namespace tutti::transport::carrier
