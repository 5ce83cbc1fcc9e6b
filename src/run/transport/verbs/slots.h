// SPDX-License-Identifier: BSD-3-Clause
// The slots of one end of a pair of processes, for what it sends and for what it receives, in all
// teams that share the pair: which are free, when they may be written again, what order messages
// have. No verbs, no memory, no I/O.
//
// Source: Kini 2003, Sections 5.3.1 and 5.3.3 (a block per sender, written by RDMA). Differs: its
// odd and even buffers rest on one collective after the other; here calls may overlap, so slots are
// given back by the receiver. docs/protocol/verbs.md has the states.
//
// A piece may come without an immediate, where the receiver looks for it in memory
// (Link::take_tails()). Its slot is one of the shared, and the piece before it has said which, so
// that there is one place to look at; its number, which is placed last, says that it is there.
// Pieces are taken in the order in which they were written, with and without immediates.
//
// There are *own* slots and shared ones. A stream may have one piece in an own slot, whichever is
// free, and any number in the shared ones. Of one team there are as many own slots as streams. Of
// several there are fewer, so unexpected pieces, for which no receive was posted, are *buffered*
// before own slots run short: copied into memory that their stream has for one such piece. The
// stream has no own slot then until that has been read. The reader tells by a piece in the stream
// of signs (link.cpp).
//
// A piece of a message that goes on may fill several shared slots that lie next to each other: one
// write, one immediate, one header at the end of the last of them.
//
// Invariants (checked here, and by tests/unit/run/transport/verbs):
//   I1  A slot is written again only after the receiver gave it back, and after the write before is
//       complete here (its memory is the device's until then).
//   I2  A stream whose messages are received goes on, whatever lies in the others' slots: it finds
//       an own one, of which some are free, or will be as soon as the other end looks and says so.
//   I3  At most kSlots + kSlots + 1 immediates are on their way to an end: a piece in each slot,
//       a word about each slot, and the last. So kRecvs receives are always enough.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "run/transport/transport.h"
#include "run/transport/verbs/write_count.h"

namespace tutti::transport::verbs {

// An immediate has 32 bits: a slot's number, or one bit for each slot and two that say so.
inline constexpr uint32_t kSlots = 30;
// Those of messages' streams; of a team's first stream the first, if it is free.
inline constexpr uint32_t kOwnSlots = kSlotsMax;
// That of signs: offers (operations.h), and what was buffered. They are read as they come.
inline constexpr uint32_t kSignSlot = kOwnSlots;
inline constexpr uint32_t kFirstShared = kSignSlot + 1;
static_assert(kSlots > kFirstShared, "some are shared");
// So many own ones are free at the reader, where there are more streams than own slots.
inline constexpr uint32_t kOwnFree = 8;
// At a time.
inline constexpr uint32_t kTeamsMax = 256;
// The streams of a pair: that of signs, and by teams those of messages.
inline constexpr uint32_t kSigns = 0;
constexpr uint32_t stream_of(uint32_t team, uint32_t slot) { return 1 + team * kSlotsMax + slot; }
constexpr uint32_t team_of(uint32_t stream) { return (stream - 1) / kSlotsMax; }
constexpr uint32_t slot_of(uint32_t stream) { return (stream - 1) % kSlotsMax; }
inline constexpr uint32_t kRecvs = 64;
static_assert(kRecvs > 2 * kSlots);
// So many slots are given back by a word of their own, where no message goes the other way.
inline constexpr uint32_t kTellAfter = 10;
// Sooner where all pieces go by the shared ones, so that one is free for the next piece in time.
inline constexpr uint32_t kTellTailsAfter = 6;
inline constexpr uint32_t kNoSlot = UINT32_MAX;
// Whatever the packets' length, so that those of 1,024 bytes cost no more writes than long ones.
inline constexpr size_t kSlotBytes = 4096;
// As many a piece has at most: half of the shared ones, so that two of them have room.
inline constexpr uint32_t kPieceSlots = (kSlots - kFirstShared) / 2;
// Of an end: what others count in, and where former values go that nobody asks for.
inline constexpr uint32_t kCounter = 0;
inline constexpr uint32_t kFormer = 1;
// To which all of the team add, at rank 0; and what it was before (adder.h).
inline constexpr uint32_t kArrivals = 2;
inline constexpr uint32_t kArrivalsBefore = 3;
inline constexpr uint32_t kWords = 4;

// What an immediate says.
inline constexpr uint32_t kIsWord = 1u << 31;  // about all slots: bit i as in freed()
inline constexpr uint32_t kIsLast = 1u << 30;  // with it: no more comes from that end
inline constexpr uint32_t kAllSlots = (1u << kSlots) - 1;

enum class Piece : uint8_t {
    kData,
    kGivenUp,     // no data: the message ends here, and is none
    kAnnounced,   // no data: they go straight into the receiver's memory, once it offers some
    kWhole,       // no data: they are all there
    kOffer,       // a sign: memory for a message that was announced
    kUnexpected,  // a sign: of which streams pieces were buffered, or were read there
    kBye,         // a sign: nothing more comes from the team of that end
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
    uint8_t slot = 0;  // the MessageId's; of signs nothing
    Piece piece = Piece::kData;
    uint8_t next = 0xff;  // where the next piece comes that has no immediate; 0xff: none does
    uint8_t told = 0;     // immediates, this piece's too, modulo 2^8: more than are on their way
    uint8_t slots = 1;    // that the piece fills, of which its own is the last
    uint8_t team = 0;
    uint64_t number = kFirstPiece;
};
static_assert(sizeof(SlotHeader) == 40 && kRecvs < 256);

// Where a piece goes: the last of so many slots next to each other.
struct SlotRange {
    uint32_t slot = kNoSlot;
    uint32_t count = 1;
    bool tells = true;      // by an immediate
    bool is_ahead = false;  // it was chosen ahead, for a piece of one packet
};

// Of a piece of that kind.
constexpr uint32_t stream_of(const SlotHeader& header) {
    return header.piece >= Piece::kOffer ? kSigns : stream_of(header.team, header.slot);
}

// Of a stream, among slots: the piece that was buffered.
inline constexpr uint32_t kUnexpectedSlot = kSlots;

// What a sign of kUnexpected says, once for each stream.
struct UnexpectedNote {
    uint32_t stream = 0;
    uint32_t is_read = 0;  // else it was buffered
};
// So many in a piece at most.
inline constexpr size_t kUnexpectedNotes = 64;
// Signs may come without immediates.
inline constexpr uint32_t kPacketBytesMin = 1024;
static_assert(sizeof(SlotHeader) + kUnexpectedNotes * sizeof(UnexpectedNote) <= kPacketBytesMin);
static_assert(kPieceSlots * kSlotBytes <= UINT16_MAX);

class Slots {
  public:
    // So many teams; allocates. Those that there are stay.
    void reserve_teams(uint32_t teams);
    [[nodiscard]] bool has_stream(uint32_t stream) const { return stream < streams_.size(); }

