// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/slots.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace tutti::transport::verbs {
namespace {

constexpr uint32_t kShared = kAllSlots & ~((1u << kFirstShared) - 1);
constexpr uint32_t kOwn = (1u << kOwnSlots) - 1;
constexpr uint32_t kFirstAhead = kFirstShared;

// So many, of which slot is the last: count <= slot + 1.
constexpr uint32_t bits_of(uint32_t slot, uint32_t count) {
    return ((1u << count) - 1) << (slot + 1 - count);
}

}  // namespace

void Slots::reserve_teams(uint32_t teams) {
    const size_t streams = stream_of(teams, 0);
    if (streams <= streams_.size()) return;
    read_unexpected_.reserve(streams);
    streams_.resize(streams);
}

// Its own piece of before has been read, so far as is known here; a slot that was given back may
// have another stream's by now.
uint32_t Slots::slots_of(uint32_t stream) const {
    if (stream == kSigns) return kShared | 1u << kSignSlot;
    const uint32_t own = streams_[stream].own;
    if (own == kUnexpectedSlot) return kShared;
    const bool is_read = own == kNoSlot || writer_[own] != stream || given_back(1u << own) != 0;
    return is_read ? kShared | kOwn : kShared;
}

uint32_t Slots::available(uint32_t slots) const {
    uint32_t found = 0;
    uint32_t candidates = given_back(slots);
    for (; candidates != 0; candidates &= candidates - 1) {
        const auto slot = static_cast<uint32_t>(std::countr_zero(candidates));
        if (writes_.is_complete(write_of_[slot])) found |= 1u << slot;
    }
    return found;
}

bool Slots::has_none() const {
    return chooses_ahead_ ? ahead_ == kNoSlot : available(kShared) == 0;
}

bool Slots::may_go_on(uint32_t stream) const {
    return writes_.may_begin() && (ahead_ != kNoSlot || available(slots_of(stream)) != 0);
}

bool Slots::awaits_completion(uint32_t stream) const {
    return available(slots_of(stream)) != given_back(slots_of(stream));
}

// Single ones: own ones first, so that the shared ones are there for whoever has more to send.
SlotRange Slots::take(uint32_t stream, uint32_t wanted, bool tells) {
    TUTTI_ASSERT(has_stream(stream), "the stream is there");
    if (wanted > 1) {
        const SlotRange row = take_row(std::min(wanted, kPieceSlots));
        if (row.count > 1) return row;
    }
    const uint32_t found = tells || ahead_ == kNoSlot ? available(slots_of(stream)) : 0;
    if (found == 0) return {std::exchange(ahead_, kNoSlot), 1, tells, true};
    const auto slot = static_cast<uint32_t>(std::countr_zero(found));
    taken_ ^= 1u << slot;
    if (slot < kOwnSlots) {
        streams_[stream].own = slot;
        writer_[slot] = stream;
    }
    return {slot};
}

bool Slots::hear(const UnexpectedNote& note) {
    if (!has_stream(note.stream) || note.stream == kSigns) return false;
    uint32_t& own = streams_[note.stream].own;
    if ((own == kUnexpectedSlot) != (note.is_read != 0)) return false;
    own = note.is_read != 0 ? kNoSlot : kUnexpectedSlot;
    return true;
}

// The longest row of shared ones, from the other end than single ones, which break up no more of
// them than they have to.
SlotRange Slots::take_row(uint32_t wanted) {
    const uint32_t found = available(kShared);
    SlotRange row;
    uint32_t ends = found;  // of rows of so many
    for (; row.count < wanted && (found & ends << 1) != 0; ++row.count) ends = found & ends << 1;
    if (row.count == 1) return row;
    row.slot = static_cast<uint32_t>(std::bit_width(ends)) - 1;
    taken_ ^= bits_of(row.slot, row.count);
    return row;
}

// Both ends know the first one.
void Slots::choose_ahead() {
    TUTTI_ASSERT(taken_ == 0, "nothing has been sent");
    chooses_ahead_ = true;
    ahead_ = kFirstAhead;
    taken_ = 1u << kFirstAhead;
}

