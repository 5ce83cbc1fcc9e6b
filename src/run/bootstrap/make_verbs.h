// SPDX-License-Identifier: BSD-3-Clause
// Messages by RDMA for a team across hosts, while it is made: all members have them or none.
#pragma once

#include <string>

#include "base/settings.h"
#include "run/bootstrap/circle.h"
#include "run/engine/context.h"
#include "run/engine/inter_node.h"

namespace tutti::bootstrap {

// Pretended hosts have no need of it, except for tests.
inline bool wants_verbs(const Settings& settings) {
    return settings.verbs.choice == VerbsChoice::kOn ||
           (settings.verbs.choice == VerbsChoice::kAuto && settings.hosts == 0);
}

// Collective over `all`, the members of the team. Members connect with the peers that verbs_peers()
// names, exchange a message each way, and agree; or take the connections that an earlier team of
// theirs has, where all make their calls in turn (tutti_team_params). The node's part comes to know
// how it went; `team` is the name for the line that says why not. is_crowded: this host's ranks
// outnumber its processors. Errors: the members cannot talk to each other, and then there is no
// team.
Result<Done> make_verbs(engine::Context& context, Circle& all, engine::InterNode& inter_node,
                        const std::string& team, bool is_crowded, bool is_in_turn);

}  // namespace tutti::bootstrap
