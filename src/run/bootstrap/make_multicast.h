// SPDX-License-Identifier: BSD-3-Clause
// The networks that carry multicast of a team across hosts, as the team is made and later.
#pragma once

#include <string>

#include "run/bootstrap/multicast_choice.h"
#include "run/bootstrap/rounds.h"
#include "run/engine/context.h"
#include "run/engine/inter_node.h"
#include "run/multicast/multicast_maker.h"

namespace tutti::bootstrap {

// Collective over `all`, the members of the team: tries one network after the other, as the
// settings want. All get multicast or none does. Errors: the members cannot talk to each other, and
// then there is no team.
Result<multicast::MulticastOutcome> make_multicast(engine::Context& context, Circle& all,
                                                   const multicast::HostMembers& host,
                                                   engine::InterNode& inter_node);

// What rank 0 has to say of a team that goes without, or not by the network that was wanted, where
// it is new: the reason.
void tell_obstacle(engine::Context& context, const std::string& team, uint32_t rank,
                   const multicast::MulticastOutcome& outcome);

}  // namespace tutti::bootstrap