void Slots::await_ahead() {
    awaits_ahead_ = true;
    awaited_ = kFirstAhead;
}

void Slots::sign(SlotHeader& header, bool tells) {
    const uint32_t found = chooses_ahead_ && ahead_ == kNoSlot ? available(kShared) : 0;
    if (found != 0) {
        ahead_ = static_cast<uint32_t>(std::countr_zero(found));
        taken_ ^= 1u << ahead_;
    }
    header.next = static_cast<uint8_t>(ahead_);  // kNoSlot: 0xff
    header.freed = freed_;
    header.number = sent_++;
    if (tells) count_immediate();
    header.told = immediates_.told;
    told();
}

uint64_t Slots::write(const SlotRange& range) {
    const uint64_t number = writes_.begin();
    if (range.slot == kNoSlot) return number;
    for (uint32_t i = 0; i < range.count; ++i) write_of_[range.slot - i] = number;
    return number;
}

bool Slots::arrive(uint32_t slot, const SlotHeader& header) {
    const uint32_t number = stream_of(header);
    if (slot >= kSlots || header.slot >= kSlotsMax || !has_stream(number)) return false;
    if (header.slots == 0 || header.slots > std::min(slot + 1, kPieceSlots)) return false;
    const uint32_t filled = bits_of(slot, header.slots);
    const uint32_t own = number == kSigns ? 1u << kSignSlot : kOwn;
    const uint32_t allowed = header.slots == 1 ? kShared | own : kShared;
    if ((filled & ~allowed) != 0 || (filled & occupied_) != 0) return false;
    if (header.number != received_) return false;
    if (awaits_ahead_) awaited_ = header.next < kSlots ? header.next : kNoSlot;
    ++received_;
    occupied_ |= filled;
    filled_[slot] = filled;
    next_[slot] = kNoSlot;
    if (slot < kOwnSlots) holder_[slot] = number;
    Stream& stream = streams_[number];
    (stream.last == kNoSlot ? stream.first : next_of(stream, stream.last)) = slot;
    stream.last = slot;
    return true;
}

void Slots::release(uint32_t stream) {
    Stream& of = streams_[stream];
    const uint32_t slot = of.first;
    TUTTI_ASSERT(slot != kNoSlot, "a piece has come");
    of.first = next_of(of, slot);
    if (of.first == kNoSlot) of.last = kNoSlot;
    if (slot == kUnexpectedSlot) {
        of.has_unexpected = false;
        read_unexpected_.push_back(stream);
        return;
    }
    occupied_ &= ~filled_[slot];
    freed_ ^= filled_[slot];
}

// Of a stream that has one buffered, a broken peer has sent another.
uint32_t Slots::crowded() const {
    if (streams_.size() <= kFirstShared) return kNoSlot;
    uint32_t left = occupied_ & kOwn;
    if (std::popcount(left) + kOwnFree <= kOwnSlots) return kNoSlot;
    for (; left != 0; left &= left - 1) {
        const auto slot = static_cast<uint32_t>(std::countr_zero(left));
        if (!streams_[holder_[slot]].has_unexpected) return slot;
    }
    return kNoSlot;
}

void Slots::buffer_unexpected(uint32_t slot) {
    Stream& of = streams_[holder_[slot]];
    uint32_t* at = &of.first;
    while (*at != slot) at = &next_of(of, *at);
    *at = kUnexpectedSlot;
    of.behind_unexpected = next_[slot];
    if (of.last == slot) of.last = kUnexpectedSlot;
    of.has_unexpected = true;
    occupied_ &= ~(1u << slot);
    freed_ ^= 1u << slot;
}

// Early where many are untold; and always where none of the shared ones is sure to be free for a
// stream whose own one is untold (I2).
bool Slots::must_tell() const {
    const uint32_t untold = freed_ ^ told_;
    if (untold == 0) return false;
    const uint32_t enough = awaits_ahead_ ? kTellTailsAfter : kTellAfter;
    return std::popcount(untold) >= static_cast<int>(enough) ||
           (kShared & ~(untold | occupied_)) == 0;
}

}  // namespace tutti::transport::verbs
