// SPDX-License-Identifier: BSD-3-Clause
// Pieces that come without immediates, on devices that keep the promise on which that rests, and on
// one that does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>

#include "base/prng.h"
#include "conformance/first_team.h"
#include "run/transport/verbs/rc.h"
#include "sim/seeds.h"
#include "unit/run/transport/verbs/ends.h"

namespace tutti::transport::verbs {
namespace {

constexpr size_t kDirectBytes = 4096;
constexpr std::array<bool, 2> kBoth = {true, true};

// Both ends look in memory, or one does. More pieces than there are numbers before they roll over.
void run_tails_seed(uint64_t seed) {
    Prng prng(seed);
    const test::FakeRules rules{.seed = seed,
                                .delay_ns_max = 1 + prng.below(20'000),
                                .mtu_bytes = kMtuBytes << seed / 4 % 3,
                                .ends_last = true};
    const std::array<bool, 2> polls = {seed % 3 != 1, seed % 3 != 2};
    Ends ends(rules, seed % 2 == 0 ? kDirectBytes : 0, polls);
    const auto bytes = [&] {
        const uint64_t kind = prng.below(8);
        if (kind == 0) return prng.below(80'000);
        if (kind == 1) return prng.below(6000);
        return kind == 2 ? kMtuBytes - sizeof(SlotHeader) : prng.below(1500);
    };
    write_letters(ends, prng, 150, bytes, 20);
}

TEST(Tails, Seeds) { test::for_each_seed(400, run_tails_seed); }

// Whether all letters come as they were sent, from a device that places ends when it likes.
bool is_right_without_the_promise(uint64_t seed) {
    Prng prng(seed);
    Ends ends({.seed = seed}, 0, kBoth);
    std::deque<Letter> letters;
    for (int i = 0; i < 20; ++i) {
        Letter& letter = write(letters, prng, 0, 0, 500);
        recv(ends, letter);
        send(ends, letter);
        ends.run_until([&] { return letter.recv.state != State::kPending; });
        if (letter.recv.state != State::kDone || letter.got != letter.sent) return false;
    }
    return true;
}

TEST(Tails, ADeviceThatBreaksThePromiseIsFound) {
    uint64_t seed = 1;
    while (seed <= 100 && is_right_without_the_promise(seed)) ++seed;
    EXPECT_LE(seed, 100u);
}

// 400 messages of no bytes each way, in turn.
Counts counts_of_turns(const std::array<bool, 2>& polls) {
    Ends ends({.ends_last = true}, 0, polls);
    std::deque<Letter> letters;
    Prng prng(1);
    for (int i = 0; i < 400; ++i) {
        for (const Rank from : {0u, 1u}) {
            Letter& letter = write(letters, prng, from, 0, 0);
            recv(ends, letter);
            send(ends, letter);
            EXPECT_TRUE(ends.run_until([&] { return is_over(letter); }));
        }
        letters.clear();
    }
    while (!ends.verbs.is_idle()) ends.turn();
    return counts_of(ends.verbs);
}

// A write each, and by immediates a receive and its completion. Every eighth write is signaled.
TEST(Tails, AShortMessageIsOneWriteAndNoCompletion) {
    EXPECT_EQ(counts_of_turns({}), (Counts{800, 800, 900}));
    EXPECT_EQ(counts_of_turns(kBoth), (Counts{800, 0, 100}));
    EXPECT_EQ(counts_of_turns({true, false}), (Counts{800, 400, 500}));
}

// All connected with all.
class Eight : public Ranks {
  public:
    explicit Eight(bool polls_tails) : Ranks(kRanks, {.ends_last = polls_tails}) {
        for (Rank rank = 0; rank < kRanks; ++rank) {
            std::vector<Rank> peers;
            for (Rank peer = 0; peer < kRanks; ++peer) {
                if (peer != rank) peers.push_back(peer);
            }
            add(peers, 0, polls_tails);
        }
        connect_all();
    }
    // By dissemination.
    void barrier() {
        for (uint32_t step = 1; step < kRanks; step *= 2) {
            std::array<Ticket, kRanks> sent;
            std::array<Ticket, kRanks> received;
            for (Rank rank = 0; rank < kRanks; ++rank) {
                const Rank from = (rank + kRanks - step) % kRanks;
                ends[rank]->recv(from, {}, nullptr, 0, received[rank]);
                ends[rank]->send((rank + step) % kRanks, {}, nullptr, 0, sent[rank]);
            }
            const auto is_done = [](const Ticket& one) { return one.state == State::kDone; };
            while (!std::ranges::all_of(received, is_done)) turn();
            EXPECT_TRUE(std::ranges::all_of(sent, is_done));
        }
    }
    Counts counts() {
        while (!verbs.is_idle()) turn();
        return counts_of(verbs);
    }

  private:
    static constexpr Rank kRanks = 8;
};

// A rank sends three messages a barrier, of which two go where nothing comes from: there a word
// tells of ten slots, or of six. Every eighth write to a peer is signaled.
TEST(Tails, WhatABarrierOfEightRanksTakes) {
    constexpr uint64_t kBarriers = 120;
    constexpr uint64_t kSent = 8 * 3 * kBarriers;
    for (const bool polls_tails : {false, true}) {
        Eight eight(polls_tails);
        for (uint64_t i = 0; i < kBarriers; ++i) eight.barrier();
        const uint64_t words = 8 * 2 * (kBarriers / (polls_tails ? 6 : 10));
        const uint64_t recvs = polls_tails ? words : kSent + words;
        const uint64_t words_back = kBarriers / (polls_tails ? 6 : 10) / 8;
        const uint64_t signaled = 8 * (3 * (kBarriers / 8) + 2 * words_back);
        EXPECT_EQ(eight.counts(), (Counts{kSent + words, recvs, recvs + signaled}));
    }
}

// One way, where nothing goes back, slots are given back by words in time for the next piece.
TEST(Tails, OneWayAWordEachSixMessages) {
    Ends ends({.ends_last = true}, 0, kBoth);
    std::deque<Letter> letters;
    Prng prng(2);
    for (int i = 0; i < 600; ++i) {
        Letter& letter = write(letters, prng, 0, 0, 8);
        recv(ends, letter);
        send(ends, letter);
        ASSERT_TRUE(ends.run_until([&] { return is_over(letter); }));
        while (!ends.verbs.is_idle()) ends.turn();
        letters.clear();
    }
    EXPECT_EQ(ends.verbs.writes(), 700u);
    EXPECT_EQ(ends.verbs.recvs(), 100u) << "of the words";
}

// What nobody waits for stays in memory; an immediate behind it brings it all.
TEST(Tails, WhatOneEndSentComesThoughItIsGone) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        Ends ends({.seed = seed, .ends_last = true}, 0, kBoth);
        std::deque<Letter> letters;
        Prng prng(seed);
        for (uint32_t i = 0; i < 14; ++i) send(ends, write(letters, prng, 0, i, 300));
        ends.ends[0]->close();
        ASSERT_TRUE(ends.run_until([&] { return ends.ends[0]->has_left(); }));
        for (int i = 0; i < 1000; ++i) ends.turn();
        ends.ends[0].reset();
        for (Letter& letter : letters) {
            recv(ends, letter);
            ASSERT_TRUE(ends.run_until([&] { return is_over(letter); }));
            EXPECT_EQ(letter.got, letter.sent);
        }
    }
}

// Nobody is woken by what comes without a completion, so nobody sleeps for it.
TEST(Tails, WhoLooksInMemoryDoesNotSleep) {
    test::FakeVerbs verbs(1, {});
    Need need = need_of(1, kMtuBytes);
    need.may_sleep = true;
    const auto end = test::make_first(std::move(verbs.device(0).make_endpoint(need).value()), verbs,
                                      kMtuBytes, {1}, 0, true);
    EXPECT_EQ(end->wait_fd(), -1);
    EXPECT_FALSE(end->arm());
}

}  // namespace
}  // namespace tutti::transport::verbs
