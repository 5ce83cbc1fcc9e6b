// SPDX-License-Identifier: BSD-3-Clause
// What transport.h promises, for every implementation.
#include "run/transport/transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>

#include "base/prng.h"
#include "conformance/allocations.h"
#include "conformance/fabrics.h"

namespace tutti::test {
namespace {

using transport::MessageId;
using transport::Rank;
using transport::State;
using transport::Ticket;

constexpr uint32_t kRanks = 3;
// Far more turns than any test needs.
constexpr uint32_t kTurnsMax = 100'000;

class Conformance : public testing::TestWithParam<FabricMaker> {
  protected:
    // One message, its two sides with memory of their own and what it says.
    struct Letter {
        Rank from = 0;
        Rank to = 0;
        MessageId id;
        std::vector<std::byte> sent;
        std::vector<std::byte> got;
        Ticket send;
        Ticket recv;
    };

    void SetUp() override { fabric_ = GetParam().make(kRanks); }

    Letter& write(Rank from, Rank to, MessageId id, size_t bytes) {
        Letter& letter = letters_.emplace_back();
        letter.from = from;
        letter.to = to;
        letter.id = id;
        for (size_t i = 0; i < bytes; ++i) {
            letter.sent.push_back(static_cast<std::byte>(prng_.next() & 0xff));
        }
        // A byte more on either side, that must stay as it is.
        letter.got.assign(bytes + 2, std::byte{0x55});
        return letter;
    }
    void send(Letter& letter) {
        fabric_->end(letter.from)
            .send(letter.to, letter.id, letter.sent.data(), letter.sent.size(), letter.send);
    }
    void recv(Letter& letter) {
        fabric_->end(letter.to).recv(letter.from, letter.id, letter.got.data() + 1,
                                     letter.got.size() - 2, letter.recv);
    }
    void pump() {
        fabric_->pump();
        for (Rank rank = 0; rank < kRanks; ++rank) fabric_->end(rank).poll();
    }
    // Tests every ticket once; true when all messages are complete.
    bool turn() {
        bool is_done = true;
        for (Letter& letter : letters_) {
            if (fabric_->end(letter.from).test(letter.send) != State::kDone) is_done = false;
            if (fabric_->end(letter.to).test(letter.recv) != State::kDone) is_done = false;
        }
        pump();
        return is_done;
    }
    void expect_all() {
        uint32_t turns = 0;
        while (!turn()) ASSERT_LT(++turns, kTurnsMax) << "messages do not complete";
        for (const Letter& letter : letters_) {
            const size_t bytes = letter.sent.size();
            EXPECT_EQ(letter.got.front(), std::byte{0x55});
            EXPECT_EQ(letter.got.back(), std::byte{0x55});
            EXPECT_TRUE(std::equal(letter.sent.begin(), letter.sent.end(), letter.got.begin() + 1))
                << bytes << " bytes from " << letter.from << " to " << letter.to << ", message "
                << letter.id.message;
        }
    }

