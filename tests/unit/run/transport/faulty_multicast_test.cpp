// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/faulty/faulty_multicast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tutti::transport {
namespace {

// Notes what is posted: number, and sender of a receive or 1000; all of it is complete at once.
class Notes final : public Multicast {
  public:
    struct Post {
        uint64_t number;
        Rank sender;
        size_t bytes;
        bool operator==(const Post&) const = default;
    };
    void multicast(uint64_t number, const std::byte*, size_t bytes, Ticket& ticket) override {
        posts.push_back({number, 1000, bytes});
        ticket.state = State::kDone;
    }
    void recv_multicast(uint64_t number, Rank sender, std::byte*, size_t bytes,
                        Ticket& ticket) override {
        posts.push_back({number, sender, bytes});
        ticket.state = State::kDone;
    }
    State test(Ticket& ticket) override { return ticket.state; }
    void call_off() override { ++call_offs; }
    [[nodiscard]] std::string error() const override { return "inner"; }
    std::vector<Post> posts;
    uint32_t call_offs = 0;
};

TEST(FaultyMulticast, PassesOnWithoutFaults) {
    Notes notes;
    FaultyMulticast faulty(notes, {});
    Ticket ticket;
    faulty.multicast(0, nullptr, 7, ticket);
    EXPECT_EQ(ticket.state, State::kDone);
    faulty.recv_multicast(1, 3, nullptr, 9, ticket);
    EXPECT_EQ(notes.posts, (std::vector<Notes::Post>{{0, 1000, 7}, {1, 3, 9}}));
    EXPECT_EQ(faulty.held(), 0u);
    EXPECT_EQ(faulty.error(), "inner");
}

// Late, but in order and each once.
TEST(FaultyMulticast, HoldsInOrder) {
    Notes notes;
    FaultyMulticast faulty(notes, {.seed = 4, .hold_tests_max = 10});
    std::vector<Ticket> tickets(200);
    uint32_t held_max = 0;
    for (uint32_t i = 0; i < tickets.size(); ++i) {
        faulty.recv_multicast(i, i % 7, nullptr, i, tickets[i]);
        held_max = std::max(held_max, faulty.held());
        // As a caller that has so many under way.
        while (i >= 20 && faulty.test(tickets[i - 20]) == State::kPending) {
        }
        EXPECT_LE(notes.posts.size(), i + 1);
    }
    EXPECT_GT(held_max, 3u);
    for (Ticket& ticket : tickets) {
        while (faulty.test(ticket) == State::kPending) {
        }
    }
    EXPECT_EQ(faulty.held(), 0u);
    ASSERT_EQ(notes.posts.size(), tickets.size());
    for (uint32_t i = 0; i < tickets.size(); ++i) {
        EXPECT_EQ(notes.posts[i], (Notes::Post{i, i % 7, i}));
    }
}

TEST(FaultyMulticast, CallsOffWhatItHolds) {
    Notes notes;
    FaultyMulticast faulty(notes, {.seed = 4, .hold_tests_max = 10});
    std::vector<Ticket> tickets(20);
    for (uint32_t i = 0; i < tickets.size(); ++i) {
        faulty.recv_multicast(i, 1, nullptr, i, tickets[i]);
    }
    ASSERT_GT(faulty.held(), 0u);
    faulty.call_off();
    EXPECT_EQ(faulty.held(), 0u);
    EXPECT_EQ(notes.call_offs, 1u);
}

TEST(FaultyMulticast, FailsWhereAsked) {
    Notes notes;
    FaultyMulticast faulty(notes, {.seed = 9, .fail_at_post = 2});
    std::vector<Ticket> tickets(3);
    for (uint32_t i = 0; i < 3; ++i) faulty.multicast(i, nullptr, 0, tickets[i]);
    EXPECT_EQ(faulty.test(tickets[0]), State::kDone);
    EXPECT_EQ(faulty.test(tickets[1]), State::kFailed);
    EXPECT_EQ(faulty.test(tickets[2]), State::kFailed) << "and everything after it";
    EXPECT_EQ(notes.posts.size(), 1u);
    EXPECT_EQ(faulty.error(), "multicast post 2 fails on purpose, seed 9");
}

}  // namespace
}  // namespace tutti::transport
