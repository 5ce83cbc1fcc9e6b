// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "run/arena/arena.h"
#include "run/bootstrap/multicast_choice.h"
#include "run/bootstrap/rounds.h"
#include "run/engine/context.h"
#include "run/engine/inter_node.h"
#include "run/multicast/team_multicast.h"

namespace tutti::bootstrap {

// The members of a team on the own node.
struct NodeMembers {
    Circle& circle;
    arena::Arena* arena = nullptr;  // none for a member that is alone
    uint32_t leader = 0;            // who owns the arena
};

// What rank 0 has to say of a team that goes without, or not by the network that was wanted, where
// it is new: the reason.
void tell_obstacle(engine::Context& context, const std::string& team, uint32_t rank,
                   const multicast::MulticastOutcome& outcome);

// Of the shared memory of a node with so many ranks, of a team on so many nodes.
size_t multicast_bytes(uint32_t ranks, uint32_t nodes);

// Collective over `all`, the members of a team across hosts. All get multicast or none does; over
// the first of the networks that settings want which reaches all of them. Errors: the members
// cannot talk to each other, and then there is no team.
Result<multicast::MulticastOutcome> make_multicast(engine::Context& context, Circle& all,
                                                   const NodeMembers& node,
                                                   engine::InterNode& inter_node);
// The same, over this one alone.
Result<multicast::MulticastOutcome> make_multicast_over(size_t network, engine::Context& context,
                                                        Circle& all, const NodeMembers& node,
                                                        engine::InterNode& inter_node);

}  // namespace tutti::bootstrap
