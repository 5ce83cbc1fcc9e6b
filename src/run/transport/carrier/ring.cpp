// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/ring.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>

#include "base/assert.h"

namespace tutti::transport::carrier {
namespace {

constexpr size_t kPage = 4096;
// Of RingSlot::readers: the service's share, beside the number of ranks.
constexpr uint32_t kHold = 1u << 31;

enum SlotState : uint64_t { kFree, kFullHere, kFullNetwork, kClosed };

constexpr uint64_t state_of(uint64_t number, SlotState kind) { return number << 2 | kind; }

constexpr size_t pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

size_t waiters_at() { return sizeof(RingHeader); }
size_t slots_at(uint32_t members) {
    const size_t end = waiters_at() + members * sizeof(std::atomic<uint32_t>);
    return (end + alignof(RingSlot) - 1) / alignof(RingSlot) * alignof(RingSlot);
}
size_t data_at(uint32_t members, uint32_t slots) {
    return pages(slots_at(members) + slots * sizeof(RingSlot));
}

}  // namespace

size_t ring_bytes(const RingParams& params) {
    return data_at(params.members, params.slots) + params.slots * kMulticastBytesMax;
}

void Ring::format(std::byte* memory, const RingParams& params) {
    TUTTI_ASSERT(std::has_single_bit(params.slots), "the slots of a ring are a power of two");
    TUTTI_ASSERT(params.slots <= kRingSlotsMax, "a ring has at most 64 slots");
    TUTTI_ASSERT(params.ranks >= 1 && params.ranks < kHold, "a ring has ranks");
    TUTTI_ASSERT(params.members <= mcast::kMembersMax, "a group has at most 4096 members");
    auto* header = ::new (memory) RingHeader;
    header->slots = params.slots;
    header->ranks = params.ranks;
    header->members = params.members;
    for (uint32_t i = 0; i < params.members; ++i) {
        ::new (memory + waiters_at() + i * sizeof(std::atomic<uint32_t>)) std::atomic<uint32_t>(0);
    }
    for (uint32_t i = 0; i < params.slots; ++i) {
        auto* slot = ::new (memory + slots_at(params.members) + i * sizeof(RingSlot)) RingSlot;
        slot->state.store(state_of(i, kFree), std::memory_order_relaxed);
    }
}

RingSlot& Ring::slot(uint64_t number) const {
    auto* first = reinterpret_cast<RingSlot*>(memory_ + slots_at(members()));
    return first[number & (slots() - 1)];
}

std::byte* Ring::data(uint64_t number) const {
    return memory_ + data_at(members(), slots()) + (number & (slots() - 1)) * kMulticastBytesMax;
}

std::atomic<uint32_t>& Ring::waiters(mcast::Member member) const {
    TUTTI_ASSERT(member < members(), "no such member");
    return reinterpret_cast<std::atomic<uint32_t>*>(memory_ + waiters_at())[member];
}

// ---------------------------------------------------------------- ranks

// The look at `failure` comes after the look at `state`, both sequentially consistent: who finds a
// slot that was freed after close() went by also finds that the ring is closed. A slot that was
// free before is closed by close() or filled here, whichever comes first.
Ring::Fill Ring::fill(uint64_t number, Rank sender, const std::byte* from, size_t bytes) const {
    TUTTI_ASSERT(bytes <= kMulticastBytesMax, "a multicast longer than a slot");
    RingSlot& slot = this->slot(number);
    uint64_t state = slot.state.load(std::memory_order_seq_cst);
    const bool has_failed = header().failure.load(std::memory_order_seq_cst) != RingHeader::kNone;
    // publish() closes a slot for a moment, though nothing has failed.
    if (state == state_of(number, kClosed)) return has_failed ? Fill::kClosed : Fill::kNotFree;
    if (state != state_of(number, kFree)) {
        if (state > state_of(number, kFree)) {
            contradict();
            return Fill::kContradicted;
        }
        // Whoever has to read it may be waiting for this very rank after a failure.
        return has_failed ? Fill::kClosed : Fill::kNotFree;
    }
    if (has_failed) return Fill::kClosed;
    if (bytes > 0) std::memcpy(data(number), from, bytes);
    slot.bytes = static_cast<uint32_t>(bytes);
    slot.sender = sender;
    slot.readers.store((header().ranks - 1) | kHold, std::memory_order_relaxed);
    if (!slot.state.compare_exchange_strong(state, state_of(number, kFullHere),
                                            std::memory_order_seq_cst)) {
        const bool is_closed = state == state_of(number, kClosed);
        if (is_closed && header().failure.load(std::memory_order_seq_cst) != RingHeader::kNone) {
            return Fill::kClosed;
        }
        contradict();
        return Fill::kContradicted;
    }
    header().bell.ring(kFilledRings);
    header().filled.fetch_add(1, std::memory_order_seq_cst);
    return Fill::kDone;
}

bool Ring::has(uint64_t number) const {
    const uint64_t state = slot(number).state.load(std::memory_order_acquire);
    return state == state_of(number, kFullHere) || state == state_of(number, kFullNetwork);
}

bool Ring::release(uint64_t number) const {
    if (!leave(slot(number), number, 1)) return false;
    header().freed.fetch_add(1, std::memory_order_seq_cst);
    return header().sleep.load(std::memory_order_seq_cst) == RingHeader::kWakeIfFilledOrFreed;
}

// Acquire and release on the count: all reads of all readers come before the next write.
bool Ring::leave(RingSlot& slot, uint64_t number, uint32_t share) const {
    const uint32_t before = slot.readers.fetch_sub(share, std::memory_order_acq_rel);
    TUTTI_ASSERT(share == kHold ? (before & kHold) != 0 : (before & ~kHold) != 0,
                 "a slot has more readers than it should");
    if (before != share) return false;
    slot.state.store(state_of(number + slots(), kFree), std::memory_order_seq_cst);
    header().bell.ring(kFreedRings);
    return true;
}

// What the rank filled and read comes before, for the service that sees it.
bool Ring::leave_team() const {
    const uint32_t before = header().left.fetch_add(1, std::memory_order_seq_cst);
    TUTTI_ASSERT(before < header().ranks, "a rank leaves once");
    return must_wake();
}

bool Ring::must_wake() const {
    return header().sleep.load(std::memory_order_seq_cst) != RingHeader::kAwake;
}

bool Ring::is_held(uint64_t number) const {
    return is_filled_here(number) &&
           (slot(number).readers.load(std::memory_order_acquire) & kHold) != 0;
}

uint32_t Ring::held_by(Rank rank, std::span<uint64_t, kRingSlotsMax> numbers) const {
    uint32_t count = 0;
    for (uint32_t i = 0; i < slots(); ++i) {
        const uint64_t number = slot(i).state.load(std::memory_order_acquire) >> 2;
        if (is_held(number) && sender(number) == rank) numbers[count++] = number;
    }
    std::sort(numbers.begin(), numbers.begin() + count);
    return count;
}

// ---------------------------------------------------------------- the service

bool Ring::is_free(uint64_t number) const {
    return slot(number).state.load(std::memory_order_seq_cst) == state_of(number, kFree);
}

bool Ring::is_filled_here(uint64_t number) const {
    return slot(number).state.load(std::memory_order_seq_cst) == state_of(number, kFullHere);
}

bool Ring::is_open(uint64_t number) const {
    const uint64_t state = slot(number).state.load(std::memory_order_seq_cst);
    return state == state_of(number, kFree) || state == state_of(number, kClosed);
}

// First closed, so that no rank fills it meanwhile.
bool Ring::publish(uint64_t number, size_t bytes) const {
    RingSlot& slot = this->slot(number);
    uint64_t state = state_of(number, kFree);
    if (!slot.state.compare_exchange_strong(state, state_of(number, kClosed),
                                            std::memory_order_seq_cst) &&
        state != state_of(number, kClosed)) {
        contradict();
        return false;
    }
    slot.bytes = static_cast<uint32_t>(bytes);
    slot.readers.store(header().ranks, std::memory_order_relaxed);
    slot.state.store(state_of(number, kFullNetwork), std::memory_order_release);
    header().bell.ring(kFilledRings);
    return true;
}

bool Ring::release_hold(uint64_t number) const { return leave(slot(number), number, kHold); }

// First the word, then the slots; see fill().
void Ring::close(mcast::Member dead) const {
    header().dead.store(dead, std::memory_order_relaxed);
    header().failure.store(RingHeader::kClosed, std::memory_order_seq_cst);
    for (uint32_t i = 0; i < slots(); ++i) {
        std::atomic<uint64_t>& word = slot(i).state;
        uint64_t state = word.load(std::memory_order_seq_cst);
        const bool is_free = (state & 3) == kFree;
        if (is_free)
            word.compare_exchange_strong(state, state | kClosed, std::memory_order_seq_cst);
    }
    header().bell.ring();
}

void Ring::end() const {
    TUTTI_ASSERT(!is_frozen(), "who waits in a frozen ring has others' part to wait for");
    header().is_ended.store(1, std::memory_order_release);
}

void Ring::freeze() const {
    TUTTI_ASSERT(header().failure.load(std::memory_order_relaxed) == RingHeader::kClosed,
                 "a ring is closed before it is frozen");
    header().failure.store(RingHeader::kFrozen, std::memory_order_release);
    header().bell.ring();
}

}  // namespace tutti::transport::carrier
