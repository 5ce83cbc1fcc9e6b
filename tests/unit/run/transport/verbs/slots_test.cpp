// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "sim/seeds.h"

namespace tutti::transport::verbs {
namespace {

SlotHeader header_of(uint32_t stream, uint64_t number) {
    SlotHeader header;
    if (stream == kSigns) {
        header.piece = Piece::kOffer;
    } else {
        header.slot = static_cast<uint8_t>(slot_of(stream));
        header.team = static_cast<uint8_t>(team_of(stream));
    }
    header.number = kFirstPiece + number;
    return header;
}

// Of a team alone; the stream of its messages' slot.
struct Alone : Slots {
    Alone() { reserve_teams(1); }
};
constexpr uint32_t of(uint32_t slot) { return stream_of(0, slot); }

TEST(Slots, AStreamHasAnOwnAndTheSharedOnes) {
    Alone slots;
    uint32_t count = 0;
    for (uint32_t slot = slots.take(of(3)).slot; slot != kNoSlot; slot = slots.take(of(3)).slot) {
        EXPECT_TRUE(slot == 0 || slot >= kFirstShared);
        ++count;
    }
    EXPECT_EQ(count, kSlots - kFirstShared + 1);
    EXPECT_EQ(slots.take(of(4)).slot, 1u);
    EXPECT_EQ(slots.take(of(4)).slot, kNoSlot);
    EXPECT_EQ(slots.take(kSigns).slot, kSignSlot);
    EXPECT_EQ(slots.take(kSigns).slot, kNoSlot);
}

// The own one of before need not be complete: another one that is free does.
TEST(Slots, AStreamHasAnotherOwnOneOnceItsPieceIsRead) {
    Alone slots;
    EXPECT_EQ(slots.take(of(3)).slot, 0u);
    slots.write({0});
    slots.hear(1u << 0);
    EXPECT_EQ(slots.take(of(3)).slot, 1u);
    slots.write({1});
    EXPECT_EQ(slots.take(of(3)).slot, kFirstShared);
    slots.complete(1);
    EXPECT_EQ(slots.take(of(4)).slot, 0u);
}

TEST(Slots, AreTakenAgainOnlyWhenGivenBackAndComplete) {
    Alone slots;
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
        const uint32_t stream = slot < kOwnSlots ? of(slot) : slot == kSignSlot ? kSigns : of(0);
        ASSERT_EQ(slots.take(stream).slot, slot);
        slots.write({slot});
    }
    EXPECT_EQ(slots.take(of(0)).slot, kNoSlot);
    slots.hear(1u << 0 | 1u << 25);
    EXPECT_EQ(slots.take(of(0)).slot, kNoSlot);
    slots.complete(1);  // slot 0's
    EXPECT_EQ(slots.take(of(0)).slot, 0u);
    EXPECT_EQ(slots.take(of(0)).slot, kNoSlot);
    slots.complete(kSlots);
    EXPECT_EQ(slots.take(of(1)).slot, 25u);
}

// From the other end than single ones, of which the first is the stream's own.
TEST(Slots, ALongPieceFillsARow) {
    Alone slots;
    const auto take = [&](uint32_t wanted) {
        const SlotRange range = slots.take(of(0), wanted);
        if (range.slot != kNoSlot) slots.write(range);
        return std::pair(range.slot, range.count);
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
    Alone slots;
    uint64_t last = 0;
    for (uint32_t i = 0; i < kSends; ++i) {
        ASSERT_TRUE(slots.writes().may_begin());
        last = slots.write();
    }
    EXPECT_FALSE(slots.writes().may_begin());
    EXPECT_TRUE(slots.must_signal(last));
    slots.complete(last - kSignalEvery);
    EXPECT_TRUE(slots.writes().may_begin());
}

// Until what it has is used up, or too many writes are incomplete.
TEST(Slots, SayWhetherAnotherPieceCanGo) {
    Alone slots;
    for (uint32_t left = kSlots - kFirstShared; left > 0; --left) {
        ASSERT_TRUE(slots.may_go_on(of(3)));
        slots.write(slots.take(of(0)));
    }
    EXPECT_TRUE(slots.may_go_on(of(0)));  // the stream's own was the first
    slots.write(slots.take(of(0)));
    EXPECT_FALSE(slots.may_go_on(of(0)));
    EXPECT_TRUE(slots.may_go_on(of(3)));
    while (slots.writes().may_begin()) {
        ASSERT_TRUE(slots.may_go_on(of(3)));
        slots.write();
    }
    EXPECT_FALSE(slots.may_go_on(of(3)));
}

// Given back, while the write before is not known to be complete.
TEST(Slots, SayWhetherAStreamAwaitsACompletion) {
    Alone slots;
    const uint64_t number = slots.write(slots.take(of(2)));
    EXPECT_FALSE(slots.awaits_completion(of(2)));
    slots.hear(1u << 0);
    EXPECT_TRUE(slots.awaits_completion(of(2)));
    EXPECT_FALSE(slots.awaits_completion(kSigns));
    slots.complete(number);
    EXPECT_FALSE(slots.awaits_completion(of(2)));
}

TEST(Slots, PiecesKeepTheirOrder) {
    Alone slots;
    EXPECT_EQ(slots.first(of(2)), kNoSlot);
    EXPECT_TRUE(slots.arrive(2, header_of(of(2), 0)));
    EXPECT_TRUE(slots.arrive(28, header_of(of(2), 1)));
    EXPECT_TRUE(slots.arrive(20, header_of(of(5), 2)));
    EXPECT_EQ(slots.first(of(2)), 2u);
    slots.release(of(2));
    EXPECT_EQ(slots.first(of(2)), 28u);
    slots.release(of(2));
    EXPECT_EQ(slots.first(of(2)), kNoSlot);
    EXPECT_EQ(slots.first(of(5)), 20u);
    EXPECT_EQ(slots.freed(), 1u << 2 | 1u << 28);
}

SlotHeader long_header_of(uint32_t stream, uint64_t number, uint32_t slots) {
    SlotHeader header = header_of(stream, number);
    header.slots = static_cast<uint8_t>(slots);
    return header;
}

TEST(Slots, ALongPieceIsGivenBackAtOnce) {
    Alone slots;
    EXPECT_TRUE(slots.arrive(2, header_of(of(2), 0)));
    EXPECT_TRUE(slots.arrive(26, long_header_of(of(2), 1, 5)));
    slots.release(of(2));
    EXPECT_EQ(slots.first(of(2)), 26u);
    EXPECT_FALSE(slots.arrive(22, header_of(of(3), 2))) << "has not been read";
    slots.release(of(2));
    EXPECT_EQ(slots.freed(), 1u << 2 | 0b11111u << 22);
    EXPECT_TRUE(slots.arrive(22, header_of(of(3), 2)));
}

TEST(Slots, WhatBreaksTheRulesIsSeen) {
    Alone slots;
    EXPECT_FALSE(slots.arrive(kSlots, header_of(of(0), 0)));
    EXPECT_FALSE(slots.arrive(20, header_of(stream_of(1, 0), 0)));  // no such team
    EXPECT_FALSE(slots.arrive(kSignSlot, header_of(of(0), 0)));
    EXPECT_FALSE(slots.arrive(1, header_of(kSigns, 0)));
    EXPECT_FALSE(slots.arrive(20, header_of(of(0), 1)));
    EXPECT_FALSE(slots.arrive(20, long_header_of(of(0), 0, 0)));
    EXPECT_FALSE(slots.arrive(20, long_header_of(of(1), 0, 2)));  // partly that of signs
    EXPECT_FALSE(slots.arrive(1, long_header_of(of(1), 0, 3)));
    EXPECT_FALSE(slots.arrive(29, long_header_of(of(0), 0, kPieceSlots + 1)));
    SlotHeader unknown = header_of(of(0), 0);
    unknown.slot = kSlotsMax;
    EXPECT_FALSE(slots.arrive(20, unknown));
    EXPECT_TRUE(slots.arrive(20, header_of(of(0), 0)));
    EXPECT_FALSE(slots.arrive(20, header_of(of(0), 1)));  // has not been read
    EXPECT_FALSE(slots.arrive(21, long_header_of(of(0), 1, 2)));
}

TEST(Slots, AreToldOfWhereManyWait) {
    Alone slots;
    for (uint32_t i = 0; i < kTellAfter; ++i) {
        EXPECT_FALSE(slots.must_tell());
        ASSERT_TRUE(slots.arrive(i, header_of(of(i), i)));
        slots.release(of(i));
    }
    EXPECT_TRUE(slots.must_tell());
    slots.told();
    EXPECT_FALSE(slots.must_tell());
}

// One slot untold is one too many where no shared one is free for its stream.
TEST(Slots, AreToldOfWhereNoSharedOneIsFree) {
    Alone slots;
    ASSERT_TRUE(slots.arrive(0, header_of(of(0), 0)));
    slots.release(of(0));
    for (uint32_t slot = kFirstShared; slot < kSlots; ++slot) {
        EXPECT_FALSE(slots.must_tell());
        ASSERT_TRUE(slots.arrive(slot, header_of(of(1), slot - kFirstShared + 1)));
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
    Alone slots;
    slots.choose_ahead();
    SlotHeader header;
    for (uint32_t slot = kFirstShared; slot < kSlots; ++slot) {
        const SlotRange range = slots.take(of(0));
        EXPECT_EQ(range.slot, slot);
        EXPECT_FALSE(range.tells);
        slots.sign(header, false);
        EXPECT_EQ(header.next, slot + 1 < kSlots ? slot + 1 : 0xff);
        EXPECT_EQ(slots.must_signal(slots.write(range), true), slot + 1 == kSlots || slot == 27);
    }
    const SlotRange own = slots.take(of(0));
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
    Alone slots;
    slots.choose_ahead();
    SlotHeader header;
    const SlotRange row = slots.take(of(0), 3);
    EXPECT_EQ(row.slot, 29u);
    EXPECT_EQ(row.count, 3u);
    EXPECT_TRUE(row.tells);
    slots.sign(header, row.tells);
    EXPECT_EQ(header.next, kFirstShared);
    const SlotRange next = slots.take(of(0), 1);
    EXPECT_EQ(next.slot, kFirstShared);
    EXPECT_FALSE(next.tells);
    EXPECT_TRUE(slots.take(of(0), 1, true).tells);
}

// Of a team alone there are as many own slots as streams: none is buffered.
TEST(Slots, NothingIsPutAsideForOneTeam) {
    Alone slots;
    for (uint32_t i = 0; i < kOwnSlots; ++i) ASSERT_TRUE(slots.arrive(i, header_of(of(i), i)));
    EXPECT_EQ(slots.crowded(), kNoSlot);
}

TEST(Slots, WhatNobodyAsksForIsPutAside) {
    Slots slots;
    slots.reserve_teams(2);
    const uint32_t stream = stream_of(1, 4);
    uint64_t number = 0;
    for (uint32_t i = 0; i < kOwnSlots - kOwnFree; ++i) {
        ASSERT_TRUE(slots.arrive(i, header_of(i == 0 ? stream : of(i), number++)));
    }
    ASSERT_TRUE(slots.arrive(20, header_of(stream, number++)));
    EXPECT_FALSE(slots.has_to_tell_unexpected());
    ASSERT_TRUE(slots.arrive(18, header_of(of(18), number++)));
    ASSERT_EQ(slots.crowded(), 0u);
    EXPECT_EQ(slots.stream_in(0), stream);
    slots.buffer_unexpected(0);
    EXPECT_EQ(slots.crowded(), kNoSlot);
    EXPECT_EQ(slots.freed(), 1u);
    EXPECT_EQ(slots.first(stream), kUnexpectedSlot);
    EXPECT_EQ(slots.first_count(stream), 1u);
    slots.release(stream);
    EXPECT_EQ(slots.first(stream), 20u) << "what came behind it";
    EXPECT_EQ(slots.read_unexpected(), std::vector<uint32_t>{stream});
    EXPECT_TRUE(slots.has_to_tell_unexpected());
    slots.told_unexpected(1);
    EXPECT_FALSE(slots.has_to_tell_unexpected());
}

// Until it is read there.
TEST(Slots, AStreamHasNoOwnOneWhileItsPieceIsAside) {
    Alone slots;
    EXPECT_EQ(slots.take(of(3)).slot, 0u);
    slots.complete(slots.write({0}));
    EXPECT_TRUE(slots.hear(UnexpectedNote{of(3), 0}));
    slots.hear(1u << 0);
    EXPECT_EQ(slots.take(of(3)).slot, kFirstShared);
    EXPECT_EQ(slots.take(of(4)).slot, 0u);
    EXPECT_TRUE(slots.hear(UnexpectedNote{of(3), 1}));
    EXPECT_EQ(slots.take(of(3)).slot, 1u);
}

TEST(Slots, NotesThatCannotBeAreSeen) {
    Alone slots;
    EXPECT_FALSE(slots.hear(UnexpectedNote{kSigns, 0}));
    EXPECT_FALSE(slots.hear(UnexpectedNote{stream_of(1, 0), 0}));
    EXPECT_FALSE(slots.hear(UnexpectedNote{of(3), 1})) << "none is unexpected";
    EXPECT_TRUE(slots.hear(UnexpectedNote{of(3), 0}));
    EXPECT_FALSE(slots.hear(UnexpectedNote{of(3), 0})) << "one is";
}

// Two ends that write and read what they feel like, both ways over connections that keep order, in
// one team or several: nothing is overwritten, a stream that is read gets through, in its order,
// and immediates never outnumber the receives.
class SlotsWalk : public testing::Test {
  protected:
    // A piece, or a word where there is no slot.
    struct Flying {
        SlotRange range;
        SlotHeader header;
        std::vector<UnexpectedNote> notes;
        uint64_t write = 0;
        bool is_signaled = false;
        bool tells = true;
    };
    struct End {
        Slots slots;
        std::deque<Flying> coming;
        uint64_t completed = 0;  // its own writes
        std::vector<uint64_t> sent;
        std::vector<uint64_t> read;
        // What it reads: which piece of its stream.
        std::array<uint64_t, kSlots> memory{};
        std::vector<uint64_t> unexpected;
    };
    void begin(uint32_t teams) {
        streams_ = stream_of(teams, 0);
        for (End& end : ends_) {
            end = {};
            end.slots.reserve_teams(teams);
            end.sent.resize(streams_);
            end.read.resize(streams_);
            end.unexpected.resize(streams_);
        }
        buffered_ = 0;
    }
    void send(uint32_t from, const SlotRange& range, const SlotHeader& header,
              std::vector<UnexpectedNote> notes = {}) {
        Slots& slots = ends_[from].slots;
        const uint64_t number = slots.write(range);
        const bool is_signaled = slots.must_signal(number, range.slot != kNoSlot);
        ends_[1 - from].coming.push_back(
            {range, header, std::move(notes), number, is_signaled, range.tells});
        ASSERT_LE(std::ranges::count(ends_[1 - from].coming, true, &Flying::tells), 2 * kSlots);
    }
    void write(uint32_t from, uint32_t stream, uint32_t wanted) {
        End& end = ends_[from];
        if (!end.slots.writes().may_begin()) return;
        const SlotRange range = end.slots.take(stream, wanted);
        if (range.slot == kNoSlot) return;
        ASSERT_LE(range.count, wanted);
        // It may be there at once.
        const auto last = ends_[1 - from].memory.begin() + range.slot + 1;
        std::fill(last - range.count, last, end.sent[stream]);
        SlotHeader header = header_of(stream, 0);
        header.slots = static_cast<uint8_t>(range.count);
        end.slots.sign(header, range.tells);
        send(from, range, header);
        ++end.sent[stream];
    }
    // As Link::buffer_unexpected().
    void buffer_unexpected(uint32_t at) {
        End& end = ends_[at];
        if (!end.slots.has_to_tell_unexpected() || !end.slots.writes().may_begin()) return;
        const SlotRange range = end.slots.take(kSigns);
        if (range.slot == kNoSlot) return;
        std::vector<UnexpectedNote> notes;
        for (const uint32_t stream : end.slots.read_unexpected()) notes.push_back({stream, 1});
        end.slots.told_unexpected(notes.size());
        for (uint32_t slot = end.slots.crowded(); slot != kNoSlot; slot = end.slots.crowded()) {
            const uint32_t stream = end.slots.stream_in(slot);
            end.unexpected[stream] = end.memory[slot];
            end.slots.buffer_unexpected(slot);
            notes.push_back({stream, 0});
            ++buffered_;
        }
        SlotHeader header = header_of(kSigns, 0);
        end.slots.sign(header, range.tells);
        send(at, range, header, std::move(notes));
    }
    void land(uint32_t to) {
        End& end = ends_[to];
        if (end.coming.empty()) return;
        const Flying flying = end.coming.front();
        end.coming.pop_front();
        if (flying.tells) {
            end.slots.hear_immediate();
        } else {
            ASSERT_EQ(end.slots.awaited(), flying.range.slot);
            ASSERT_EQ(flying.range.count, 1u);
            ASSERT_EQ(end.slots.awaited_number(), flying.header.number);
            ASSERT_EQ(end.slots.immediates(), flying.header.told);
        }
        if (flying.range.slot != kNoSlot) {
            ASSERT_TRUE(end.slots.arrive(flying.range.slot, flying.header));
            if (stream_of(flying.header) == kSigns) end.slots.release(kSigns);
        }
        end.slots.hear(flying.header.freed);
        for (const UnexpectedNote& note : flying.notes) ASSERT_TRUE(end.slots.hear(note));
        // All before too, which the signaled one says.
        if (flying.is_signaled) ends_[1 - to].completed = flying.write;
    }
    void read(uint32_t at, uint32_t stream) {
        End& end = ends_[at];
        const uint32_t slot = end.slots.first(stream);
        if (slot == kNoSlot) return;
        const uint32_t count = end.slots.first_count(stream);
        for (uint32_t i = 0; i < count; ++i) {
            const uint64_t piece =
                slot == kUnexpectedSlot ? end.unexpected[stream] : end.memory[slot - i];
            ASSERT_EQ(piece, end.read[stream]);
        }
        end.slots.release(stream);
        ++end.read[stream];
    }
    void complete(uint32_t at) { ends_[at].slots.complete(ends_[at].completed); }
    void tell(uint32_t from) {
        buffer_unexpected(from);
        Slots& slots = ends_[from].slots;
        if (!slots.must_tell() || !slots.writes().may_begin()) return;
        SlotHeader word;
        word.freed = slots.freed();
        slots.told();
        slots.count_immediate();
        send(from, {}, word);
    }
    [[nodiscard]] bool is_read(uint32_t stream) const { return stream % 3 == 1; }
    void run(Prng& prng) {
        for (int turn = 0; turn < 4000; ++turn) {
            const auto at = static_cast<uint32_t>(prng.below(2));
            const auto stream = static_cast<uint32_t>(1 + prng.below(streams_ - 1));
            switch (prng.below(5)) {
                case 0:
                case 1:
                    write(at, stream, static_cast<uint32_t>(1 + prng.below(kPieceSlots + 1)));
                    break;
                case 2:
                    land(at);
                    break;
                case 3:
                    if (is_read(stream)) read(at, stream);  // others are never asked for
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
        for (uint32_t stream = 1; stream < streams_; ++stream) {
            if (!is_read(stream)) continue;
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

    std::array<End, 2> ends_;
    uint32_t streams_ = 0;
    uint64_t buffered_ = 0;
};

TEST_F(SlotsWalk, Seeds) {
    const test::Seeds seeds = test::Seeds::wanted(1000);
    uint64_t buffered = 0;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SCOPED_TRACE(test::replay(seed));
        const uint32_t teams = seed % 8 < 4 ? 1 : 2 + static_cast<uint32_t>(seed % 3);
        begin(teams);
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
        if (teams == 1) {
            ASSERT_EQ(buffered_, 0u);
        }
        buffered += buffered_;
    }
    if (seeds.count >= 1000) {
        EXPECT_GT(buffered, 1000u);
    }
}

}  // namespace
}  // namespace tutti::transport::verbs
