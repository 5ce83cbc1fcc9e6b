// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a team go on when its group has failed: over the messages between them, with the
// multicasts that were under way, and with none from an agreed call on.
//
// Source: ours. It rests on two properties of the ring (ring.h): a frozen ring shows for good which
// numbers have reached this node, and whatever has not reached every node still stands in the ring
// of its sender. So every rank
//
//   1. tells the highest call it has begun and whether it holds anything, up a binomial tree and
//      down again: later calls are planned without multicast, by all alike; and all name the member
//      that rank 0 takes for the cause; where a node's ring is contradicted it ends here, and
//      calls fail, for nobody knows what is right;
//   2. for each rank that holds something, in the order of ranks: gets the numbers that rank holds
//      and answers which of them it misses;
//   3. sends what it holds to those who miss it, and from then on each multicast of its own to all
//      ranks; and receives, number by number, what its node's ring does not have.
//
// No rank waits for another one inside; a rank in a call of the team advances it by step().
// Messages use a slot of their own, in the same order on both sides: those of 1 and 2, then
// multicasts from one rank to another by ascending number.
//
// Invariants:
//   I1  a rank takes part only when its node's ring is frozen;
//   I2  to each rank a number goes once: by the ring of its node or by a message;
//   I3  one message at a time goes to each rank, and none waits for another rank's.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/transport/carrier/ring.h"
#include "run/transport/transport.h"

namespace tutti::transport::carrier {

// Which multicasts a rank has posted, and which of them are not complete.
struct Progress {
    uint64_t next = 0;       // all below are posted
    uint32_t under_way = 0;  // a bit for each number, modulo the bits
    // The rank waits for nothing any more.
    bool is_called_off = false;
    static_assert(kMulticastsInFlightMax == 32);

    [[nodiscard]] bool is_under_way(uint64_t number) const {
        return number < next && next - number <= kMulticastsInFlightMax &&
               (under_way >> number % kMulticastsInFlightMax & 1) != 0;
    }
    [[nodiscard]] bool is_missing(uint64_t number) const {
        return !is_called_off && (number >= next || is_under_way(number));
    }
    // Ascending.
    template <class Use>
    void for_all_under_way(Use use) const {
        const uint64_t behind = std::min<uint64_t>(next, kMulticastsInFlightMax);
        for (uint64_t number = next - behind; number < next; ++number) {
            if (is_under_way(number)) use(number);
        }
    }
};

// One rank's part. Allocates when it is made.
class Recovery {
  public:
    Recovery(Ring ring, Transport& network, Rank rank, Rank ranks);
    // What has not come is not written to its memory any more.
    ~Recovery();
    Recovery(const Recovery&) = delete;
    Recovery& operator=(const Recovery&) = delete;

    // The rank begins a call of the team that may multicast.
    void begin_call(uint64_t call) { calls_end_ = call + 1; }
    // Lets it go on, once the ring is frozen.
    void step(const Progress& progress);
    // 1 is over: calls from this one on are planned without multicast.
    [[nodiscard]] bool is_decided() const { return phase_ > Phase::kFromParent; }
    [[nodiscard]] uint64_t calls_end() const { return known_[kCallsEnd]; }
    [[nodiscard]] mcast::Member dead() const { return static_cast<mcast::Member>(known_[kDead]); }
    // 2 is over: multicasts go by send() and recv().
    [[nodiscard]] bool is_ready() const { return phase_ == Phase::kReady; }
    [[nodiscard]] bool has_failed() const { return phase_ == Phase::kFailed; }
    // A node's ring is contradicted, so it has failed on all ranks. Until that is decided, what is
    // known may still be coming from the parent.
    [[nodiscard]] bool is_contradicted() const {
        return is_decided() && known_[kContradicted] != 0;
    }
    // Nobody misses anything of this rank.
    [[nodiscard]] bool is_settled() const { return is_ready() && first_item_ == end_item_; }

    // Of what this rank held when the group failed. When ready.
    [[nodiscard]] uint32_t missed_by_others() const { return missed_count_; }

