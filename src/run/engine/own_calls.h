// SPDX-License-Identifier: BSD-3-Clause
// Calls that the members of a team make by themselves, between two of the embedder's. Each has its
// number among the calls of the first track. Members meet in one of these before they use the
// embedder's allgather: it ends with an error if a member makes another call, has given up or has
// failed. A wait in the allgather would not end.
#pragma once

#include "run/engine/request.h"
#include "run/engine/track.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class Team;

class OwnCalls {
  public:
    // Of this team, on its first track; they outlive this.
    OwnCalls(Team& team, Track& track) : team_(team), track_(track) {}
    OwnCalls(const OwnCalls&) = delete;
    OwnCalls& operator=(const OwnCalls&) = delete;

    // Before any of these: waits until no request is under way. False where the team has broken
    // down. Members have counted alike up to the call that begins, not up to requests under way.
    bool settle();
    // The same of the first track's requests alone.
    bool settle_first();
    // All members meet.
    tutti_status meet();
    // An allreduce of one element, whatever rules say.
    tutti_status compare(const tutti_call& call);
    // What a failure of multicast has left to do.
    tutti_status settle_multicast();

  private:
    template <class Begin>
    tutti_status run(const tutti_call& call, Begin begin);

    Team& team_;
    Track& track_;
    Request request_;
};

}  // namespace tutti::engine
