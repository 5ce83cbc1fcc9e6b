// SPDX-License-Identifier: BSD-3-Clause
// Additions to the word of all, of which each is told what it was, over the fake: rank 0 adds
// through its own device, by a connection with itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "run/transport/verbs/rc.h"
#include "unit/run/transport/verbs/ends.h"

namespace tutti::transport::verbs {
namespace {

constexpr uint32_t kRanks = 5;

class Arriving : public Ranks {
  public:
    explicit Arriving(const test::FakeRules& rules) : Ranks(kRanks, rules) {
        add({0, 1, 2, 3, 4});
        for (Rank rank = 1; rank < kRanks; ++rank) add({0});
        connect_all();
        for (Rank rank = 0; rank < kRanks; ++rank) {
            if (rules.can_add) ends[rank]->use_adders(kRanks);
        }
    }
    bool run_all() {
        return run_until([&] {
            return std::ranges::none_of(
                tickets, [](const Ticket& one) { return one.state == State::kPending; });
        });
    }

    std::array<Ticket, kRanks> tickets;
};

TEST(RcArrive, EachIsToldWhatTheWordWas) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng prng(seed);
        Arriving all({.seed = seed});
        for (uint64_t call = 0; call < 12; ++call) {
            std::vector<Rank> order(kRanks);
            std::iota(order.begin(), order.end(), 0u);
            for (size_t i = order.size(); i-- > 1;) std::swap(order[i], order[prng.below(i + 1)]);
            for (const Rank rank : order) {
                ASSERT_EQ(all.ends[rank]->adders(), kRanks);
                all.ends[rank]->fetch_add(1, all.tickets[rank]);
                for (uint64_t turns = prng.below(40); turns > 0; --turns) all.turn();
            }
            ASSERT_TRUE(all.run_all());
            std::vector<uint64_t> formers;
            for (const Ticket& ticket : all.tickets) {
                ASSERT_EQ(ticket.state, State::kDone);
                formers.push_back(ticket.number);
            }
            std::ranges::sort(formers);
            std::vector<uint64_t> expected(kRanks);
            std::iota(expected.begin(), expected.end(), call * kRanks);
            ASSERT_EQ(formers, expected);
        }
        // One request each, and nothing is received.
        EXPECT_EQ(all.verbs.writes(), 12u * kRanks);
        EXPECT_EQ(all.verbs.adds(), 12u * kRanks);
        EXPECT_EQ(all.ends[0]->additions(), 12u);
        EXPECT_EQ(all.verbs.fault(), "");
        for (auto& end : all.ends) end->close();
        ASSERT_TRUE(all.run_until([&] {
            return std::ranges::all_of(all.ends, [](auto& end) { return end->is_closed(); });
        }));
    }
}

// What is added goes beyond 64 bits as a number without a sign does; and who adds nothing looks.
TEST(RcArrive, TheSumRollsOverAndMayBeLookedAt) {
    Arriving all({.seed = 2});
    const auto ask = [&](Rank rank, uint64_t amount) {
        all.ends[rank]->fetch_add(amount, all.tickets[rank]);
        EXPECT_TRUE(all.run_all());
        return all.tickets[rank].number;
    };
    EXPECT_EQ(ask(0, UINT64_MAX), 0u);
    EXPECT_EQ(ask(3, 3), UINT64_MAX);
    EXPECT_EQ(ask(1, 0), 2u);
    EXPECT_EQ(ask(0, ~uint64_t{0}), 2u);
    EXPECT_EQ(ask(2, 0), 1u);
    EXPECT_EQ(all.ends[1]->additions() + all.ends[2]->additions(), 0u);
}

// Of the pair with itself, which is all that the device does not carry: its messages are over, its
// later failure is none of the others', whose own are told, and nobody waits for it.
TEST(RcArrive, APairThatIsGivenUpIsNoError) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        Ranks all(2, {.seed = seed});
        all.add({0, 1});
        all.add({0});
        all.connect_all();
        std::array<std::byte, 8> data{};
        std::array<Ticket, 4> tickets;
        all.ends[0]->recv(0, {}, data.data(), data.size(), tickets[0]);
        all.ends[0]->send(0, {}, data.data(), data.size(), tickets[1]);
        all.ends[0]->give_up_pair(0);
        EXPECT_EQ(tickets[0].state, State::kFailed);
        EXPECT_EQ(all.ends[0]->error(), "");
        all.ends[0]->recv(1, {}, data.data(), 4, tickets[2]);
        all.ends[1]->send(0, {}, data.data(), 8, tickets[3]);
        ASSERT_TRUE(all.run_until([&] { return tickets[2].state != State::kPending; }));
        EXPECT_TRUE(all.ends[0]->disagreement().is_there);
        for (auto& end : all.ends) end->close();
        ASSERT_TRUE(all.run_until([&] {
            return std::ranges::all_of(all.ends, [](auto& end) { return end->is_closed(); });
        }));
        EXPECT_EQ(all.verbs.fault(), "");
    }
}