    Prng prng_{99};
    std::unique_ptr<Fabric> fabric_;
    std::deque<Letter> letters_;  // whose addresses stay
};

TEST_P(Conformance, Sizes) {
    uint32_t message = 0;
    for (const size_t bytes : {0u, 1u, 1000u, 65'535u, 65'536u, 65'537u, 1u << 20}) {
        for (const bool recv_first : {true, false}) {
            Letter& letter = write(0, 1, {5, 0, 3, message++}, bytes);
            if (recv_first) recv(letter);
            send(letter);
            if (!recv_first) recv(letter);
        }
    }
    expect_all();
}

// Both sides say that it may be so: the rest of the room stays as it was, or has anything.
TEST_P(Conformance, FewerBytesThanThereIsRoomFor) {
    MessageId id{5, 0, 3, 0};
    id.may_be_short = true;
    for (const size_t bytes : {1u, 256u, 257u, 65'536u, 1u << 20}) {
        for (const size_t more : {0u, 1u, 300u, 200'000u}) {
            for (const bool recv_first : {true, false}) {
                Letter& letter = write(0, 1, id, bytes);
                ++id.message;
                letter.got.assign(bytes + more + 2, std::byte{0x55});
                if (recv_first) recv(letter);
                send(letter);
                if (!recv_first) recv(letter);
            }
        }
    }
    expect_all();
}

// As a barrier has them: all of a call have come before any of the next is sent.
TEST_P(Conformance, CountedMessages) {
    for (uint32_t call = 0; call < 20; ++call) {
        MessageId id{call, 0, 0, 0, {call, call * 3, 0}, true};
        Letter& one = write(1, 0, id, 0);
        Letter& other = write(2, 0, id, 0);
        if (call % 2 == 0) recv(other);
        send(one);
        if (call % 4 < 2) send(other);
        for (uint64_t turns = prng_.below(50); turns > 0; --turns) pump();
        recv(one);
        if (call % 2 != 0) recv(other);
        if (call % 4 >= 2) {
            for (int i = 0; i < 50; ++i) pump();
            EXPECT_FALSE(fabric_->end(0).test(one.recv) == State::kDone &&
                         fabric_->end(0).test(other.recv) == State::kDone);
            send(other);
        }
        expect_all();
    }
}

TEST_P(Conformance, OrderInASlot) {
    for (uint32_t i = 0; i < 200; ++i) {
        Letter& letter = write(2, 1, {0, 0, 4, i}, prng_.below(300));
        send(letter);
        recv(letter);
    }
    expect_all();
}

// Receives wait for their slot's message, whatever comes before it in another slot.
TEST_P(Conformance, SlotsAreApart) {
    for (uint32_t slot = 0; slot < transport::kSlotsMax; ++slot) write(0, 2, {9, 1, slot, 0}, 100);
    for (auto letter = letters_.rbegin(); letter != letters_.rend(); ++letter) send(*letter);
    for (Letter& letter : letters_) recv(letter);
    expect_all();
}

TEST_P(Conformance, BothDirectionsAtOnce) {
    for (uint32_t i = 0; i < 8; ++i) {
        for (const Rank rank : {0u, 1u}) send(write(rank, 1 - rank, {0, 0, 0, i}, 100'000));
    }
    for (Letter& letter : letters_) recv(letter);
    expect_all();
}

TEST_P(Conformance, UnexpectedBeforePosted) {
    for (uint32_t i = 0; i < 20; ++i) send(write(i % 2, 2, {0, 0, i % 5, i}, 10'000 * (i % 3)));
    for (int i = 0; i < 2000; ++i) {
        for (Letter& letter : letters_) fabric_->end(letter.from).test(letter.send);
        pump();
    }
    for (Letter& letter : letters_) recv(letter);
    expect_all();
}

TEST_P(Conformance, NothingComesUnsent) {
    Letter& letter = write(0, 1, {}, 8);
    recv(letter);
    Letter& other = write(0, 1, {0, 0, 1, 0}, 8);
    send(other);
    for (int i = 0; i < 2000; ++i) {
        ASSERT_EQ(fabric_->end(1).test(letter.recv), State::kPending);
        fabric_->end(0).test(other.send);
        pump();
    }
    send(letter);
    recv(other);
    expect_all();
}

// All pairs, all slots, several calls and lanes, the two sides in different orders between slots.
TEST_P(Conformance, ManyOutstanding) {
    const uint32_t count = std::getenv("TESTS_BRIEF") ? 25 : 40;
    for (uint32_t i = 0; i < count; ++i) {
        for (uint32_t slot = 0; slot < transport::kSlotsMax; ++slot) {
            for (Rank from = 0; from < kRanks; ++from) {
                for (Rank to = 0; to < kRanks; ++to) {
                    if (from != to) write(from, to, {i / 20, i / 10, slot, i}, prng_.below(64));
                }
            }
        }
    }
    std::vector<Letter*> by_slot;
    for (Letter& letter : letters_) by_slot.push_back(&letter);
    std::stable_sort(by_slot.begin(), by_slot.end(),
                     [](const Letter* a, const Letter* b) { return a->id.slot < b->id.slot; });
    auto next = by_slot.begin();
    for (Letter& letter : letters_) {
        send(letter);
        recv(**next++);
    }
    expect_all();
}

// A message longer than its receive: the receiver is told, in one line, and nothing is overwritten.
TEST_P(Conformance, FailureIsReported) {
    Letter& letter = write(0, 1, {}, 100);
    letter.got.assign(12, std::byte{0x55});
    send(letter);
    recv(letter);
    // The send too: until it is over, its memory, which goes with the fabric, is the message's.
    uint32_t turns = 0;
    const auto is_under_way = [&] {
        const bool is_sent = fabric_->end(0).test(letter.send) != State::kPending;
        return fabric_->end(1).test(letter.recv) == State::kPending || !is_sent;
    };
    while (is_under_way()) {
        ASSERT_LT(++turns, kTurnsMax) << "the failure is not reported";
        pump();
    }
    EXPECT_EQ(fabric_->end(0).test(letter.send), State::kDone);
    EXPECT_EQ(fabric_->end(1).test(letter.recv), State::kFailed);
    EXPECT_NE(fabric_->end(1).error(), "");
    EXPECT_EQ(fabric_->end(1).error().find('\n'), std::string::npos);
    EXPECT_EQ(letter.got.front(), std::byte{0x55});
    EXPECT_EQ(letter.got.back(), std::byte{0x55});
}

TEST_P(Conformance, AllocatesNothingMore) {
    if (!counts_allocations()) GTEST_SKIP() << "a sanitizer has its own malloc";
    // Half of the receives are posted late, in slots of their own.
    for (uint32_t i = 0; i < 200; ++i)
        write(i % kRanks, (i + 1) % kRanks, {0, 0, i % 2, i}, i * 97);
    const auto run = [&](uint32_t call) {
        for (Letter& letter : letters_) {
            letter.id.call = call;
            send(letter);
            if (letter.id.slot == 0) recv(letter);
        }
        for (int i = 0; i < 50; ++i) turn();
        for (Letter& letter : letters_) {
            if (letter.id.slot == 1) recv(letter);
        }
        uint32_t turns = 0;
        while (!turn()) ASSERT_LT(++turns, kTurnsMax);
    };
    for (uint32_t call = 0; call < 10; ++call) run(call);
    const size_t before = allocations();
    for (uint32_t call = 10; call < 15; ++call) run(call);
    EXPECT_EQ(allocations(), before);
    EXPECT_GT(before, 0u);
    expect_all();
}

INSTANTIATE_TEST_SUITE_P(Transport, Conformance, testing::ValuesIn(fabrics()),
                         [](const auto& fabric) { return fabric.param.name; });

}  // namespace
}  // namespace tutti::test
