// SPDX-License-Identifier: BSD-3-Clause
// The second part of a recovery (recovery.h): for each rank that holds something, in the order of
// ranks, which numbers these are, and who misses them. Inside carrier/ only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "run/transport/carrier/multicast_progress.h"
#include "run/transport/carrier/recovery_messages.h"
#include "run/transport/carrier/recovery_tree.h"
#include "run/transport/carrier/ring.h"

namespace tutti::transport::carrier {

class RecoveryLists {
  public:
    RecoveryLists(RecoveryMessages& messages, Ring ring, Rank rank, Rank ranks);

    // The numbers that a rank holds, ascending.
    struct List {
        uint64_t count = 0;
        std::array<uint64_t, kRingSlotsMax> numbers{};
    };

    // Of this rank, which does not change once the ring is frozen.
    const List& take_own();
    // False: a message must come first, or it is done. `tree` is decided.
    bool step(const Progress& progress, const RecoveryTree& tree);
    [[nodiscard]] bool is_done() const { return holder_ == ranks_; }

    [[nodiscard]] const List& own() const { return own_; }
    // The rank misses what stands at this place of the own list.
    [[nodiscard]] bool misses(Rank rank, uint32_t place) const {
        return (missed_by_[rank] >> place & 1) != 0;
    }
    // Who holds that number, if this rank would have posted it next.
    [[nodiscard]] std::optional<Rank> holder_of(uint64_t number) const;

  private:
    struct Held {
        uint64_t number = 0;
        Rank holder = 0;
    };

    bool tell_own();
    bool hear(const Progress& progress);
    void post_to_all();
    [[nodiscard]] uint64_t missing(const Progress& progress) const;
    void keep_next(const Progress& progress);

    RecoveryMessages& messages_;
    Ring ring_;
    const Rank rank_;
    const Rank ranks_;
    Rank holder_ = 0;  // whose list it is about
    List own_;
    List list_;  // the holder's
    uint64_t answer_ = 0;
    // Of the own list and its answers: the step is posted; the list is with all.
    bool is_telling_ = false;
    bool has_told_ = false;
    bool has_heard_ = false;           // the holder's list
    std::vector<uint64_t> missed_by_;  // by rank: bits of the own list
    // The number that this rank would have posted next, where another holds it.
    std::optional<Held> held_next_;
};

}  // namespace tutti::transport::carrier