TEST(RcArrive, WithItselfAnEndIsConnectedAsWithOthers) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        Arriving all({.seed = seed});
        const std::vector<std::byte> out(3 * kMtuBytes, std::byte{7});
        std::vector<std::byte> in(out.size());
        std::array<Ticket, 2> tickets;
        all.ends[0]->recv(0, {}, in.data(), in.size(), tickets[0]);
        all.ends[0]->send(0, {}, out.data(), out.size(), tickets[1]);
        all.ends[0]->fetch_add(1, all.tickets[0]);
        ASSERT_TRUE(all.run_until([&] {
            return tickets[0].state != State::kPending && tickets[1].state != State::kPending;
        }));
        ASSERT_TRUE(all.run_all());
        EXPECT_EQ(in, out);
        EXPECT_EQ(all.tickets[0].state, State::kDone);
        EXPECT_EQ(all.verbs.fault(), "");
    }
}

// As many writes are under way as may be; it is posted once one is complete.
TEST(RcArrive, WaitsForItsTurn) {
    Arriving all({.seed = 3});
    std::vector<Ticket> sent(2 * kSends);
    std::vector<Ticket> heard(sent.size());
    for (size_t i = 0; i < sent.size(); ++i) {
        const MessageId id{.slot = static_cast<uint32_t>(i % kSlotsMax)};
        all.ends[0]->recv(1, id, nullptr, 0, heard[i]);
        all.ends[1]->send(0, id, nullptr, 0, sent[i]);
    }
    for (Rank rank = 0; rank < kRanks; ++rank) all.ends[rank]->fetch_add(1, all.tickets[rank]);
    ASSERT_TRUE(all.run_all());
    for (const Ticket& ticket : all.tickets) EXPECT_EQ(ticket.state, State::kDone);
    ASSERT_TRUE(all.run_until([&] {
        return std::ranges::all_of(heard, [](auto& one) { return one.state == State::kDone; });
    }));
}

TEST(RcArrive, WhoHasTheWordAndIsGoneIsNamed) {
    Arriving all({.seed = 4});
    all.verbs.cut(0);
    for (Rank rank = 1; rank < kRanks; ++rank) all.ends[rank]->fetch_add(1, all.tickets[rank]);
    ASSERT_TRUE(all.run_all());
    for (Rank rank = 1; rank < kRanks; ++rank) {
        EXPECT_EQ(all.tickets[rank].state, State::kFailed);
        EXPECT_EQ(all.ends[rank]->error(),
                  "RDMA to rank 0 failed: transport retry counter exceeded (status 12)");
    }
    all.ends[1]->fetch_add(1, all.tickets[1]);
    EXPECT_EQ(all.tickets[1].state, State::kFailed);
}

TEST(RcArrive, OneThatIsCalledOffIsHeardOfNoMore) {
    Arriving all({.seed = 5});
    all.ends[2]->fetch_add(1, all.tickets[2]);
    all.ends[2]->cancel(all.tickets[2]);
    EXPECT_EQ(all.tickets[2].state, State::kFailed);
    while (!all.verbs.is_idle()) all.turn();
    EXPECT_EQ(all.tickets[2].state, State::kFailed);
    all.ends[3]->fetch_add(1, all.tickets[3]);
    ASSERT_TRUE(all.run_all());
    EXPECT_EQ(all.tickets[3].number, 1u);
}

TEST(RcArrive, ThereIsNoWordWhereADeviceCannotAdd) {
    Arriving all({.seed = 6, .can_add = false});
    EXPECT_FALSE(all.ends[0]->is_counted_at(0));
    EXPECT_FALSE(all.ends[1]->is_counted_at(0));
    EXPECT_EQ(all.ends[1]->adders(), 0u);
}

}  // namespace
}  // namespace tutti::transport::verbs
