// SPDX-License-Identifier: BSD-3-Clause
// The networks that carry messages of a team across hosts, while it is made.
#pragma once

#include <string>

#include "run/bootstrap/rounds.h"
#include "run/engine/context.h"
#include "run/networks/team_networks.h"

namespace tutti::bootstrap {

// Collective over `all`, the members of the team: tries one network after the other. Of each, all
// members have it or none. name: the team's, for the line that says why not. Errors: the members
// cannot talk to each other, and then there is no team.
Result<Done> make_networks(engine::Context& context, Circle& all, networks::TeamNetworks& networks,
                           const networks::TeamTraits& traits, const std::string& name);

}  // namespace tutti::bootstrap
