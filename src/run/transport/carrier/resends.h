// SPDX-License-Identifier: BSD-3-Clause
// The third part of a recovery (recovery.h): multicasts of this rank as messages to those who have
// not got them. Inside carrier/ only.
//
// Invariants: one message at a time goes to each rank, in the order of numbers, and none waits for
// another rank's. What has gone to all is over, and the others are one row of items.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "run/transport/carrier/recovery_lists.h"
#include "run/transport/carrier/recovery_messages.h"
#include "run/transport/carrier/ring.h"
#include "run/transport/multicast.h"

namespace tutti::transport::carrier {

class Resends {
  public:
    Resends(RecoveryMessages& messages, const RecoveryLists& lists, Rank rank, Rank ranks);

    // What the ring holds of this rank, once the lists are done.
    void queue_held(const Ring& ring);
    // A further one to all; what it is called from now on. In the order of numbers.
    uint64_t add(uint64_t number, const std::byte* data, size_t bytes);
    // What can go goes.
    void push();
    // What add() was given is read no more, unless all have it.
    void call_off();

    [[nodiscard]] bool is_sent(uint64_t item) const {
        return item < first_ || items_[item % kItems].remaining == 0;
    }
    [[nodiscard]] bool is_over() const { return first_ == end_; }
    // Of those that the ring held: somebody missed them.
    [[nodiscard]] uint32_t missed() const { return missed_; }

  private:
    struct Item {
        uint64_t number = 0;
        const std::byte* data = nullptr;
        size_t bytes = 0;
        uint32_t held = 0;   // its place in the own list; kRingSlotsMax: all ranks miss it
        Rank remaining = 0;  // ranks
    };
    static constexpr uint32_t kItems = kRingSlotsMax + kMulticastsInFlightMax;

    bool push_to(Rank rank);
    [[nodiscard]] bool is_wanted(const Item& item, Rank rank) const;
    [[nodiscard]] Item& item(uint64_t index) { return items_[index % kItems]; }

    RecoveryMessages& messages_;
    const RecoveryLists& lists_;
    const Rank rank_;
    const Rank ranks_;
    // By number since the beginning, in a ring.
    std::array<Item, kItems> items_;
    uint64_t first_ = 0;
    uint64_t end_ = 0;
    std::vector<uint64_t> cursors_;  // by rank: the item that goes, or may go, to it next
    std::vector<bool> is_sending_;   // by rank
    uint64_t latest_cursor_ = 0;     // items below have begun to go
    uint32_t missed_ = 0;
};

}  // namespace tutti::transport::carrier
