// SPDX-License-Identifier: BSD-3-Clause
// A team's multicasts in the shared memory of one node: slots that the ranks of the node and the
// service of its carrier hand to each other. docs/protocol/multicast.md, "Ring", has who writes
// which word, when, in which order.
//
// Multicast number n of the team lives in slot n % slots. A slot goes round like this:
//
//     free for n --a rank here copies its data in--> full(here) for n --the last reader--.
//         | '-----a packet of n completes it-------> full(network) for n ---------------.|
//         |                                                                             ||
//         '--the group was given up--> closed for n             free for n + slots <----''
//                                         '--a packet of n completes it--> full(network) for n
//
// Readers are the ranks of the node (without the sender), and of what a rank here sent the service,
// until the data is at its place on every node: so whatever a failure leaves undelivered still
// stands in the ring of its sender.
//
// Invariants:
//   I1  only the one that finds a slot free for n makes it full; only its last reader makes it free
//       again, for n + slots;
//   I2  between full and free no one writes the data, and all its readers read it;
//   I3  once the ring is closed no rank makes a slot full, once it is frozen nobody does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bell.h"
#include "run/mcast/packet.h"
#include "run/transport/multicast.h"

namespace tutti::transport::carrier {

// Twice what a rank has in flight: a rank may be a full flight ahead of the slowest one before it
// waits. 1 MiB a team and node.
inline constexpr uint32_t kRingSlots = 64;
// One bit a slot in what ranks tell each other after a failure (recovery.h).
inline constexpr uint32_t kRingSlotsMax = 64;

struct RingParams {
    uint32_t slots = kRingSlots;  // a power of two
    uint32_t ranks = 0;           // of the team on this node
    uint32_t members = 0;         // of the group: nodes of the team
};

// Of shared memory; the beginning must lie on a page.
size_t ring_bytes(const RingParams& params);

static_assert(std::atomic<uint64_t>::is_always_lock_free);

// What ranks sleep for on a ring's bell: most wait for a slot to become full, and would be woken
// for nothing by the last reader of the one before. A failure rings for all.
inline constexpr Ringers kFilledRings = 1, kFreedRings = 2;

struct RingHeader {
    static constexpr size_t kLine = 64;
    enum Sleep : uint32_t { kAwake, kWakeIfFilled, kWakeIfFilledOrFreed };
    enum Failure : uint32_t { kNone, kClosed, kFrozen };

    // Written by format() only.
    uint32_t slots = 0;
    uint32_t ranks = 0;
    uint32_t members = 0;
    // Written by the thread that does the service's work; ranks look at it after each deed.
    alignas(kLine) std::atomic<uint32_t> sleep{kAwake};
    alignas(kLine) std::atomic<uint32_t> failure{kNone};
    std::atomic<uint32_t> dead{mcast::kNobody};
    // 1: a number came from more than one sender, or what came does not fit together. Written by
    // whoever sees it; a rank then wakes the service, which fails the group.
    std::atomic<uint32_t> is_contradicted{0};
    // Deeds of ranks, so that the service looks at slots only if there is something to see.
    alignas(kLine) std::atomic<uint64_t> filled{0};
    alignas(kLine) std::atomic<uint64_t> freed{0};
    // Changes of waiters().
    alignas(kLine) std::atomic<uint32_t> waits{0};
    // Ranks here that have freed the team: they neither send nor receive any more, but still look
    // at `failure`, until `is_ended`.
    std::atomic<uint32_t> left{0};
    // 1 when the ranks of all nodes have left, as this node knows: nobody misses anything, and the
    // group's failure is no concern of theirs any more.
    std::atomic<uint32_t> is_ended{0};
    // Where ranks sleep that wait for a slot: to become full, or free.
    Bell bell;
    // 1 when the probe before first use is over. Written by the rank that carries, which then
    // rings; the others of its node wait for it.
    std::atomic<uint32_t> is_probed{0};
    // For reports.
    alignas(kLine) std::atomic<uint64_t> sent{0};  // messages of ranks here, taken by the group
    std::atomic<uint64_t> received{0};             // messages of other nodes
};

struct RingSlot {
    alignas(RingHeader::kLine) std::atomic<uint64_t> state{0};
    // Plain: written before `state` becomes full, read after.
    uint32_t bytes = 0;
    Rank sender = 0;  // full(here): of the team
    alignas(RingHeader::kLine) std::atomic<uint32_t> readers{0};
};

// A view; as cheap to copy as a pointer.
class Ring {
  public:
    // Before anybody else has it.
    static void format(std::byte* memory, const RingParams& params);
    explicit Ring(std::byte* memory) : memory_(memory) {}

