// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads, each with its own end over shared callbacks.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <thread>
#include <vector>

#include "base/prng.h"
#include "conformance/mailbox.h"
#include "run/transport/p2p/p2p.h"

namespace tutti::test {
namespace {

using transport::P2p;
using transport::Rank;
using transport::State;
using transport::Ticket;

constexpr uint32_t kRanks = 4;
constexpr uint32_t kRounds = 300;
constexpr size_t kWords = 64;
using Words = std::array<std::array<uint64_t, kWords>, kRanks>;

uint64_t word_of(Rank from, Rank to, uint32_t round, size_t i) {
    return Prng(uint64_t{from} << 48 | uint64_t{to} << 32 | round << 8 | i).next();
}

bool is_right(const Words& in, Rank self, uint32_t round) {
    for (Rank peer = 0; peer < kRanks; ++peer) {
        for (size_t i = 0; i < kWords && peer != self; ++i) {
            if (in[peer][i] != word_of(peer, self, round, i)) return false;
        }
    }
    return true;
}

// In every round everybody sends to everybody; a rank goes on when its own messages are complete.
bool exchange(P2p& end, Rank self) {
    Words out{};
    Words in{};
    for (uint32_t round = 0; round < kRounds; ++round) {
        std::array<Ticket, 2 * kRanks> tickets;
        for (Rank peer = 0; peer < kRanks; ++peer) {
            if (peer == self) continue;
            for (size_t i = 0; i < kWords; ++i) out[peer][i] = word_of(self, peer, round, i);
            const transport::MessageId id{round, 0, round % transport::kSlotsMax, 0};
            const auto* data = reinterpret_cast<const std::byte*>(out[peer].data());
            auto* room = reinterpret_cast<std::byte*>(in[peer].data());
            end.send(peer, id, data, sizeof(out[peer]), tickets[2 * peer]);
            end.recv(peer, id, room, sizeof(in[peer]), tickets[2 * peer + 1]);
        }
        for (Ticket& ticket : tickets) {
            while (end.test(ticket) == State::kPending) std::this_thread::yield();
            if (ticket.state != State::kDone) return false;
        }
        if (!is_right(in, self, round)) return false;
    }
    return true;
}

TEST(P2pThreads, EverybodyToEverybody) {
    Mailbox mailbox(kRanks);
    std::array<bool, kRanks> results{};
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < kRanks; ++rank) {
        threads.emplace_back([&, rank] {
            P2p end(mailbox.callbacks(rank), 0);
            results[rank] = exchange(end, rank);
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const bool result : results) EXPECT_TRUE(result);
    EXPECT_EQ(mailbox.under_way(), 0u);
}

}  // namespace
}  // namespace tutti::test
