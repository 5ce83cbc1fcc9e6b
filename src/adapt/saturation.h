// SPDX-License-Identifier: BSD-3-Clause
// Who tells whom, in a barrier or allreduce whose root is whoever comes last. One member's part of
// one call: a state machine that is told what happens and says what to do; no data, no I/O.
//
// Source: saturation of a tree (N. Santoro, Design and Analysis of Distributed Algorithms, 2006,
// section 2.6.1), with arrivals in place of its wake-up. That the last arriver is to become the
// root, and to release all by multicast, is seed 000's; its protocol is not in our text, this one
// is ours (docs/protocol/arrival.md).
//
// The tree has no root. Whoever has arrived and has heard from all neighbours but one sends that
// one all that it has, so everything flows towards those who are late; and who has heard from all
// has everything, and releases all. Where skew is large that is the last one to arrive, at once.
// Where two send each other their parts, both have everything.
//
// Invariants (tests/unit/adapt):
//   I1  over each edge at most one message goes each way: a part, or the word that all are released
//   I2  nobody is released before all have arrived
//   I3  nobody waits for one who has arrived to do more than answer messages
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
        // It and that neighbour have everything: each is released, and releases whoever is on its
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

    std::vector<bool> heard_;
    uint32_t heard_count_ = 0;
    bool has_arrived_ = false;
    std::optional<uint32_t> sent_to_;
};

}  // namespace tutti::adapt
