// SPDX-License-Identifier: BSD-3-Clause
#include "transport/verbs/slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>

#include "base/prng.h"
#include "sim/seeds.h"

namespace tutti::transport::verbs {
namespace {

SlotHeader header_of(uint32_t stream, uint64_t number) {
    SlotHeader header;
    header.stream = static_cast<uint8_t>(stream);
    header.number = kFirstPiece + number;
    return header;
}

TEST(Slots, AStreamHasItsOwnAndTheSharedOnes) {
    Slots slots;
    uint32_t count = 0;
    for (uint32_t slot = slots.take(3).slot; slot != kNoSlot; slot = slots.take(3).slot) {
        EXPECT_TRUE(slot == 3 || slot >= kStreams);
        ++count;
    }
    EXPECT_EQ(count, kSlots - kStreams + 1);
    EXPECT_EQ(slots.take(4).slot, 4u);
    EXPECT_EQ(slots.take(4).slot, kNoSlot);
}

TEST(Slots, AreTakenAgainOnlyWhenGivenBackAndComplete) {
    Slots slots;
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
        ASSERT_NE(slots.take(slot < kStreams ? slot : 0).slot, kNoSlot);
        slots.write({slot});
    }
    EXPECT_EQ(slots.take(0).slot, kNoSlot);
    slots.hear(1u << 0 | 1u << 25);
    EXPECT_EQ(slots.take(0).slot, kNoSlot);
    slots.complete(1);  // slot 0's
    EXPECT_EQ(slots.take(0).slot, 0u);
    EXPECT_EQ(slots.take(0).slot, kNoSlot);
    slots.complete(kSlots);
    EXPECT_EQ(slots.take(1).slot, 25u);
}

// From the other end than single ones, of which the first is the stream's own.
TEST(Slots, ALongPieceFillsARow) {
    Slots slots;
    const auto take = [&](uint32_t wanted) {
        const Room room = slots.take(0, wanted);
        if (room.slot != kNoSlot) slots.write(room);
        return std::pair(room.slot, room.count);
    };
    using Ends = std::pair<uint32_t, uint32_t>;
    EXPECT_EQ(take(100), Ends(29, kPieceSlots));
    EXPECT_EQ(take(1), Ends(0, 1));
    EXPECT_EQ(take(1), Ends(20, 1));
    EXPECT_EQ(take(3), Ends(24, 3));
    EXPECT_EQ(take(5), Ends(21, 1)) << "what there is";
    EXPECT_EQ(take(5), Ends(kNoSlot, 1));
    slots.hear(0b11111u << 25 | 1u << 20);
    slots.complete(1);
    EXPECT_EQ(take(4), Ends(29, 4)) << "all of a row are complete at once";
    slots.complete(5);
    slots.hear(0b10001u << 25 | 0b11111u << 20);
    EXPECT_EQ(take(5), Ends(25, 5)) << "of two pieces";
}

TEST(Slots, WritesAreBoundedUntilComplete) {
    Slots slots;
    uint64_t last = 0;
    for (uint32_t i = 0; i < kSends; ++i) {
        ASSERT_TRUE(slots.may_write());
        last = slots.write();
    }
    EXPECT_FALSE(slots.may_write());
    EXPECT_TRUE(slots.must_signal(last));
    slots.complete(last - kSignalEvery);
    EXPECT_TRUE(slots.may_write());
}

// Until what it has is used up, or too many writes are incomplete.
TEST(Slots, SayWhetherAnotherPieceCanGo) {
    Slots slots;
    for (uint32_t left = kSlots - kStreams; left > 0; --left) {
        ASSERT_TRUE(slots.may_go_on(3));
        slots.write(slots.take(0));
    }
    EXPECT_TRUE(slots.may_go_on(0));  // the stream's own was the first
    slots.write(slots.take(0));
    EXPECT_FALSE(slots.may_go_on(0));
    EXPECT_TRUE(slots.may_go_on(3));
    while (slots.may_write()) {
        ASSERT_TRUE(slots.may_go_on(3));
        slots.write();
    }
    EXPECT_FALSE(slots.may_go_on(3));
}

// Given back, while the write before is not known to be complete.
TEST(Slots, SayWhetherAStreamAwaitsACompletion) {
    Slots slots;
    const uint64_t number = slots.write(slots.take(2));
    EXPECT_FALSE(slots.awaits_completion(2));
    slots.hear(1u << 2);
    EXPECT_TRUE(slots.awaits_completion(2));
    EXPECT_FALSE(slots.awaits_completion(3));
    slots.complete(number);
    EXPECT_FALSE(slots.awaits_completion(2));
}

TEST(Slots, PiecesKeepTheirOrder) {
    Slots slots;
    EXPECT_EQ(slots.first(2), kNoSlot);
    EXPECT_TRUE(slots.arrive(2, header_of(2, 0)));
    EXPECT_TRUE(slots.arrive(28, header_of(2, 1)));
    EXPECT_TRUE(slots.arrive(20, header_of(5, 2)));
    EXPECT_EQ(slots.first(2), 2u);
    slots.release(2);
    EXPECT_EQ(slots.first(2), 28u);
    slots.release(2);
    EXPECT_EQ(slots.first(2), kNoSlot);
    EXPECT_EQ(slots.first(5), 20u);
    EXPECT_EQ(slots.freed(), 1u << 2 | 1u << 28);
}

SlotHeader long_header_of(uint32_t stream, uint64_t number, uint32_t slots) {
    SlotHeader header = header_of(stream, number);
    header.slots = static_cast<uint8_t>(slots);
    return header;
}

TEST(Slots, ALongPieceIsGivenBackAtOnce) {
    Slots slots;
    EXPECT_TRUE(slots.arrive(2, header_of(2, 0)));
    EXPECT_TRUE(slots.arrive(26, long_header_of(2, 1, 5)));
    slots.release(2);
    EXPECT_EQ(slots.first(2), 26u);
    EXPECT_FALSE(slots.arrive(22, header_of(3, 2))) << "has not been read";
    slots.release(2);
    EXPECT_EQ(slots.freed(), 1u << 2 | 0b11111u << 22);
    EXPECT_TRUE(slots.arrive(22, header_of(3, 2)));
}

TEST(Slots, WhatBreaksTheRulesIsSeen) {
    Slots slots;
    EXPECT_FALSE(slots.arrive(kSlots, header_of(0, 0)));
    EXPECT_FALSE(slots.arrive(20, header_of(kStreams, 0)));
    EXPECT_FALSE(slots.arrive(1, header_of(0, 0)));  // another stream's
    EXPECT_FALSE(slots.arrive(20, header_of(0, 1)));
    EXPECT_FALSE(slots.arrive(20, long_header_of(0, 0, 0)));
    EXPECT_FALSE(slots.arrive(20, long_header_of(19, 0, 2)));  // partly its stream's own
    EXPECT_FALSE(slots.arrive(1, long_header_of(1, 0, 3)));
    EXPECT_FALSE(slots.arrive(29, long_header_of(0, 0, kPieceSlots + 1)));
    EXPECT_TRUE(slots.arrive(20, header_of(0, 0)));
    EXPECT_FALSE(slots.arrive(20, header_of(0, 1)));  // has not been read
    EXPECT_FALSE(slots.arrive(21, long_header_of(0, 1, 2)));
}

TEST(Slots, AreToldOfWhereManyWait) {
    Slots slots;
    for (uint32_t i = 0; i < kTellAfter; ++i) {
        EXPECT_FALSE(slots.must_tell());
        ASSERT_TRUE(slots.arrive(i, header_of(i, i)));
        slots.release(i);
    }
    EXPECT_TRUE(slots.must_tell());
    slots.told();
    EXPECT_FALSE(slots.must_tell());
}

// One slot untold is one too many where no shared one is free for its stream.
TEST(Slots, AreToldOfWhereNoSharedOneIsFree) {
    Slots slots;
    ASSERT_TRUE(slots.arrive(0, header_of(0, 0)));
    slots.release(0);
    for (uint32_t slot = kStreams; slot < kSlots; ++slot) {
        EXPECT_FALSE(slots.must_tell());
        ASSERT_TRUE(slots.arrive(slot, header_of(1, slot - kStreams + 1)));
    }
    EXPECT_TRUE(slots.must_tell());
}

// Numbers are compared modulo 2^64, whatever they are near.
TEST(Slots, NumbersRollOver) {
    for (const uint64_t wanted : {kFirstPiece, uint64_t{0}, uint64_t{1} << 63, UINT64_MAX}) {
        EXPECT_TRUE(has_come(wanted, wanted));
        EXPECT_TRUE(has_come(wanted + kSlots, wanted));
        EXPECT_FALSE(has_come(wanted - 1, wanted));
        EXPECT_FALSE(has_come(wanted - kSlots, wanted));
    }
    EXPECT_EQ(kFirstPiece + 50, 0u);
}

// The next slot is one of the shared ones, as long as one is free.
TEST(Slots, AreChosenAhead) {
    Slots slots;
    slots.choose_ahead();
    SlotHeader header;
    for (uint32_t slot = kStreams; slot < kSlots; ++slot) {
        const Room room = slots.take(0);
        EXPECT_EQ(room.slot, slot);
        EXPECT_FALSE(room.tells);
        slots.sign(header, false);
        EXPECT_EQ(header.next, slot + 1 < kSlots ? slot + 1 : 0xff);
        EXPECT_EQ(slots.must_signal(slots.write(room), true), slot + 1 == kSlots || slot == 27);
    }
    const Room own = slots.take(0);
    EXPECT_EQ(own.slot, 0u);
    EXPECT_TRUE(own.tells);
    slots.hear(1u << 22);
    slots.sign(header, true);
    EXPECT_EQ(header.next, 0xff) << "its write is not complete";
    slots.complete(8);
    slots.sign(header, true);
    EXPECT_EQ(header.next, 22);
    EXPECT_EQ(header.told, 2) << "its own too";
    EXPECT_EQ(header.number, kFirstPiece + 11);
}

// The slot that was chosen stays so, for the next piece that is none.
TEST(Slots, ALongPieceTellsWhereSlotsAreChosenAhead) {
    Slots slots;
    slots.choose_ahead();
    SlotHeader header;
    const Room row = slots.take(0, 3);
    EXPECT_EQ(row.slot, 29u);
    EXPECT_EQ(row.count, 3u);
    EXPECT_TRUE(row.tells);
    slots.sign(header, row.tells);
    EXPECT_EQ(header.next, kStreams);
    const Room next = slots.take(0, 1);
    EXPECT_EQ(next.slot, kStreams);
    EXPECT_FALSE(next.tells);
    EXPECT_TRUE(slots.take(0, 1, true).tells);
}

// Two ends that write and read what they feel like, both ways over connections that keep order:
// nothing is overwritten, a stream that is read gets through, and immediates never outnumber the
// receives.
class SlotsWalk : public testing::Test {
  protected:
    // A piece, or a word where there is no slot.
    struct Flying {
        Room room;
        SlotHeader header;
        uint64_t write = 0;
        bool is_signaled = false;
        bool tells = true;
    };
    struct End {
        Slots slots;
        std::deque<Flying> coming;
        uint64_t completed = 0;  // its own writes
        std::array<uint64_t, kStreams> sent{};
        std::array<uint64_t, kStreams> read{};
    };
    void send(uint32_t from, const Room& room, const SlotHeader& header) {
        Slots& slots = ends_[from].slots;
        const uint64_t number = slots.write(room);
        const bool is_signaled = slots.must_signal(number, room.slot != kNoSlot);
        ends_[1 - from].coming.push_back({room, header, number, is_signaled, room.tells});
        ASSERT_LE(std::ranges::count(ends_[1 - from].coming, true, &Flying::tells), 2 * kSlots);
    }
    void write(uint32_t from, uint32_t stream, uint32_t wanted) {
        Slots& slots = ends_[from].slots;
        if (!slots.may_write()) return;
        const Room room = slots.take(stream, wanted);
        if (room.slot == kNoSlot) return;
        ASSERT_LE(room.count, wanted);
        SlotHeader header = header_of(stream, 0);
        header.slots = static_cast<uint8_t>(room.count);
        slots.sign(header, room.tells);
        send(from, room, header);
        ++ends_[from].sent[stream];
    }
    void land(uint32_t to) {
        End& end = ends_[to];
        if (end.coming.empty()) return;
        const Flying flying = end.coming.front();
        end.coming.pop_front();
        if (flying.tells) {
            end.slots.hear_immediate();
        } else {
            ASSERT_EQ(end.slots.awaited(), flying.room.slot);
            ASSERT_EQ(flying.room.count, 1u);
            ASSERT_EQ(end.slots.awaited_number(), flying.header.number);
            ASSERT_EQ(end.slots.immediates(), flying.header.told);
        }
        if (flying.room.slot != kNoSlot) {
            ASSERT_TRUE(end.slots.arrive(flying.room.slot, flying.header));
        }
        end.slots.hear(flying.header.freed);
        // All before too, which the signaled one says.
        if (flying.is_signaled) ends_[1 - to].completed = flying.write;
    }
    void read(uint32_t at, uint32_t stream) {
        if (ends_[at].slots.first(stream) == kNoSlot) return;
        ends_[at].slots.release(stream);
        ++ends_[at].read[stream];
    }
    void complete(uint32_t at) { ends_[at].slots.complete(ends_[at].completed); }
    void tell(uint32_t from) {
        Slots& slots = ends_[from].slots;
        if (!slots.must_tell() || !slots.may_write()) return;
        SlotHeader word;
        word.freed = slots.freed();
        slots.told();
        slots.count_immediate();
        send(from, {}, word);
    }
    void run(Prng& prng) {
        for (int turn = 0; turn < 4000; ++turn) {
            const auto at = static_cast<uint32_t>(prng.below(2));
            const auto stream = static_cast<uint32_t>(prng.below(kStreams));
            switch (prng.below(5)) {
                case 0:
                case 1:
                    write(at, stream, static_cast<uint32_t>(1 + prng.below(kPieceSlots + 1)));
                    break;
                case 2:
                    land(at);
                    break;
                case 3:
                    read(at, stream % kRead);  // others are never asked for
                    break;
                default:
                    complete(at);
            }
            tell(at);
            if (HasFatalFailure()) return;
        }
    }
    // Each of the streams that are read goes on, though all others lie there and the other end
    // sends none of its own.
    void expect_progress(uint32_t from) {
        End& end = ends_[from];
        End& other = ends_[1 - from];
        for (uint32_t stream = 0; stream < kRead; ++stream) {
            const uint64_t goal = end.sent[stream] + 40;
            for (int turn = 0; turn < 10'000 && other.read[stream] < goal; ++turn) {
                if (end.sent[stream] < goal) write(from, stream, 1 + stream % kPieceSlots);
                for (const uint32_t at : {0u, 1u}) {
                    land(at);
                    complete(at);
                    tell(at);
                }
                read(1 - from, stream);
                if (HasFatalFailure()) return;
            }
            ASSERT_EQ(other.read[stream], goal) << "stream " << stream << " stands still";
        }
    }

    static constexpr uint32_t kRead = 7;  // of the streams
    std::array<End, 2> ends_;
};

TEST_F(SlotsWalk, Seeds) {
    const test::Seeds seeds = test::Seeds::wanted(1000);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SCOPED_TRACE(test::replay(seed));
        ends_ = {};
        for (const uint32_t to : {0u, 1u}) {
            if ((seed >> to & 1) == 0) continue;
            ends_[to].slots.await_ahead();
            ends_[1 - to].slots.choose_ahead();
        }
        Prng prng(seed);
        run(prng);
        for (const uint32_t from : {0u, 1u}) {
            if (!HasFatalFailure()) expect_progress(from);
        }
        if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace tutti::transport::verbs