    // ---- writing ----
    // The other end looks for pieces in memory.
    void choose_ahead();
    // For a piece of the stream that would fill so many, from here on in use: as many of them as
    // there are, in one piece; kNoSlot: it has to wait. tells: by an immediate, whatever there is.
    // Pieces of several packets have one, since it is the end of one packet alone that is said to
    // land last; so none is in a slot that was chosen ahead.
    SlotRange take(uint32_t stream, uint32_t wanted = 1, bool tells = false);
    // What a header says beside the message. tells: it goes with an immediate.
    void sign(SlotHeader& header, bool tells);
    void count_immediate() { ++immediates_.told; }
    [[nodiscard]] const WriteCount& writes() const { return writes_; }
    // Counts a write, into slots or none, and says its number.
    uint64_t write(const SlotRange& range = {});
    // Whether that one has to be signaled, a piece or none. Where a piece leaves no shared slot,
    // its completion, which tells of all before, will be waited for. So either some shared slot is
    // there for every stream, or what the streams wait for will be told. Where slots are chosen
    // ahead, that is one for every stream.
    [[nodiscard]] bool must_signal(uint64_t number, bool is_piece = false) const {
        return number % kSignalEvery == 0 || (is_piece && has_none());
    }
    // Behind what was written, one more piece of the stream can go.
    [[nodiscard]] bool may_go_on(uint32_t stream) const;
    // What an UnexpectedNote of the other end says. False where it cannot be.
    bool hear(const UnexpectedNote& note);
    // A slot for the stream was given back, and only that the write before is complete is missing.
    [[nodiscard]] bool awaits_completion(uint32_t stream) const;
    // All writes up to this one are complete.
    void complete(uint64_t number) { writes_.complete(number); }
    // What the other end says of its freed(). Words come in the order in which they were said.
    void hear(uint32_t freed) { heard_ = freed & kAllSlots; }

