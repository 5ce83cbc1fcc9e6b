// SPDX-License-Identifier: BSD-3-Clause
// The tracks of a team: one, or several where so many of its calls may be under way at once. Call n
// runs on track n modulo their number, behind the call before it there. So what two calls that are
// under way use for themselves never meets. All members start the team's calls in the same order,
// so they agree on the track of each. What the members have in common stands once: who they are,
// their memory, networks and connections, multicast, and whether the team has broken down.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "run/engine/track.h"

namespace tutti::engine {

class Tracks {
  public:
    // The only allocation. members and link outlive this. checks: TUTTI_CHECK.
    Tracks(uint32_t count, Members& members, const ActiveLink& link, bool checks);
    Tracks(const Tracks&) = delete;
    Tracks& operator=(const Tracks&) = delete;
    // The last ones go, before the first call.
    void keep(size_t count);

    [[nodiscard]] size_t count() const { return 1 + later_.size(); }
    [[nodiscard]] Track& first() { return first_; }
    [[nodiscard]] Track& at(size_t number) { return number == 0 ? first_ : *later_[number - 1]; }
    // Where the next call runs.
    [[nodiscard]] Track& next() { return later_.empty() ? first_ : at(calls_ % count()); }
    // That call begins, or is left to the host.
    Track& take();

    // ---- for the holder of the team (active.h) ----
    // No request is under way.
    [[nodiscard]] bool are_idle() const;
    // Other tracks than that of this queue have requests under way.
    [[nodiscard]] bool are_others_busy(const Queue& own) const;
    // A few steps of each, or of each but that one.
    void move_on();
    void move_others_on(const Queue& own);
    // In a long wait: others may wait for an answer about a call of another track than that one.
    void listen_beside(const Queue& own);
    // Waits for all requests, or for all but those of that track.
    void settle();
    void settle_others(const Track& own);
    // The team has broken down: the members that wait on any track hear of it, and all calls end.
    void end();

  private:
    Track first_;
    std::vector<std::unique_ptr<Track>> later_;
    uint64_t calls_ = 0;
};

}  // namespace tutti::engine
