// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/pair_probes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"

namespace tutti::networks {
namespace {

using transport::MessageId;
using transport::Rank;
using transport::State;
using transport::Ticket;

constexpr Rank kOwn = 1;
constexpr size_t kBytes = 64;
constexpr uint64_t kNsMax = 1'000'000;

// Each look at it takes a microsecond.
struct TickingClock final : Clock {
    uint64_t now_ns() override { return now += 1000; }
    uint64_t now = 0;
};

struct FakeProcess final : Process {
    [[nodiscard]] const Settings& settings() const override { return of_all; }
    Clock& clock() override { return ticking; }
    [[nodiscard]] uint64_t member() const override { return 7; }
    void progress() const override { ++progressed; }

    Settings of_all;
    TickingClock ticking;
    mutable uint32_t progressed = 0;
};

// Peers that send what is asked of them, but for some.
struct FakeMessages final : transport::Transport {
    void send(Rank peer, const MessageId&, const std::byte* data, size_t bytes,
              Ticket& ticket) override {
        EXPECT_EQ(bytes, kBytes);
        EXPECT_TRUE(std::all_of(data, data + bytes,
                                [](std::byte one) { return one == std::byte{kOwn + 1}; }));
        to.insert(peer);
        ticket.state = cannot_send.contains(peer) ? State::kFailed : State::kPending;
    }
    void recv(Rank peer, const MessageId&, std::byte* data, size_t bytes, Ticket& ticket) override {
        from.insert(peer);
        ticket.state = State::kPending;
        ticket.handle = silent.contains(peer) ? &silent : nullptr;
        std::fill_n(data, bytes, static_cast<std::byte>(peer + 1));
        if (cut.contains(peer)) data[bytes - 1] = std::byte{0};
    }
    State test(Ticket& ticket) override {
        if (polls >= 3 && ticket.state == State::kPending && ticket.handle == nullptr) {
            ticket.state = State::kDone;
        }
        return ticket.state;
    }
    void poll() override { ++polls; }
    void cancel(Ticket& ticket) override { cancelled += ticket.state == State::kPending ? 1 : 0; }
    [[nodiscard]] std::string error() const override { return {}; }

    std::set<Rank> silent, cut, cannot_send;  // how peers are
    std::set<Rank> to, from;
    uint32_t polls = 0;
    uint32_t cancelled = 0;
};

struct PairProbesTest : testing::Test {
    void SetUp() override { probes.prepare(kOwn, peers, kBytes); }

    const std::vector<Rank> peers{0, 2, 5};
    FakeProcess process;
    FakeMessages messages;
    PairProbes probes;
};

TEST_F(PairProbesTest, AllAreGoodOnceTheirMessagesHaveComeAndGone) {
    EXPECT_EQ(probes.first_bad(), 0u) << "before they have run";
    probes.run(process, messages, kNsMax);
    EXPECT_EQ(probes.first_bad(), std::nullopt);
    EXPECT_EQ(messages.to, (std::set<Rank>{0, 2, 5}));
    EXPECT_EQ(messages.from, messages.to);
    EXPECT_EQ(messages.polls, 3u);
    EXPECT_EQ(process.progressed, 2u) << "between the looks";
    EXPECT_EQ(messages.cancelled, 0u);
}

TEST_F(PairProbesTest, APeerThatDoesNotAnswerIsWaitedForSoLong) {
    messages.silent = {2};
    probes.run(process, messages, kNsMax);
    EXPECT_EQ(probes.first_bad(), 2u);
    EXPECT_EQ(probes.first_bad(2), std::nullopt);
    EXPECT_TRUE(probes.is_good(0));
    EXPECT_FALSE(probes.is_good(1));
    EXPECT_GE(process.ticking.now, kNsMax);
    EXPECT_LE(process.ticking.now, kNsMax + 10'000);
    EXPECT_EQ(messages.cancelled, 1u) << "nothing is written any more";
}

TEST_F(PairProbesTest, OneThatFailsIsNotWaitedFor) {
    messages.cannot_send = {5};
    probes.run(process, messages, kNsMax);
    EXPECT_EQ(probes.first_bad(), 5u);
    EXPECT_EQ(messages.polls, 3u);
}

TEST_F(PairProbesTest, OneWhoseBytesAreWrongIsBad) {
    messages.cut = {0};
    probes.run(process, messages, kNsMax);
    EXPECT_EQ(probes.first_bad(), 0u);
    EXPECT_TRUE(probes.is_good(2));
}

TEST_F(PairProbesTest, OneThatIsLeftOutGetsNothing) {
    probes.leave_out(0);
    probes.run(process, messages, kNsMax);
    EXPECT_EQ(messages.to, (std::set<Rank>{2, 5}));
    EXPECT_EQ(messages.from, messages.to);
    EXPECT_FALSE(probes.is_good(0));
    EXPECT_EQ(probes.first_bad(1), std::nullopt);
}

}  // namespace
}  // namespace tutti::networks