    // ---- reading ----
    // This end looks for pieces in memory.
    void await_ahead();
    // Where the next piece may come without an immediate, and its number; kNoSlot: it does not.
    [[nodiscard]] uint32_t awaited() const { return awaited_; }
    [[nodiscard]] uint64_t awaited_number() const { return received_; }
    // Immediates that have come, modulo 2^8.
    [[nodiscard]] uint8_t immediates() const { return immediates_.heard; }
    void hear_immediate() { ++immediates_.heard; }
    // A piece has come, its end into this slot. False where it breaks the order, or what slots are
    // for.
    bool arrive(uint32_t slot, const SlotHeader& header);
    // Where the stream's first piece that has not been read ends; kUnexpectedSlot, kNoSlot.
    [[nodiscard]] uint32_t first(uint32_t stream) const { return streams_[stream].first; }
    // How many slots that one fills, or has filled.
    [[nodiscard]] uint32_t first_count(uint32_t stream) const {
        const uint32_t slot = streams_[stream].first;
        return slot == kUnexpectedSlot ? 1 : static_cast<uint32_t>(std::popcount(filled_[slot]));
    }
    // That piece has been read: its slots may be written again.
    void release(uint32_t stream);
    // One bit a slot, which turns over whenever the slot is given back.
    [[nodiscard]] uint32_t freed() const { return freed_; }
    // The other end needs to hear that by a word of its own.
    [[nodiscard]] bool must_tell() const;
    void told() { told_ = freed_; }
    // An own slot whose piece is to be buffered; kNoSlot. Only where notes of it can be told at
    // once: the slot must not be told without.
    [[nodiscard]] uint32_t crowded() const;
    [[nodiscard]] bool has_to_tell_unexpected() const {
        return !read_unexpected_.empty() || crowded() != kNoSlot;
    }
    // Its stream.
    [[nodiscard]] uint32_t stream_in(uint32_t slot) const { return holder_[slot]; }
    // Its piece was copied; the slot may be written again.
    void buffer_unexpected(uint32_t slot);
    // Streams whose piece was read where it had been buffered, untold.
    [[nodiscard]] const std::vector<uint32_t>& read_unexpected() const { return read_unexpected_; }
    // So many of them were told, from the end.
    void told_unexpected(size_t count) { read_unexpected_.resize(read_unexpected_.size() - count); }

  private:
    // Of a stream, of pieces that it writes and that it reads.
    struct Stream {
        uint32_t own = kNoSlot;    // written into this last; kUnexpectedSlot: not read yet there
        uint32_t first = kNoSlot;  // to be read
        uint32_t last = kNoSlot;
        uint32_t behind_unexpected = kNoSlot;  // the next one behind the piece that was buffered
        bool has_unexpected = false;
    };
    // Modulo 2^8.
    struct Immediates {
        uint8_t told = 0;
        uint8_t heard = 0;
    };
    [[nodiscard]] uint32_t& next_of(Stream& stream, uint32_t slot) {
        return slot == kUnexpectedSlot ? stream.behind_unexpected : next_[slot];
    }
    // Where a single piece of the stream may go, by bits.
    [[nodiscard]] uint32_t slots_of(uint32_t stream) const;
    // Those of these slots that were given back, by bits.
    [[nodiscard]] uint32_t given_back(uint32_t slots) const { return ~(taken_ ^ heard_) & slots; }
    // Those of these slots that may be written, by bits.
    [[nodiscard]] uint32_t available(uint32_t slots) const;
    // For streams without an own slot.
    [[nodiscard]] bool has_none() const;
    SlotRange take_row(uint32_t wanted);

    // Bits: the slot has been taken so often (of an odd or even number), the other end's freed().
    uint32_t taken_ = 0;
    uint32_t heard_ = 0;
    WriteCount writes_;
    std::array<uint64_t, kSlots> write_of_{};
    std::array<uint32_t, kOwnSlots> writer_{};  // the stream that has written there last
    uint64_t sent_ = kFirstPiece;
    bool chooses_ahead_ = false;
    uint32_t ahead_ = kNoSlot;

    uint32_t occupied_ = 0;
    uint32_t freed_ = 0;
    uint32_t told_ = 0;
    std::vector<Stream> streams_{1};
    std::vector<uint32_t> read_unexpected_;     // room for all streams
    std::array<uint32_t, kOwnSlots> holder_{};  // the stream whose piece lies there
    std::array<uint32_t, kSlots> next_{};
    std::array<uint32_t, kSlots> filled_{};  // by the piece that ends there, as bits
    uint64_t received_ = kFirstPiece;
    bool awaits_ahead_ = false;
    uint32_t awaited_ = kNoSlot;
    Immediates immediates_;
};

}  // namespace tutti::transport::verbs
