// SPDX-License-Identifier: BSD-3-Clause
// An offer: "my data of this call stands there, read it". Single copy's one protocol; docs/node.md,
// "Single copy".
//
// One word a rank holds the state of its offer. Readers count themselves in before they read and
// out afterwards, so the giver knows when its memory is its own again. A giver that has waited long
// enough withdraws. From then on no new reader counts itself in, later ones find the data in the
// giver's ring of chunks, and the giver waits only for its current readers.
//
// Orders: the giver writes what it offers, then the word (release). A reader's counting in is an
// acquiring exchange, its counting out a releasing addition, and the giver looks by acquiring
// loads. All of them change one word, so counting in and withdrawing cannot both win.
//
// Where more readers at a time were measured to be slower (Tuning::readers_max), one that comes
// while so many read waits until one of them is done. How many read and the place that the next one
// takes are the same word, so there are never more. Readers give each other nothing but the place:
// no order between them is needed. A reader that waits holds nothing, so there is no deadlock.
//
// The word, from the top: number of the call (40 bits), refused, withdrawn, readers that
// have begun, readers that are done.
#pragma once

#include "run/node/detail.h"

namespace tutti::node {

inline constexpr unsigned kReaderBits = 11;
static_assert(kReadersMax == (uint64_t{1} << kReaderBits) - 1);
inline constexpr uint64_t kOneDone = 1;
inline constexpr uint64_t kOneBegun = uint64_t{1} << kReaderBits;
inline constexpr uint64_t kWithdrawn = uint64_t{1} << (2 * kReaderBits);
inline constexpr uint64_t kRefused = kWithdrawn << 1;
inline constexpr unsigned kOfferNumberShift = 2 * kReaderBits + 2;
static_assert(kOfferNumberMax == UINT64_MAX >> kOfferNumberShift);

inline uint64_t offer_number(uint64_t word) { return word >> kOfferNumberShift; }
inline uint64_t readers_done(uint64_t word) { return word & kReadersMax; }
inline uint64_t readers_begun(uint64_t word) { return word >> kReaderBits & kReadersMax; }
// How many read now. A reader that could not, and gave its claim back, is done.
inline uint64_t readers_now(uint64_t word) { return readers_begun(word) - readers_done(word); }

// Bytes read at a time, so that a waiting rank's other work goes on.
inline constexpr size_t kReadBytesMax = 256 * 1024;

// ---- the giver ----------------------------------------------------------------------------------

// result: of an allreduce, where this rank's share of the result will stand.
// state: kWithdrawn, of an offer that nobody is to read.
inline void open_offer(Team& team, const Op& op, const std::byte* data,
                       const std::byte* result = nullptr, uint64_t state = 0) {
    OfferWords& mine = team.slice.offer(team.rank);
    mine.note = op.note;
    mine.data = reinterpret_cast<uint64_t>(data);
    mine.result = reinterpret_cast<uint64_t>(result);
    mine.state.store(op.number << kOfferNumberShift | state, std::memory_order_release);
}

inline uint64_t own_offer(const Team& team) {
    return team.slice.offer(team.rank).state.load(std::memory_order_acquire);
}

inline void withdraw_offer(Team& team) {
    team.slice.offer(team.rank).state.fetch_or(kWithdrawn, std::memory_order_acq_rel);
}

// ---- readers ------------------------------------------------------------------------------------

enum class Offered {
    kNotYet,
    kFull,      // of claim(): as many read there as may at a time
    kOpen,      // of claim(): this rank has counted itself in
    kGone,      // the data is in the giver's ring, or will be
    kDisagrees  // of claim(): the giver runs another call, or one of another size (`note`), and
                // this rank is out again
};

// Without counting in: it may be gone a moment later.
inline Offered look_at_offer(const Team& team, const Op& op, Rank giver) {
    const uint64_t word = team.slice.offer(giver).state.load(std::memory_order_acquire);
    if (offer_number(word) < op.number) return Offered::kNotYet;
    const bool is_gone = offer_number(word) > op.number || (word & kWithdrawn) != 0;
    return is_gone ? Offered::kGone : Offered::kOpen;
}

inline Offered claim(const Team& team, const Op& op, Rank giver, uint64_t& note) {
    OfferWords& theirs = team.slice.offer(giver);
    uint64_t word = theirs.state.load(std::memory_order_acquire);
    do {
        if (offer_number(word) < op.number) return Offered::kNotYet;
        if (offer_number(word) > op.number || (word & kWithdrawn) != 0) return Offered::kGone;
        if (readers_now(word) >= team.tuning.readers_max) return Offered::kFull;
    } while (!theirs.state.compare_exchange_weak(word, word + kOneBegun, std::memory_order_acq_rel,
                                                 std::memory_order_acquire));
    note = theirs.note;
    if (note == op.note) return Offered::kOpen;
    theirs.state.fetch_sub(kOneBegun, std::memory_order_acq_rel);
    return Offered::kDisagrees;
}

inline void release_claim(const Team& team, Rank giver) {
    team.slice.offer(giver).state.fetch_add(kOneDone, std::memory_order_acq_rel);
}

// This rank cannot read there: the giver is to put its data into its ring.
inline void refuse(const Team& team, Rank giver) {
    team.slice.offer(giver).state.fetch_or(kRefused, std::memory_order_acq_rel);
}
// The same of what it has claimed: first, since the giver may leave once nobody reads there.
inline void give_back(const Team& team, Rank giver) {
    refuse(team, giver);
    release_claim(team, giver);
}

}  // namespace tutti::node
