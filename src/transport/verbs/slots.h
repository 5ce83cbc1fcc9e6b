// SPDX-License-Identifier: BSD-3-Clause
// The slots of one end of a pair, for what it sends and for what it receives: which are free, when
// they may be written again, what order messages have. No verbs, no memory, no I/O.
//
// Source: Kini 2003, Sections 5.3.1 and 5.3.3 (a block per sender, written by RDMA). Differs: its
// odd and even buffers rest on one collective after the other; here calls may overlap, so slots are
// given back by the receiver. docs/protocol/verbs.md has the states.
//
// A piece may come without an immediate, where the receiver looks for it in memory (rc_tails.cpp).
// Its slot is one of the shared, and the piece before it has said which, so that there is one place
// to look at; its number, which is placed last, says that it is there. Pieces are taken in the
// order in which they were written, with and without immediates.
//
// A piece of a message that goes on may fill several shared slots that lie next to each other: one
// write, one immediate, one header at the end of the last of them.
//
// Invariants (checked here, and by tests/unit/transport/verbs):
//   I1  A slot is written again only after the receiver gave it back, and after the write before is
//       complete here (its memory is the device's until then).
//   I2  Each stream has a slot of its own, the others are shared: a stream whose messages are
//       received goes on, whatever lies in the others.
//   I3  At most kSlots + kSlots + 1 immediates are on their way to an end: a piece in each slot,
//       a word about each slot, and the last. So kRecvs receives are always enough.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "transport/transport.h"

namespace tutti::transport::verbs {

// An immediate has 32 bits: a slot's number, or one bit for each slot and two that say so.
inline constexpr uint32_t kSlots = 30;
// The streams of messages, and one of offers (rc_direct.cpp), which are read as they come.
inline constexpr uint32_t kOffers = kSlotsMax;
inline constexpr uint32_t kStreams = kOffers + 1;
static_assert(kSlots > kStreams, "each stream has a slot of its own, and some are shared");
inline constexpr uint32_t kRecvs = 64;
static_assert(kRecvs > 2 * kSlots);
// Writes that may be under way; as many, and those that only look whether the other end is there.
inline constexpr uint32_t kSends = 64;
// While so many are, none of long messages is added. More than kSignalEvery, so that one is told.
inline constexpr uint32_t kLongSends = 16;
// At least every so many writes one is signaled; see must_signal().
inline constexpr uint32_t kSignalEvery = 8;
static_assert(kLongSends > kSignalEvery && kLongSends < kSends);
// So many slots are given back by a word of their own, where no message goes the other way.
inline constexpr uint32_t kTellAfter = 10;
// Sooner where all pieces go by the shared ones, so that one is free for the next piece in time.
inline constexpr uint32_t kTellTailsAfter = 6;
inline constexpr uint32_t kNoSlot = UINT32_MAX;
// As many a piece has at most: half of the shared ones, so that two of them have room.
inline constexpr uint32_t kPieceSlots = (kSlots - kStreams) / 2;
// Of an end: what others count in, and where former values go that nobody asks for.
inline constexpr uint32_t kCounter = 0;
inline constexpr uint32_t kFormer = 1;
// To which all of the team add, at rank 0; and what it was before (rc_arrive.cpp).
inline constexpr uint32_t kArrivals = 2;
inline constexpr uint32_t kArrivalsBefore = 3;
inline constexpr uint32_t kWords = 4;

// What an immediate says.
inline constexpr uint32_t kIsWord = 1u << 31;  // about all slots: bit i as in freed()
inline constexpr uint32_t kIsLast = 1u << 30;  // with it: no more comes from that end
inline constexpr uint32_t kAllSlots = (1u << kSlots) - 1;

enum class Piece : uint8_t {
    kData,
    kGivenUp,    // no data: the message ends here, and is none
    kAnnounced,  // no data: they go straight into the receiver's memory, once it offers some
    kWhole,      // no data: they are all there
};

// The numbers of a pair's pieces, one way, from here on: modulo 2^64, and soon over it, so that
// this is nothing rare.
inline constexpr uint64_t kFirstPiece = UINT64_MAX - 49;
// Of what stands in a slot: this piece or a later one.
constexpr bool has_come(uint64_t number, uint64_t wanted) {
    return static_cast<int64_t>(number - wanted) >= 0;
}

// At the end of each piece, behind its data.
struct SlotHeader {
    uint64_t call = 0;  // the CallWord
    uint64_t before = 0;
    uint32_t bytes = 0;  // of the whole message
    uint32_t freed = 0;  // as in freed()
    uint16_t piece_bytes = 0;
    uint8_t stream = 0;  // the MessageId's slot, or kOffers
    Piece piece = Piece::kData;
    uint8_t next = 0xff;  // where the next piece comes that has no immediate; 0xff: none does
    uint8_t told = 0;     // immediates, this piece's too, modulo 2^8: more than are on their way
    uint8_t slots = 1;    // that the piece fills, of which its own is the last
    uint8_t pad = 0;
    uint64_t number = kFirstPiece;
};
static_assert(sizeof(SlotHeader) == 40 && kRecvs < 256);

// Where a piece goes: the last of so many slots next to each other.
struct Room {
    uint32_t slot = kNoSlot;
    uint32_t count = 1;
    bool tells = true;  // by an immediate
};

class Slots {
  public:
    Slots();

