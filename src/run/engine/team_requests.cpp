// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/team_requests.h"

#include "run/engine/team.h"

namespace tutti::engine {

tutti_status init(Team& team, const tutti_call& call, Request& request) {
    if (team.members().is_in_turn || call.buffers_later != 0) return TUTTI_ERR_ARGUMENT;
    const tutti_status status = team.describe(call, request);
    request.described = request.op.call;
    return status;
}

void start(Request& request) {
    request.op.call = request.described;  // the last run may have changed it
    Team& team = *request.team;
    request.track = &team.tracks().take();
    {
        const HeldTeam held(team);
        request.track->queue().push(request);
        if (!team.tracks().are_idle()) team.context().active().enter(team);
    }
    static_cast<void>(team.ended(is_over(request) ? request.status : TUTTI_PENDING));
}

tutti_status wait(Request& request) {
    if (!request.track) return request.status;
    Team& team = *request.team;
    tutti_status status = TUTTI_OK;
    {
        const HeldTeam held(team);
        status = request.track->waits().wait_for(request);
    }
    return team.ended(status);
}

tutti_status test(Request& request) {
    if (!request.track) return request.status;
    Team& team = *request.team;
    {
        const HeldTeam held(team);
        if (request.stage != Request::Stage::kIdle) request.track->move_on();
        if (request.stage != Request::Stage::kIdle) {
            team.context().progress();
            request.track->waits().look_around();
        }
        if (request.stage != Request::Stage::kIdle) return TUTTI_PENDING;
    }
    return team.ended(request.status);
}

bool is_over(const Request& request) {
    if (!request.track) return true;
    const HeldTeam held(*request.team);
    return request.stage == Request::Stage::kIdle;
}

}  // namespace tutti::engine
