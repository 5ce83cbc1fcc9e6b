// SPDX-License-Identifier: BSD-3-Clause
// The service's end of a ring: data of this node's ranks goes into the group, data from other nodes
// goes straight from the packets into the slots.
//
// Source: ours; Mamidala et al. 2006 attach the first arriver to the multicast dynamically; here
// the service fills the ring even while none of its ranks is in a call.
//
// Invariants:
//   I1  if number m is given to the group before l < m, then l became full after m did: the stream
//       of a node never stands still before a number that others need first;
//   I2  a slot is posted only while it is free, so the group never writes what a rank reads;
//   I3  numbers that no rank can have come to are never posted or kept (may_come());
//   I4  after may_sleep() said yes, whatever a rank does next that matters here wakes the service.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "run/mcast/group.h"
#include "run/transport/carrier/client.h"
#include "run/transport/carrier/ring.h"

namespace tutti::transport::carrier {

// The only team of a ring's group; must be open before the Feed is made.
inline constexpr uint32_t kRingTeam = 0;

// Under the carrier's lock. Allocates nothing after it was made.
class Feed final : public Client {
  public:
    // The group has posts_max >= slots.
    Feed(Ring ring, mcast::Group& group);
    ~Feed() override;
    Feed(const Feed&) = delete;
    Feed& operator=(const Feed&) = delete;

    void advance(uint64_t now_ns) override;
    [[nodiscard]] bool may_come(const mcast::Data& data) const override;
    [[nodiscard]] bool has_left() const override {
        return left_seen_ == ring_.header().ranks && (is_frozen_ || to_write_count_ == 0);
    }
    void end() override;
    bool may_sleep() override;
    void wake_for_all() override;
    void wake_up() override;

  private:
    enum class At : uint8_t { kIdle, kPosted, kToWrite, kHeld };
    // What the service does about the number that a slot is at.
    struct SlotWork {
        uint64_t number = 0;
        At at = At::kIdle;
        mcast::PostId post;       // kPosted
        uint64_t held_until = 0;  // kHeld: the end of the message in the own stream
    };

    void fail(uint64_t now_ns);
    [[nodiscard]] SlotWork& place(uint64_t number) { return places_[number & (ring_.slots() - 1)]; }
    void close(mcast::Member dead);
    void collect_filled(uint64_t now_ns);
    bool collect_once(uint64_t now_ns);
    void write_filled(uint64_t now_ns);
    void release_delivered(uint64_t now_ns);
    void finish_posts(uint64_t now_ns);
    void post_free(uint64_t now_ns);
    void move_on(SlotWork& place);
    void watch_waits(uint64_t now_ns);
    [[nodiscard]] bool has_seen_all(bool wants_slots) const;

    Ring ring_;
    mcast::Group& group_;
    std::array<SlotWork, kRingSlotsMax> places_;
    // Numbers that ranks here filled and the group has not taken, in the order to write; of the
    // first one the group may have a part.
    std::array<uint64_t, kRingSlotsMax> to_write_{};
    uint32_t to_write_count_ = 0;
    mcast::Outgoing outgoing_;
    bool is_writing_ = false;
    uint32_t held_ = 0;
    uint64_t newest_ = 0;  // number that was ever full here
    uint64_t hastened_until_ =
        0;  // in the own stream: acknowledgements of all before were asked for
    uint64_t completed_seen_ = 0;  // of the group's counter
    // Of the ring's counters; and slots that the service itself was the last to leave.
    uint64_t filled_seen_ = 0;
    uint64_t freed_seen_ = UINT64_MAX;
    uint32_t waits_seen_ = 0;
    uint32_t left_seen_ = 0;
    bool has_freed_ = false;
    std::vector<bool> waits_for_;  // by member
    bool is_closed_ = false;
    bool is_frozen_ = false;
    uint64_t now_ns_ = 0;
};

}  // namespace tutti::transport::carrier
