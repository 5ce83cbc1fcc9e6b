// SPDX-License-Identifier: BSD-3-Clause
#include "transport/verbs/slots.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <string>

#include "base/prng.h"
#include "sim/seeds.h"

namespace tutti::transport::verbs {
namespace {

SlotHeader header_of(uint32_t stream, uint32_t sequence) {
    SlotHeader header;
    header.stream = stream;
    header.sequence = sequence;
    return header;
}

TEST(Slots, AStreamHasItsOwnAndTheSharedOnes) {
    Slots slots;
    uint32_t count = 0;
    for (uint32_t slot = slots.take(3); slot != kNoSlot; slot = slots.take(3)) {
        EXPECT_TRUE(slot == 3 || slot >= kSlotsMax);
        ++count;
    }
    EXPECT_EQ(count, kSlots - kSlotsMax + 1);
    EXPECT_EQ(slots.take(4), 4u);
    EXPECT_EQ(slots.take(4), kNoSlot);
}

TEST(Slots, AreTakenAgainOnlyWhenGivenBackAndComplete) {
    Slots slots;
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
        ASSERT_NE(slots.take(slot < kSlotsMax ? slot : 0), kNoSlot);
        slots.write(slot);
    }
    EXPECT_EQ(slots.take(0), kNoSlot);
    slots.hear(1u << 0 | 1u << 25);
    EXPECT_EQ(slots.take(0), kNoSlot);
    slots.complete(1);  // slot 0's
    EXPECT_EQ(slots.take(0), 0u);
    EXPECT_EQ(slots.take(0), kNoSlot);
    slots.complete(kSlots);
    EXPECT_EQ(slots.take(1), 25u);
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

TEST(Slots, PiecesKeepTheirOrder) {
    Slots slots;
    EXPECT_EQ(slots.first(2), kNoSlot);
    EXPECT_TRUE(slots.arrive(2, header_of(2, 0)));
    EXPECT_TRUE(slots.arrive(28, header_of(2, 1)));
    EXPECT_TRUE(slots.arrive(20, header_of(5, 0)));
    EXPECT_EQ(slots.first(2), 2u);
    slots.release(2);
    EXPECT_EQ(slots.first(2), 28u);
    slots.release(2);
    EXPECT_EQ(slots.first(2), kNoSlot);
    EXPECT_EQ(slots.first(5), 20u);
    EXPECT_EQ(slots.freed(), 1u << 2 | 1u << 28);
}

TEST(Slots, WhatBreaksTheRulesIsSeen) {
    Slots slots;
    EXPECT_FALSE(slots.arrive(kSlots, header_of(0, 0)));
    EXPECT_FALSE(slots.arrive(20, header_of(kSlotsMax, 0)));
    EXPECT_FALSE(slots.arrive(1, header_of(0, 0)));  // another stream's
    EXPECT_FALSE(slots.arrive(20, header_of(0, 1)));
    EXPECT_TRUE(slots.arrive(20, header_of(0, 0)));
    EXPECT_FALSE(slots.arrive(20, header_of(0, 1)));  // has not been read
}

TEST(Slots, AreToldOfWhereManyWait) {
    Slots slots;
    for (uint32_t i = 0; i < kTellAfter; ++i) {
        EXPECT_FALSE(slots.must_tell());
        ASSERT_TRUE(slots.arrive(i, header_of(i, 0)));
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
    for (uint32_t slot = kSlotsMax; slot < kSlots; ++slot) {
        EXPECT_FALSE(slots.must_tell());
        ASSERT_TRUE(slots.arrive(slot, header_of(1, slot - kSlotsMax)));
    }
    EXPECT_TRUE(slots.must_tell());
}

// Two ends, one that writes and one that reads what it feels like: nothing is overwritten, a stream
// that is read gets through, and immediates never outnumber the receives.
class SlotsWalk : public testing::Test {
  protected:
    struct Piece {
        uint32_t slot = 0;
        SlotHeader header;
        uint64_t write = 0;
        bool is_signaled = false;
    };
    void write(uint32_t stream) {
        if (!sender_.may_write()) return;
        const uint32_t slot = sender_.take(stream);
        if (slot == kNoSlot) return;
        const SlotHeader header = header_of(stream, sender_.next_sequence(stream));
        const uint64_t number = sender_.write(slot);
        flying_.push_back({slot, header, number, sender_.must_signal(number, stream)});
        ++sent_[stream];
        ASSERT_LE(flying_.size(), kSlots);
    }
    void land() {
        if (flying_.empty()) return;
        const Piece piece = flying_.front();
        flying_.pop_front();
        ASSERT_TRUE(receiver_.arrive(piece.slot, piece.header));
        // All before too, which the signaled one says.
        if (piece.is_signaled) completed_ = piece.write;
    }
    void read(uint32_t stream) {
        if (receiver_.first(stream) == kNoSlot) return;
        receiver_.release(stream);
        ++read_[stream];
    }
    void tell() {
        if (!receiver_.must_tell()) return;
        words_.push_back(receiver_.freed());
        receiver_.told();
        ASSERT_LE(words_.size(), kSlots);
    }
    void hear() {
        if (words_.empty()) return;
        sender_.hear(words_.front());
        words_.pop_front();
    }
    void run(Prng& prng) {
        for (int turn = 0; turn < 3000; ++turn) {
            const auto stream = static_cast<uint32_t>(prng.below(kSlotsMax));
            switch (prng.below(6)) {
                case 0:
                case 1:
                    write(stream);
                    break;
                case 2:
                    land();
                    break;
                case 3:
                    read(stream % 7);  // others are never asked for
                    break;
                case 4:
                    hear();
                    break;
                default:
                    sender_.complete(completed_);
            }
            tell();
            if (HasFatalFailure()) return;
        }
    }
    // Each of the streams that are read goes on, though all others lie there.
    void expect_progress() {
        for (uint32_t stream = 0; stream < 7; ++stream) {
            const uint64_t goal = sent_[stream] + 40;
            for (int turn = 0; turn < 10'000 && read_[stream] < goal; ++turn) {
                if (sent_[stream] < goal) write(stream);
                land();
                read(stream);
                tell();
                hear();
                sender_.complete(completed_);
            }
            ASSERT_EQ(read_[stream], goal) << "stream " << stream << " stands still";
        }
    }

    Slots sender_;
    Slots receiver_;
    std::deque<Piece> flying_;
    std::deque<uint32_t> words_;
    uint64_t completed_ = 0;
    std::array<uint64_t, kSlotsMax> sent_{};
    std::array<uint64_t, kSlotsMax> read_{};
};

TEST_F(SlotsWalk, Seeds) {
    const test::Seeds seeds = test::Seeds::wanted(300);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SCOPED_TRACE(test::replay(seed));
        sender_ = receiver_ = Slots{};
        flying_.clear();
        words_.clear();
        completed_ = 0;
        sent_ = read_ = {};
        Prng prng(seed);
        run(prng);
        if (HasFatalFailure()) return;
        expect_progress();
        if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace tutti::transport::verbs
