// SPDX-License-Identifier: BSD-3-Clause
// What the conformance suite does not ask of every transport: seeds, failures, the end of a team.
#include "run/transport/verbs/rc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/prng.h"
#include "sim/seeds.h"
#include "unit/run/transport/verbs/ends.h"

namespace tutti::transport::verbs {
namespace {

constexpr size_t kMost = kPieceSlots * kSlotBytes - sizeof(SlotHeader);
constexpr std::array<size_t, 12> kEdges = {0,
                                           1,
                                           kMtuBytes - sizeof(SlotHeader) - 1,
                                           kMtuBytes - sizeof(SlotHeader),
                                           kMtuBytes - sizeof(SlotHeader) + 1,
                                           kMtuBytes,
                                           kSlotBytes - sizeof(SlotHeader),
                                           kSlotBytes - sizeof(SlotHeader) + 1,
                                           kSlotBytes,
                                           kMost,
                                           kMost + 1,
                                           160'000};

// Whatever the device may do.
void run_seed(uint64_t seed) {
    Prng prng(seed);
    Ends ends(
        {.seed = seed, .delay_ns_max = 1 + prng.below(20'000), .mtu_bytes = 1024u << seed % 3});
    const auto bytes = [&] {
        return prng.below(2) == 0 ? kEdges[prng.below(kEdges.size())] : prng.below(6000);
    };
    write_letters(ends, prng, 120, bytes, 20);
}

TEST(Rc, Seeds) { test::for_each_seed(1000, run_seed); }

// A barrier's message is one write, nothing else; and so is one of up to five slots.
TEST(Rc, AShortMessageIsOneWrite) {
    for (const size_t bytes : {size_t{0}, size_t{1000}, size_t{4096}, kMost}) {
        Ends ends({});
        std::deque<Letter> letters;
        Prng prng(1);
        for (int i = 0; i < 400; ++i) {
            for (const Rank from : {0u, 1u}) {
                Letter& letter = write(letters, prng, from, 0, bytes);
                recv(ends, letter);
                send(ends, letter);
            }
            ASSERT_TRUE(ends.run_until([&] { return std::ranges::all_of(letters, is_over); }));
            letters.clear();
            while (!ends.verbs.is_idle()) ends.turn();  // all is known to be complete
        }
        EXPECT_EQ(ends.verbs.writes(), 800u) << bytes;
    }
}

// Ten messages of 64 KiB in turn, one way or both at once.
Counts counts_of_64_kib(uint32_t senders, const std::array<bool, 2>& polls_tails) {
    Ends ends({.ends_last = true}, 0, polls_tails);
    Prng prng(3);
    for (uint32_t i = 0; i < 10; ++i) {
        std::deque<Letter> letters;
        for (Rank from = 0; from < senders; ++from) write(letters, prng, from, 0, 64u << 10);
        for (Letter& letter : letters) recv(ends, letter);
        for (Letter& letter : letters) send(ends, letter);
        EXPECT_TRUE(ends.run_until([&] { return std::ranges::all_of(letters, is_over); }));
        for (const Letter& letter : letters) EXPECT_EQ(letter.got, letter.sent);
        while (!ends.verbs.is_idle()) ends.turn();
    }
    EXPECT_EQ(ends.verbs.fault(), "");
    return counts_of(ends.verbs);
}

// By packets of 1,024 bytes it would be 67 pieces a message. One way a word goes back for
// some ten slots.
TEST(Rc, ALongerMessageTakesFewWrites) {
    EXPECT_EQ(counts_of_64_kib(1, {}), (Counts{73, 73, 101}));
    EXPECT_EQ(counts_of_64_kib(2, {}), (Counts{114, 114, 190}));
    EXPECT_EQ(counts_of_64_kib(1, {true, true}), (Counts{102, 102, 140}));
    EXPECT_EQ(counts_of_64_kib(2, {true, true}), (Counts{160, 160, 239}));
}

TEST(Rc, WhatOneEndSentComesThoughItIsGone) {
    Ends ends({});
    std::deque<Letter> letters;
    Prng prng(2);
    Letter& letter = write(letters, prng, 0, 3, 20'000);
    send(ends, letter);
    ASSERT_EQ(letter.send.state, State::kDone);
    ends.ends[0]->close();
    ASSERT_TRUE(ends.run_until([&] { return ends.ends[0]->has_left(); }));
    EXPECT_FALSE(ends.ends[0]->is_closed());
    ends.ends[0].reset();
    recv(ends, letter);
    ASSERT_TRUE(ends.run_until([&] { return is_over(letter); }));
    EXPECT_EQ(letter.got, letter.sent);
}

// Nor where the other end has noticed meanwhile.
TEST(Rc, WhatOneEndSentComesThoughAWriteToItHasFailed) {
    Ends ends({});
    std::deque<Letter> letters;
    Prng prng(8);
    for (uint32_t i = 0; i < 14; ++i) send(ends, write(letters, prng, 0, i, 300));
    ends.ends[0]->close();
    ASSERT_TRUE(ends.run_until([&] { return ends.ends[0]->has_left(); }));
    for (int i = 0; i < 1000; ++i) ends.turn();
    ends.ends[0].reset();
    Letter& answer = write(letters, prng, 1, 0, 10);
    send(ends, answer);
    for (int i = 0; i < 1000; ++i) ends.turn();
    Letter& refused = write(letters, prng, 1, 0, 10);
    send(ends, refused);
    EXPECT_EQ(refused.send.state, State::kFailed);
    for (uint32_t i = 0; i < 14; ++i) {
        recv(ends, letters[i]);
        EXPECT_TRUE(is_over(letters[i])) << i;
        EXPECT_EQ(letters[i].got, letters[i].sent);
    }
    Letter& never = write(letters, prng, 0, 3, 10);
    recv(ends, never);
    EXPECT_EQ(never.recv.state, State::kFailed);
    EXPECT_EQ(ends.ends[1]->error(), "RDMA to rank 0 failed: that end has left");
}

// At the end of a program the last one finds nobody who would acknowledge what it sends, and does
// not wait for that.
TEST(Rc, WhoLeavesLastWaitsForNobody) {
    Ends ends({});
    ends.ends[0]->close();
    ASSERT_TRUE(ends.run_until([&] { return ends.ends[0]->has_left(); }));
    ends.ends[0].reset();
    const uint64_t begin_ns = ends.verbs.now_ns();
    ends.ends[1]->close();
    ASSERT_TRUE(ends.run_until([&] { return ends.ends[1]->has_left(); }));
    constexpr uint64_t kRetriesNs = 500'000'000;
    EXPECT_LT(ends.verbs.now_ns() - begin_ns, kRetriesNs);
    EXPECT_FALSE(ends.ends[1]->is_closed());
}

// Half a message is none, and those behind it come.
TEST(Rc, ASendThatIsGivenUpFailsItsReceive) {
    Ends ends({});
    std::deque<Letter> letters;
    Prng prng(9);
    Letter& letter = write(letters, prng, 0, 1, 120'000);
    send(ends, letter);
    ASSERT_EQ(letter.send.state, State::kPending);
    ends.ends[0]->cancel(letter.send);
    Letter& next = write(letters, prng, 0, 1, 3000);
    send(ends, next);
    recv(ends, letter);
    recv(ends, next);
    ASSERT_TRUE(ends.run_until([&] { return is_over(next); }));
    EXPECT_EQ(letter.recv.state, State::kFailed);
    EXPECT_EQ(next.got, next.sent);
    EXPECT_EQ(ends.ends[1]->error(), "RDMA to rank 0 failed: that end gave up a message");
    EXPECT_EQ(ends.verbs.fault(), "");
}

TEST(Rc, AnEndClosesThoughNobodyReadsWhatItGaveUp) {
    Ends ends({});
    std::deque<Letter> letters;
    Prng prng(10);
    for (const Rank from : {0u, 1u}) {
        Letter& letter = write(letters, prng, from, 1, 120'000);
        send(ends, letter);
        ends.ends[from]->cancel(letter.send);
    }
    for (auto& end : ends.ends) end->close();
    EXPECT_TRUE(
        ends.run_until([&] { return ends.ends[0]->is_closed() && ends.ends[1]->is_closed(); }));
}

// It waits for a message, and sends none itself.
TEST(Rc, APeerThatIsGoneIsNoticedAndNamed) {
    Ends ends({});
    std::deque<Letter> letters;
    Prng prng(3);
    Letter& letter = write(letters, prng, 0, 3, 50);
    recv(ends, letter);
    ends.verbs.cut(0);
    ASSERT_TRUE(ends.run_until([&] { return letter.recv.state != State::kPending; }));
    EXPECT_EQ(letter.recv.state, State::kFailed);
    EXPECT_EQ(ends.ends[1]->error(),
              "RDMA to rank 0 failed: transport retry counter exceeded (status 12)");
    Letter& later = write(letters, prng, 1, 0, 5);
    send(ends, later);
    EXPECT_EQ(later.send.state, State::kFailed);
}

// Of a message of longer pieces, cut at whatever moment, nobody is told that it is there who has
// not all of it; and both ends say why.
TEST(Rc, ALongMessageThatIsCutOffFailsOrIsThere) {
    const test::Seeds seeds = test::Seeds::wanted(1000);
    uint32_t whole = 0;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SCOPED_TRACE(test::replay(seed));
        Prng prng(seed);
        Ends ends({.seed = seed});
        std::deque<Letter> letters;
        for (const Rank from : {0u, 1u}) {
            Letter& letter = write(letters, prng, from, 1, 40'000 + prng.below(80'000));
            recv(ends, letter);
            send(ends, letter);
        }
        for (uint64_t turns = prng.below(80); turns > 0; --turns) ends.turn();
        ends.verbs.cut(0);
        ASSERT_TRUE(ends.run_until([&] {
            return std::ranges::none_of(letters, [](const Letter& one) {
                return one.recv.state == State::kPending || one.send.state == State::kPending;
            });
        }));
        for (const Letter& letter : letters) {
            if (letter.recv.state == State::kFailed) {
                EXPECT_EQ(ends.ends[1 - letter.from]->error(),
                          "RDMA to rank " + std::to_string(letter.from) +
                              " failed: transport retry counter exceeded (status 12)");
                continue;
            }
            ++whole;
            EXPECT_EQ(letter.got, letter.sent);
        }
        EXPECT_EQ(ends.verbs.fault(), "");
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_TRUE(seeds.count < 100 || (whole > 0 && whole < 2 * seeds.count)) << whole;
}

TEST(Rc, AnOverrunQueueIsAFailure) {
    Ends ends({.cq_entries = 4});
    std::deque<Letter> letters;
    Prng prng(4);
    for (int i = 0; i < 40; ++i) send(ends, write(letters, prng, 0, 1, 10));
    for (int i = 0; i < 400; ++i) ends.verbs.pump();
    Letter& letter = write(letters, prng, 0, 2, 10);
    recv(ends, letter);
    ASSERT_TRUE(ends.run_until([&] { return letter.recv.state != State::kPending; }));
    EXPECT_NE(ends.ends[1]->error().find("overrun"), std::string::npos);
}

TEST(Rc, AnotherCallIsADisagreement) {
    Ends ends({});
    std::deque<Letter> letters;
    Prng prng(5);
    Letter& letter = write(letters, prng, 0, 1, 2000);
    send(ends, letter);
    const MessageId sent = letter.id;
    letter.id.word.call ^= 1;
    recv(ends, letter);
    ASSERT_TRUE(ends.run_until([&] { return letter.recv.state != State::kPending; }));
    EXPECT_EQ(letter.recv.state, State::kFailed);
    const Disagreement with = ends.ends[1]->disagreement();
    EXPECT_TRUE(with.is_there && with.has_word);
    EXPECT_EQ(with.word.call, sent.word.call);
    EXPECT_EQ(with.peer, 0u);
    // The call begins anew as what the other has sent.
    EXPECT_EQ(ends.ends[1]->withdraw_receive(0, letter.id, letter.got.data(), 2000, letter.recv),
              State::kDone);
    ends.ends[1]->clear_disagreement();
    letter.id = sent;
    recv(ends, letter);
    ASSERT_TRUE(ends.run_until([&] { return is_over(letter); }));
    EXPECT_EQ(letter.got, letter.sent);
    EXPECT_EQ(ends.ends[1]->error(), "");
}

// Before anything has come, while it comes, and after.
TEST(Rc, AReceiveThatIsSetAsideLosesNothing) {
    for (const uint32_t turns : {0u, 10u, 30u, 3000u}) {
        Ends ends({.seed = turns + 1});
        std::deque<Letter> letters;
        Prng prng(6);
        Letter& letter = write(letters, prng, 0, 1, 120'000);
        recv(ends, letter);
        send(ends, letter);
        for (uint32_t i = 0; i < turns; ++i) ends.turn();
        State state = State::kPending;
        ASSERT_TRUE(ends.run_until([&] {
            state = ends.ends[1]->withdraw_receive(0, letter.id, letter.got.data(), 120'000,
                                                   letter.recv);
            return state != State::kPending;
        }));
        EXPECT_EQ(state, State::kDone);
        std::ranges::fill(letter.got, std::byte{0});
        recv(ends, letter);
        ASSERT_TRUE(ends.run_until([&] { return is_over(letter); }));
        EXPECT_EQ(letter.got, letter.sent);
    }
}

// Receives may be withdrawn in any order, and again.
TEST(Rc, WhatIsSetAsideComesInTheOrderInWhichItCame) {
    Ends ends({});
    std::deque<Letter> letters;
    Prng prng(11);
    for (const size_t bytes : {10u, 3000u, 20u}) write(letters, prng, 0, 1, bytes);
    for (Letter& letter : letters) {
        send(ends, letter);
        recv(ends, letter);
    }
    ASSERT_TRUE(ends.run_until([&] { return std::ranges::all_of(letters, is_over); }));
    const auto withdraw_receive = [&](Letter& letter) {
        const State state = ends.ends[1]->withdraw_receive(0, letter.id, letter.got.data(),
                                                           letter.got.size(), letter.recv);
        EXPECT_EQ(state, State::kDone);
        std::ranges::fill(letter.got, std::byte{0});
    };
    for (const size_t i : {1u, 2u, 0u}) withdraw_receive(letters[i]);
    recv(ends, letters[0]);
    ASSERT_TRUE(is_over(letters[0]));
    withdraw_receive(letters[0]);
    for (Letter& letter : letters) {
        recv(ends, letter);
        ASSERT_TRUE(is_over(letter)) << ends.ends[1]->error();
        EXPECT_EQ(letter.got, letter.sent);
    }
}

// It is for the next one: the second of two long messages has begun to come.
TEST(Rc, WhatIsSetAsideIsNotForAReceiveThatHasBegun) {
    Ends ends({});
    std::deque<Letter> letters;
    Prng prng(12);
    for (int i = 0; i < 2; ++i) write(letters, prng, 0, 1, 120'000);
    for (Letter& letter : letters) {
        recv(ends, letter);
        send(ends, letter);
    }
    Letter& first = letters[0];
    Letter& second = letters[1];
    ASSERT_TRUE(ends.run_until(
        [&] { return std::equal(&second.got[0], &second.got[100], &second.sent[0]); }));
    ASSERT_EQ(first.recv.state, State::kDone);
    ASSERT_EQ(second.recv.state, State::kPending);
    EXPECT_EQ(
        ends.ends[1]->withdraw_receive(0, first.id, first.got.data(), first.got.size(), first.recv),
        State::kDone);
    ASSERT_TRUE(ends.run_until([&] { return is_over(second); })) << ends.ends[1]->error();
    EXPECT_EQ(second.got, second.sent);
    std::ranges::fill(first.got, std::byte{0});
    recv(ends, first);
    ASSERT_TRUE(is_over(first));
    EXPECT_EQ(first.got, first.sent);
}

TEST(Rc, NothingIsWrittenToACancelledReceive) {
    Ends ends({});
    std::deque<Letter> letters;
    Prng prng(7);
    Letter& letter = write(letters, prng, 0, 1, 120'000);
    recv(ends, letter);
    send(ends, letter);
    const std::vector<std::byte> none = letter.got;
    ASSERT_TRUE(ends.run_until([&] { return letter.got != none; }));
    ends.ends[1]->cancel(letter.recv);
    const std::vector<std::byte> before = letter.got;
    ASSERT_TRUE(ends.run_until([&] { return letter.send.state == State::kDone; }));
    for (int i = 0; i < 1000; ++i) ends.turn();
    EXPECT_EQ(letter.got, before);
    EXPECT_NE(letter.got, letter.sent);
}

// 2 * 30 slots a peer.
TEST(Rc, ItsMemoryIsBounded) {
    EXPECT_EQ(need_of(24, 1024).pairs * need_of(24, 1024).pair_bytes, 24u * 60 * 4096);
}

}  // namespace
}  // namespace tutti::transport::verbs
