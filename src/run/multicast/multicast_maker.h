// SPDX-License-Identifier: BSD-3-Clause
// Gives a team across hosts its multicast by one network, whichever that is, or says why it cannot
// have it: docs/protocol/multicast.md, "Joining".
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "plan/sched/shape.h"
#include "run/agree/circle.h"
#include "run/arena/arena.h"
#include "run/multicast/multicast_life.h"
#include "run/multicast/team_multicast.h"
#include "run/networks/message_network.h"
#include "run/transport/transport.h"

namespace tutti::multicast {

// The members of a team on the own host.
struct HostMembers {
    agree::Circle& circle;
    arena::Arena* arena = nullptr;  // none for a member that is alone
    uint32_t leader = 0;            // who owns the arena
};

// How fast a team's messages are between hosts: what multicast has to beat.
class MessageSpeed {
  public:
    // As measured before; 0: it was not.
    [[nodiscard]] virtual sched::Speed known() const = 0;
    // This rank will measure with that one of another host. All memory is made here.
    virtual void prepare(uint32_t partner) = 0;
    // Both at the same time, and nothing else of the team is under way. speed: what this end knows
    // from an earlier time, or 0; then what both know. Errors: a message failed; nothing more comes
    // by messages.
    virtual Result<Done> measure(sched::Speed& speed) = 0;

  protected:
    MessageSpeed() = default;
    ~MessageSpeed() = default;
};

// Of a member. All of it outlives the making, and `messages` what is made.
struct MakingParams {
    networks::Process& process;
    arena::ProcessId id;             // of that
    uint32_t number = 0;             // of that, among those that draw faults by the same seed
    MulticastLife& life;             // the team's
    transport::Transport& messages;  // the way on when the group has failed
    MessageSpeed& speed;
};

// Collective over `all`, the members of the team. All get multicast or none does, and knows why.
// Errors: the members cannot talk to each other, and then there is no team.
Result<MulticastOutcome> make_over(size_t network, const MakingParams& params, agree::Circle& all,
                                   const HostMembers& host);

// Of the shared memory of a host with so many ranks, of a team on so many hosts.
size_t shared_bytes(uint32_t ranks, uint32_t hosts);

}  // namespace tutti::multicast