    // Who held that number then, which was offered: so this rank had come to it, and posts it next.
    [[nodiscard]] std::optional<Rank> holder_of(uint64_t number) const;

    // In the order of numbers, and all that is under way before step() is called again. The memory
    // stays until is_sent() of what this returns.
    uint64_t send(uint64_t number, const std::byte* data, size_t bytes);
    [[nodiscard]] bool is_sent(uint64_t item) const;
    // What the ring does not have, in the order of numbers.
    void recv(uint64_t number, Rank sender, std::byte* data, size_t bytes, Ticket& ticket);
    State test(Ticket& ticket) { return network_.test(ticket); }
    // What send() was given is read no more, and nothing comes behind it: the call has failed. What
    // the ring holds of calls before it goes on.
    void call_off();

  private:
    // In the order in which they follow each other.
    enum class Phase : uint8_t {
        kIdle,
        kGather,
        kToParent,
        kFromParent,
        kToChildren,
        kLists,
        kReady,
        kFailed
    };
    enum class Way : uint32_t { kUp, kDown, kList, kAnswer, kMulticast };
    struct List {
        uint64_t count = 0;
        std::array<uint64_t, kRingSlotsMax> numbers{};
    };
    // A multicast on its way to those who have not got it.
    struct Item {
        uint64_t number = 0;
        const std::byte* data = nullptr;
        size_t bytes = 0;
        uint32_t held = 0;   // its place in the own list; kRingSlotsMax: all ranks miss it
        Rank remaining = 0;  // ranks
    };
    static constexpr uint32_t kItems = kRingSlotsMax + kMulticastsInFlightMax;

    void begin();
    bool gather();
    bool to_parent();
    bool from_parent();
    bool to_children();
    bool lists(const Progress& progress);
    bool own_list();
    bool other_list(const Progress& progress);
    void merge();
    [[nodiscard]] uint64_t missing(const Progress& progress) const;
    void keep_next(const Progress& progress);
    void queue_held();
    void push();
    bool push_to(Rank rank);
    [[nodiscard]] bool is_wanted(const Item& item, Rank rank) const;
    [[nodiscard]] Item& item(uint64_t index) { return items_[index % kItems]; }
    bool has_arrived();
    void post_send(Rank peer, Way way, uint64_t number, const void* data, size_t bytes,
                   Ticket& ticket);
    void post_recv(Rank peer, Way way, uint64_t number, void* data, size_t bytes, Ticket& ticket);

    Ring ring_;
    Transport& network_;
    Rank rank_;
    Rank ranks_;
    Phase phase_ = Phase::kIdle;
    uint64_t calls_end_ = 0;

    // 1: these words, then a bit for each rank that holds something.
    enum Word : size_t { kCallsEnd /* the highest */, kDead, kContradicted, kHolders };
    std::vector<uint64_t> known_;
    std::vector<uint64_t> heard_;
    Rank child_bit_ = 1;
    bool is_posted_ = false;
    Ticket ticket_;

    // 2.
    Rank holder_ = 0;
    List own_list_;
    List list_;
    uint64_t answer_ = 0;
    bool has_sent_list_ = false;
    bool has_heard_list_ = false;
    std::vector<uint64_t> missed_by_;  // by rank: bits of the own list
    uint32_t missed_count_ = 0;
    // The number that this rank would have posted next, where another holds it.
    struct Held {
        uint64_t number = 0;
        Rank holder = 0;
    };
    std::optional<Held> held_next_;
    std::vector<Ticket> tickets_;  // by rank

    // 3. Items by number since the beginning, in a ring.
    std::array<Item, kItems> items_;
    uint64_t first_item_ = 0;
    uint64_t end_item_ = 0;
    std::vector<uint64_t> cursors_;  // by rank: the item that goes, or may go, to it next
    std::vector<bool> is_sending_;   // by rank
    uint64_t latest_cursor_ = 0;     // items below have begun to go
};

}  // namespace tutti::transport::carrier
