// SPDX-License-Identifier: BSD-3-Clause
// What becomes of messages whose peer is gone, or that are taken back. Bytes in order are the
// conformance suite's.
#include "run/networks/loopback/stream_messages.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <optional>
#include <vector>

namespace tutti::networks::loopback {
namespace {

using transport::MessageId;
using transport::State;
using transport::Ticket;

constexpr MessageId kFirst{1, 0, 0, 0, {1, 0, 0}, false};
constexpr MessageId kSecond{1, 0, 0, 1, {1, 0, 0}, false};

// Rank 2's end, whose peer is rank 3, and the other end of its socket.
struct StreamMessagesTest : testing::Test {
    void SetUp() override {
        int pair[2];
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        std::vector<Fd> sockets;
        sockets.emplace_back(pair[0]);
        own.emplace(std::vector<transport::Rank>{3}, std::move(sockets));
        other_socket = Fd(pair[1]);
    }
    // The peer, as one.
    void join() {
        std::vector<Fd> sockets;
        sockets.push_back(std::move(other_socket));
        other.emplace(std::vector<transport::Rank>{2}, std::move(sockets));
    }
    bool wakes() {
        pollfd one{own->wait_fd(), POLLIN, 0};
        return ::poll(&one, 1, 0) == 1;
    }

    std::optional<StreamMessages> own;
    std::optional<StreamMessages> other;
    Fd other_socket;
    Ticket ticket;
    Ticket later;
    std::vector<std::byte> in = std::vector<std::byte>(8);
};

TEST_F(StreamMessagesTest, AReceiveFailsWhosePeerIsGone) {
    own->recv(3, kFirst, in.data(), in.size(), ticket);
    EXPECT_EQ(own->test(ticket), State::kPending);
    other_socket = Fd();
    EXPECT_EQ(own->test(ticket), State::kFailed);
    EXPECT_EQ(own->error(), "rank 3 is gone");
}

// Also where this end finds out as it sends.
TEST_F(StreamMessagesTest, WhatCameBeforeTheEndIsThere) {
    join();
    const std::vector<std::byte> out(8, std::byte{7});
    other->send(2, kFirst, out.data(), out.size(), ticket);
    other.reset();
    Ticket received;
    own->recv(3, kFirst, in.data(), in.size(), received);
    own->send(3, kSecond, out.data(), out.size(), later);
    EXPECT_EQ(own->test(received), State::kDone);
    EXPECT_EQ(in, out);
    EXPECT_EQ(own->test(later), State::kFailed);
}

TEST_F(StreamMessagesTest, TheRestOfACancelledReceiveIsThrownAway) {
    join();
    const std::vector<std::byte> out(1 << 20, std::byte{7});
    std::vector<std::byte> much(out.size());
    Ticket received;
    own->recv(3, kFirst, much.data(), much.size(), received);
    other->send(2, kFirst, out.data(), out.size(), ticket);
    EXPECT_EQ(own->test(received), State::kPending);  // some of it
    own->cancel(received);
    const std::vector<std::byte> as_it_was = much;
    const std::vector<std::byte> short_one(8, std::byte{9});
    other->send(2, kSecond, short_one.data(), short_one.size(), later);
    Ticket next;
    own->recv(3, kSecond, in.data(), in.size(), next);
    while (own->test(next) == State::kPending) other->poll();
    EXPECT_EQ(own->test(next), State::kDone);
    EXPECT_EQ(in, short_one);
    EXPECT_EQ(much, as_it_was);
}

TEST_F(StreamMessagesTest, WhoSendsNonsenseIsLost) {
    const std::vector<std::byte> nonsense(200, std::byte{0xff});
    own->recv(3, kFirst, in.data(), in.size(), ticket);
    ASSERT_EQ(::send(other_socket.get(), nonsense.data(), nonsense.size(), 0), 200);
    EXPECT_EQ(own->test(ticket), State::kFailed);
    EXPECT_EQ(own->error(), "rank 3 is gone");
}

// A socket that has room would wake it at once.
TEST_F(StreamMessagesTest, NothingWakesASleeperForASendThatWasCancelled) {
    const std::vector<std::byte> out(4 << 20);
    own->send(3, kFirst, out.data(), out.size(), ticket);
    own->send(3, kSecond, out.data(), out.size(), later);
    ASSERT_EQ(own->test(later), State::kPending);
    own->cancel(later);
    join();
    std::vector<std::byte> much(out.size());
    Ticket received;
    other->recv(2, kFirst, much.data(), much.size(), received);
    while (other->test(received) == State::kPending) own->poll();
    EXPECT_EQ(own->test(ticket), State::kDone);
    EXPECT_FALSE(wakes());
}

TEST_F(StreamMessagesTest, BothEndsCloseWhoeverIsFirst) {
    join();
    EXPECT_FALSE(own->close());
    EXPECT_TRUE(other->close());
    EXPECT_TRUE(own->close());
    EXPECT_EQ(own->error(), "");
}

}  // namespace
}  // namespace tutti::networks::loopback
