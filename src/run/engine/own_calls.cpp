// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/own_calls.h"

#include "run/engine/active.h"
#include "run/engine/team.h"

namespace tutti::engine {

bool OwnCalls::settle() {
    const HeldTeam held(team_);
    team_.tracks().settle();
    return !team_.members().is_broken();
}

bool OwnCalls::settle_first() {
    const HeldTeam held(team_);
    track_.settle();
    return !team_.members().is_broken();
}

template <class Begin>
tutti_status OwnCalls::run(const tutti_call& call, Begin begin) {
    static_cast<void>(team_.describe(call, request_));
    begin(track_.runner());
    track_.queue().put_in_front(request_);
    return track_.waits().wait_for(request_);
}

tutti_status OwnCalls::meet() {
    return run({}, [](Runner& runner) { runner.begin_meeting(); });  // a barrier
}

tutti_status OwnCalls::compare(const tutti_call& call) {
    return run(call, [&](Runner& runner) { runner.begin_comparison(request_.op.call); });
}

tutti_status OwnCalls::settle_multicast() {
    return run({}, [](Runner& runner) { runner.begin_settling(); });
}

}  // namespace tutti::engine