    [[nodiscard]] uint32_t slots() const { return header().slots; }
    [[nodiscard]] mcast::Member members() const {
        return static_cast<mcast::Member>(header().members);
    }
    [[nodiscard]] RingHeader& header() const { return *reinterpret_cast<RingHeader*>(memory_); }

    // --- ranks ---
    enum class Fill : uint8_t { kNotFree, kDone, kClosed, kContradicted };
    // Copies a rank's data in. kClosed: it does not go by multicast, for the group is given up.
    // kContradicted: the number is here already, though this rank alone sends it.
    [[nodiscard]] Fill fill(uint64_t number, Rank sender, const std::byte* data,
                            size_t bytes) const;
    // It is here and the caller has not released it.
    [[nodiscard]] bool has(uint64_t number) const;
    [[nodiscard]] uint32_t bytes(uint64_t number) const { return slot(number).bytes; }
    [[nodiscard]] Rank sender(uint64_t number) const { return slot(number).sender; }
    [[nodiscard]] std::byte* data(uint64_t number) const;
    // The caller has read it. True if it was the last and the service wants to know.
    [[nodiscard]] bool release(uint64_t number) const;
    // The caller has done with all numbers, and the team is gone there. True if the service sleeps
    // and wants to know.
    [[nodiscard]] bool leave_team() const;
    // After leave_team(): as RingHeader says.
    [[nodiscard]] bool is_ended() const {
        return header().is_ended.load(std::memory_order_acquire) != 0;
    }
    // The service sleeps and wants to know of what the caller just filled.
    [[nodiscard]] bool must_wake() const;
    // Ranks here that wait for something of a member, and have for long: then its silence counts.
    [[nodiscard]] std::atomic<uint32_t>& waiters(mcast::Member member) const;
    [[nodiscard]] bool is_frozen() const {
        return header().failure.load(std::memory_order_acquire) == RingHeader::kFrozen;
    }
    void contradict() const { header().is_contradicted.store(1, std::memory_order_seq_cst); }
    [[nodiscard]] bool is_contradicted() const {
        return header().is_contradicted.load(std::memory_order_seq_cst) != 0;
    }
    // After close().
    [[nodiscard]] mcast::Member dead() const {
        return static_cast<mcast::Member>(header().dead.load(std::memory_order_relaxed));
    }
    // A rank here sent it and the service has not seen it delivered. When frozen: for ever.
    [[nodiscard]] bool is_held(uint64_t number) const;
    // All that a rank sent and that is held, ascending; returns how many. When frozen.
    uint32_t held_by(Rank rank, std::span<uint64_t, kRingSlotsMax> numbers) const;

    // --- the service ---
    [[nodiscard]] bool is_free(uint64_t number) const;
    // Free, or closed when it was: what comes from other nodes may go there.
    [[nodiscard]] bool is_open(uint64_t number) const;
    [[nodiscard]] bool is_filled_here(uint64_t number) const;
    // All of the data is in its place. False: a rank here has filled that number, which then is
    // contradicted.
    [[nodiscard]] bool publish(uint64_t number, size_t bytes) const;
    // What a rank here sent is at its place on all nodes. True if it was the last reader.
    bool release_hold(uint64_t number) const;
    // Ranks fill no slot any more; what they filled shows from now on. Why: this member.
    void close(mcast::Member dead) const;
    // Closed, and nothing comes from other nodes any more either; what is full stays readable.
    void freeze() const;
    // The ranks of all nodes have left. Not of a ring that is frozen.
    void end() const;

  private:
    [[nodiscard]] RingSlot& slot(uint64_t number) const;
    bool leave(RingSlot& slot, uint64_t number, uint32_t share) const;

    std::byte* memory_;
};

}  // namespace tutti::transport::carrier
