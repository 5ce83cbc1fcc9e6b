// SPDX-License-Identifier: BSD-3-Clause
// What an embedder does with a request of a team (tutti_request). Requests run in the order of
// their start, one at a time on each track of the team; waits of others move them on.
#pragma once

#include "run/engine/request.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class Team;

// One that is started later, perhaps more than once. TUTTI_OK, or TUTTI_ERR_ARGUMENT.
tutti_status init(Team& team, const tutti_call& call, Request& request);
void start(Request& request);
tutti_status test(Request& request);
tutti_status wait(Request& request);
// Or was never started.
bool is_over(const Request& request);

}  // namespace tutti::engine
