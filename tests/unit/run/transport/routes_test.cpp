// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/routes/routes.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace tutti::transport {
namespace {

// Says what it was asked, and answers as it is told.
class Recorder final : public Transport {
  public:
    explicit Recorder(std::string name) : name_(std::move(name)) {}
    void send(Rank peer, const MessageId&, const std::byte*, size_t, Ticket& ticket) override {
        asked.push_back("send " + std::to_string(peer));
        ticket.state = State::kPending;
    }
    void recv(Rank peer, const MessageId&, std::byte*, size_t, Ticket& ticket) override {
        asked.push_back("recv " + std::to_string(peer));
        ticket.state = State::kPending;
    }
    State test(Ticket& ticket) override { return ticket.state = answer; }
    void cancel(Ticket&) override { asked.emplace_back("cancel"); }
    State withdraw_receive(Rank, const MessageId&, const std::byte*, size_t, Ticket&) override {
        return answer;
    }
    void poll() override { asked.emplace_back("poll"); }
    Rank adders() const override { return 4; }
    void fetch_add(uint64_t amount, Ticket& ticket) override {
        asked.push_back("add " + std::to_string(amount));
        ticket.state = State::kPending;
    }
    int wait_fd() override { return fd; }
    bool arm() override { return fd >= 0; }
    void expose(std::span<std::byte>, Memory) override { asked.emplace_back("expose"); }
    void conceal(std::span<std::byte>) override { asked.emplace_back("conceal"); }
    [[nodiscard]] std::string error() const override { return name_; }
    [[nodiscard]] Disagreement disagreement() const override {
        return {true, false, static_cast<Rank>(name_.size()), {}};
    }

    State answer = State::kPending;
    int fd = -1;
    std::vector<std::string> asked;

  private:
    std::string name_;
};

using Asked = std::vector<std::string>;

struct RoutesTest : testing::Test {
    Recorder plain{"plain"};
    Recorder fast{"very fast"};
    Routes routes{plain};
    Ticket ticket;

    void SetUp() override { routes.reserve(4); }
    void send(Rank peer) { routes.send(peer, {}, nullptr, 0, ticket); }
    void recv(Rank peer) { routes.recv(peer, {}, nullptr, 0, ticket); }
};

TEST_F(RoutesTest, WithOneWayAllPeersGoIt) {
    send(3);
    recv(2);
    EXPECT_EQ(plain.asked, (Asked{"send 3", "recv 2"}));
}

TEST_F(RoutesTest, EachPeerHasItsWay) {
    const uint8_t way = routes.add(fast);
    routes.use(1, way);
    routes.use(2, way);
    routes.use(2, 0);  // and back
    for (const Rank peer : {0u, 1u, 2u}) {
        send(peer);
        recv(peer);
    }
    EXPECT_EQ(plain.asked, (Asked{"send 0", "recv 0", "send 2", "recv 2"}));
    EXPECT_EQ(fast.asked, (Asked{"send 1", "recv 1"}));
}

// A message stays on the way that it was posted on, whatever way later ones take.
TEST_F(RoutesTest, AMessageKeepsItsWay) {
    const uint8_t way = routes.add(fast);
    routes.use(1, way);
    recv(1);
    routes.use(1, 0);
    fast.answer = State::kDone;
    EXPECT_EQ(routes.test(ticket), State::kDone);
    recv(1);
    EXPECT_EQ(routes.test(ticket), State::kPending);
    routes.cancel(ticket);
    EXPECT_EQ(plain.asked, (Asked{"recv 1", "cancel"}));
}

TEST_F(RoutesTest, TheFirstFailureIsTold) {
    const uint8_t way = routes.add(fast);
    routes.use(1, way);
    Ticket other;
    routes.recv(0, {}, nullptr, 0, other);
    recv(1);
    plain.answer = fast.answer = State::kFailed;
    EXPECT_EQ(routes.test(ticket), State::kFailed);
    EXPECT_EQ(routes.test(other), State::kFailed);
    EXPECT_EQ(routes.error(), "very fast");
    EXPECT_EQ(routes.disagreement().peer, 9u);
}

// Unless a way is named, whatever ways have.
TEST_F(RoutesTest, TheWordOfAllIsOneWays) {
    EXPECT_EQ(routes.adders(), 0u);
    fast.fd = 7;
    routes.use_adders(routes.add(fast));
    EXPECT_EQ(routes.adders(), 4u);
    routes.fetch_add(5, ticket);
    EXPECT_EQ(fast.asked, Asked{"add 5"});
    EXPECT_EQ(routes.wait_fd(), 7);
    fast.answer = State::kDone;
    EXPECT_EQ(routes.test(ticket), State::kDone);
    EXPECT_TRUE(plain.asked.empty());
}

TEST_F(RoutesTest, AllWaysArePolledAndMayRegisterMemory) {
    routes.add(fast);
    std::array<std::byte, 8> memory{};
    routes.expose(memory, Memory::kScratch);
    routes.poll();
    routes.conceal(memory);
    EXPECT_EQ(plain.asked, (Asked{"expose", "poll", "conceal"}));
    EXPECT_EQ(fast.asked, plain.asked);
}

// As long as nothing is under way on another way.
TEST_F(RoutesTest, OneSleepsForTheWayThatHasAnFd) {
    EXPECT_EQ(routes.wait_fd(), -1);
    EXPECT_FALSE(routes.arm());
    fast.fd = 7;
    const uint8_t way = routes.add(fast);
    routes.use(1, way);
    send(1);
    EXPECT_EQ(routes.wait_fd(), 7);
    EXPECT_TRUE(routes.arm());
    Ticket others[4];
    for (Ticket& one : others) routes.recv(0, {}, nullptr, 0, one);
    EXPECT_EQ(routes.test(others[0]), State::kPending);
    EXPECT_EQ(routes.withdraw_receive(0, {}, nullptr, 0, others[1]), State::kPending);
    plain.answer = State::kDone;
    for (int again = 0; again < 2; ++again) routes.test(others[0]);
    EXPECT_EQ(routes.withdraw_receive(0, {}, nullptr, 0, others[1]), State::kDone);
    routes.cancel(others[2]);
    EXPECT_EQ(routes.wait_fd(), -1);
    plain.answer = State::kFailed;
    EXPECT_EQ(routes.test(others[3]), State::kFailed);
    EXPECT_EQ(routes.withdraw_receive(0, {}, nullptr, 0, others[3]), State::kFailed);
    EXPECT_EQ(routes.wait_fd(), 7);
    fast.fd = -1;  // it can no more
    EXPECT_EQ(routes.wait_fd(), -1);
}

}  // namespace
}  // namespace tutti::transport