    // ---- writing ----
    // The other end looks for pieces in memory.
    void choose_ahead();
    // For a piece of the stream that would fill so many, from here on in use: as many of them as
    // there are, in one piece; kNoSlot: it has to wait. tells: by an immediate, whatever there is.
    // Longer pieces have one, since it is the end of one packet alone that is said to land last.
    Room take(uint32_t stream, uint32_t wanted = 1, bool tells = false);
    // What a header says beside the message. tells: it goes with an immediate.
    void sign(SlotHeader& header, bool tells);
    void count_immediate() { ++told_immediates_; }
    [[nodiscard]] bool may_write() const { return written_ - complete_ < kSends; }
    // One from the program's memory: some are left for slots, and what goes by slots waits for no
    // more than these, as a queue pair keeps the order.
    [[nodiscard]] bool may_write_long() const { return written_ - complete_ < kLongSends; }
    // Counts a write, into slots or none, and says its number.
    uint64_t write(const Room& room = {});
    // Whether that one has to be signaled, a piece or none. Where a piece leaves no shared slot,
    // its completion, which tells of all before, will be waited for. So either some shared slot is
    // there for every stream, or what the streams wait for will be told. Where slots are chosen
    // ahead, that is one for every stream.
    [[nodiscard]] bool must_signal(uint64_t number, bool is_piece = false) const {
        return number % kSignalEvery == 0 || (is_piece && has_none());
    }
    // Behind what was written, one more piece of the stream can go.
    [[nodiscard]] bool may_go_on(uint32_t stream) const;
    // A slot for the stream was given back, and only that the write before is complete is missing.
    [[nodiscard]] bool awaits_completion(uint32_t stream) const;
    // All writes up to this one are complete.
    void complete(uint64_t number);
    [[nodiscard]] bool is_complete(uint64_t number) const { return number <= complete_; }
    // What the other end says of its freed(). Words come in the order in which they were said.
    void hear(uint32_t freed) { heard_ = freed & kAllSlots; }

    // ---- reading ----
    // This end looks for pieces in memory.
    void await_ahead();
    // Where the next piece may come without an immediate, and its number; kNoSlot: it does not.
    [[nodiscard]] uint32_t awaited() const { return awaited_; }
    [[nodiscard]] uint64_t awaited_number() const { return received_; }
    // Immediates that have come, modulo 2^8.
    [[nodiscard]] uint8_t immediates() const { return immediates_; }
    void hear_immediate() { ++immediates_; }
    // A piece has come, its end into this slot. False where it breaks the order, or what slots are
    // for.
    bool arrive(uint32_t slot, const SlotHeader& header);
    // Where the stream's first piece that has not been read ends; kNoSlot.
    [[nodiscard]] uint32_t first(uint32_t stream) const { return first_[stream]; }
    // How many slots that one fills.
    [[nodiscard]] uint32_t first_count(uint32_t stream) const {
        return static_cast<uint32_t>(std::popcount(filled_[first_[stream]]));
    }
    // That piece has been read: its slots may be written again.
    void release(uint32_t stream);
    // One bit a slot, which turns over whenever the slot is given back.
    [[nodiscard]] uint32_t freed() const { return freed_; }
    // The other end needs to hear that by a word of its own.
    [[nodiscard]] bool must_tell() const;
    void told() { told_ = freed_; }

  private:
    // Those of these slots that were given back, by bits.
    [[nodiscard]] uint32_t given_back(uint32_t slots) const { return ~(taken_ ^ heard_) & slots; }
    // Those of these slots that may be written, by bits.
    [[nodiscard]] uint32_t available(uint32_t slots) const;
    // For whoever has no slot of its own left.
    [[nodiscard]] bool has_none() const;
    Room take_row(uint32_t wanted);

    // Bits: the slot has been taken so often (of an odd or even number), the other end's freed().
    uint32_t taken_ = 0;
    uint32_t heard_ = 0;
    uint64_t written_ = 0;
    uint64_t complete_ = 0;
    std::array<uint64_t, kSlots> write_of_{};
    uint64_t sent_ = kFirstPiece;
    bool chooses_ahead_ = false;
    uint32_t ahead_ = kNoSlot;
    uint8_t told_immediates_ = 0;

    uint32_t occupied_ = 0;
    uint32_t freed_ = 0;
    uint32_t told_ = 0;
    std::array<uint32_t, kStreams> first_;
    std::array<uint32_t, kStreams> last_;
    std::array<uint32_t, kSlots> next_;
    std::array<uint32_t, kSlots> filled_{};  // by the piece that ends there, as bits
    uint64_t received_ = kFirstPiece;
    bool awaits_ahead_ = false;
    uint32_t awaited_ = kNoSlot;
    uint8_t immediates_ = 0;
};

}  // namespace tutti::transport::verbs
