// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/faulty/faulty.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::transport {
namespace {

// Notes what is posted; all of it is complete at once.
class Notes final : public Transport {
  public:
    void send(Rank peer, const MessageId& id, const std::byte*, size_t, Ticket& ticket) override {
        posts.push_back(100 * peer + 10 * id.slot + id.message);
        ticket.state = State::kDone;
    }
    void recv(Rank peer, const MessageId& id, std::byte*, size_t, Ticket& ticket) override {
        send(peer, id, nullptr, 0, ticket);
    }
    State test(Ticket& ticket) override { return ticket.state; }
    [[nodiscard]] std::string error() const override { return "inner"; }
    std::vector<uint32_t> posts;
};

TEST(Faulty, PassesOnWithoutFaults) {
    Notes notes;
    Faulty faulty(notes, {});
    Ticket ticket;
    faulty.send(1, {0, 0, 2, 3}, nullptr, 0, ticket);
    EXPECT_EQ(ticket.state, State::kDone);
    EXPECT_EQ(notes.posts, std::vector<uint32_t>{123});
    EXPECT_EQ(faulty.held(), 0u);
    EXPECT_EQ(faulty.error(), "inner");
}

// 4 slots of 8 messages: slots change places, messages of a slot do not.
TEST(Faulty, ReordersSlotsOnly) {
    Notes notes;
    Faulty faulty(notes, {.seed = 3, .hold_tests_max = 10});
    std::vector<Ticket> tickets(32);
    for (uint32_t i = 0; i < 32; ++i) {
        faulty.send(0, {0, 0, i % 4, i / 4}, nullptr, 0, tickets[i]);
    }
    EXPECT_GT(faulty.held(), 0u);
    for (int i = 0; i < 10; ++i) faulty.test(tickets[0]);
    EXPECT_EQ(faulty.held(), 0u);
    ASSERT_EQ(notes.posts.size(), 32u);
    std::vector<uint32_t> next(4, 0);
    bool is_reordered = false;
    for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t slot = notes.posts[i] / 10;
        EXPECT_EQ(notes.posts[i] % 10, next[slot]++);
        is_reordered = is_reordered || slot != i % 4;
    }
    EXPECT_TRUE(is_reordered);
}

TEST(Faulty, WhatIsSetAsideDoesNotGo) {
    Notes notes;
    Faulty faulty(notes, {.seed = 3, .hold_tests_max = 10});
    std::vector<Ticket> tickets(8);
    for (uint32_t i = 0; i < 8; ++i) faulty.recv(0, {0, 0, i, 0}, nullptr, 0, tickets[i]);
    const uint32_t held = faulty.held();
    ASSERT_GT(held, 0u);
    uint32_t set = 0;
    for (uint32_t i = 0; i < 8; ++i) {
        set += faulty.withdraw_receive(0, {0, 0, i, 0}, nullptr, 0, tickets[i]) == State::kDone ? 1
                                                                                                : 0;
    }
    EXPECT_EQ(set, held) << "others are the inner transport's, which withdraws nothing";
    EXPECT_EQ(faulty.held(), 0u);
    for (int i = 0; i < 10; ++i) faulty.test(tickets[0]);
    EXPECT_EQ(notes.posts.size(), 8 - held);
}

TEST(Faulty, WhatIsCancelledDoesNotGo) {
    Notes notes;
    Faulty faulty(notes, {.seed = 3, .hold_tests_max = 10});
    std::vector<Ticket> tickets(8);
    for (uint32_t i = 0; i < 8; ++i) faulty.recv(0, {0, 0, i, 0}, nullptr, 0, tickets[i]);
    const uint32_t held = faulty.held();
    ASSERT_GT(held, 0u);
    for (Ticket& ticket : tickets) faulty.cancel(ticket);
    EXPECT_EQ(faulty.held(), 0u);
    for (int i = 0; i < 10; ++i) faulty.test(tickets[0]);
    EXPECT_EQ(notes.posts.size(), 8 - held);
}

TEST(Faulty, HoldsSoManyAndNoMore) {
    Notes notes;
    Faulty faulty(notes, {.seed = 3, .hold_tests_max = 1'000'000});
    std::vector<Ticket> tickets(200);
    for (uint32_t i = 0; i < 200; ++i) faulty.recv(i, {}, nullptr, 0, tickets[i]);
    EXPECT_LE(faulty.held(), 64u);
    EXPECT_EQ(notes.posts.size(), 200 - faulty.held());
}

TEST(Faulty, FailsWhereAsked) {
    Notes notes;
    Faulty faulty(notes, {.seed = 9, .fail_at_post = 2});
    std::vector<Ticket> tickets(3);
    for (Ticket& ticket : tickets) faulty.send(0, {}, nullptr, 0, ticket);
    EXPECT_EQ(faulty.test(tickets[0]), State::kDone);
    EXPECT_EQ(faulty.test(tickets[1]), State::kFailed);
    EXPECT_EQ(faulty.test(tickets[2]), State::kFailed) << "and everything after it";
    EXPECT_EQ(notes.posts.size(), 1u);
    EXPECT_EQ(faulty.error(), "post 2 fails on purpose, seed 9");
}

}  // namespace
}  // namespace tutti::transport
