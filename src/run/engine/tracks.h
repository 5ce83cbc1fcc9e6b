// SPDX-License-Identifier: BSD-3-Clause
// Several calls of a team under way at once. Such a team consists of as many teams of the same
// members, its tracks; the first is the team itself. Call n runs on track n modulo their number,
// behind the call before it there. So messages, shared memory and numbers of two calls that are
// under way never meet, and nothing below a team knows of it. All members start the team's calls in
// the same order, so they agree on the track of each.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::engine {

class Team;
struct Request;

class Tracks {
  public:
    // so many in all; the only allocation.
    Tracks(Team& first, uint32_t count);
    Tracks(const Tracks&) = delete;
    Tracks& operator=(const Tracks&) = delete;
    ~Tracks();
    void add(std::unique_ptr<Team> track);

    // Where the next call runs.
    [[nodiscard]] Team& next() { return *all_[calls_ % all_.size()]; }
    // It has begun, or was left to the host.
    void pass() { ++calls_; }
    // A call has failed on this track. Where that is for good, it is so for the team: members may
    // wait on another one.
    void fail(Team& track);
    // The track whose message is the team's.
    [[nodiscard]] Team& failed() { return *failed_; }
    void give_up(tutti_status status, const char* why);
    // Waits for all requests but those of this track.
    void settle(const Team& own);

    template <class Do>
    void for_each(Do what) {
        for (Team* track : all_) what(*track);
    }

  private:
    std::vector<Team*> all_;
    std::vector<std::unique_ptr<Team>> others_;  // all but the first
    Team* failed_;
    uint64_t calls_ = 0;
};

}  // namespace tutti::engine
