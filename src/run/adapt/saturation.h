// SPDX-License-Identifier: BSD-3-Clause
// Decides which member sends to which, in a barrier or allreduce rooted at the last arriver. One
// member's part of one call: a state machine that gets events and returns actions; no data, no I/O.
//
// Source: saturation of a tree (N. Santoro, Design and Analysis of Distributed Algorithms, 2006,
// section 2.6.1), with arrivals in place of its wake-up. That the last arriver becomes the root,
// and releases all by multicast, is the idea of Mamidala, Liu, Panda 2004, "Efficient barrier and
// allreduce on InfiniBand clusters using hardware multicast and adaptive algorithms". This protocol
// for it is ours (docs/protocol/arrival.md).
//
// The tree has no root. A member that has arrived and has heard from all neighbours but one sends
// that one all that it has, so data flows towards the late members. A member that has heard from
// all has everything, and releases all. With large skew that is the last arriver, at once. If two
// send each other their parts, both have everything.
//
// Invariants (tests/unit/run/adapt):
//   I1  over each edge at most one message goes each way: a part, or the word that all are released
//   I2  no member is released before all have arrived
//   I3  no member waits for one that has arrived to do more than answer messages
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tutti::adapt {

class Saturation {
  public:
    explicit Saturation(uint32_t neighbours) : heard_(neighbours) {}
    // Anew; allocates nothing where there were as many neighbours before.
    void restart(uint32_t neighbours);

    enum class Then : uint8_t {
        kWait,
        // What it has from all but that neighbour, its own included, goes there.
        kSend,
        // It has everything, alone: it releases all others.
        kRelease,
        // It and that neighbour have everything: each is released, and releases the members on its
        // own side of that edge; or, by multicast, the one with the lower number all others.
        kReleaseSide,
    };
    struct Verdict {
        Then then = Then::kWait;
        uint32_t neighbour = 0;  // of kSend and kReleaseSide
        bool operator==(const Verdict&) const = default;
    };

    // Once.
    Verdict arrive();
    // That neighbour's part has come, at any time; once from each.
    Verdict hear(uint32_t neighbour);

    [[nodiscard]] bool has_arrived() const { return has_arrived_; }
    [[nodiscard]] bool has_heard(uint32_t neighbour) const { return heard_[neighbour]; }
    [[nodiscard]] std::optional<uint32_t> sent_to() const { return sent_to_; }

  private:
    Verdict next();
    // Asserts what must hold behind each step.
    void check() const;

    std::vector<bool> heard_;
    uint32_t heard_count_ = 0;
    bool has_arrived_ = false;
    std::optional<uint32_t> sent_to_;
};

}  // namespace tutti::adapt
