// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/link_teams.h"

#include <algorithm>

#include "base/assert.h"
#include "run/transport/verbs/link_team.h"

namespace tutti::transport::verbs {

bool LinkTeams::has_others(const LinkTeam& team) const {
    return std::ranges::any_of(teams_, [&](const LinkTeam* one) {
        return one && one != &team && !one->has_given_up() &&
               !(one->has_closed() && one->has_gone());
    });
}

void LinkTeams::join(const LinkTeam& team) {
    const uint32_t number = team.number();
    TUTTI_ASSERT(free_[number] && !is_closing_, "nobody has the number");
    if (number >= teams_.size()) teams_.resize(number + 1);
    teams_[number] = &team;
    free_.reset(number);
    ++open_;
}

void LinkTeams::leave(const LinkTeam& team) {
    TUTTI_ASSERT(open_ > 0 && teams_[team.number()] == &team, "it has joined");
    if (!team.has_given_up() && --open_ == 0) is_closing_ = true;
}

bool LinkTeams::fail(const LinkTeam& team) {
    TUTTI_ASSERT(!team.has_closed(), "it has not left");
    TUTTI_ASSERT(open_ > 0, "it was open");
    return --open_ > 0;
}

bool LinkTeams::forget(const LinkTeam& team) {
    TUTTI_ASSERT(teams_[team.number()] == &team, "it has joined");
    teams_[team.number()] = nullptr;
    if (team.number() != 0 && team.has_parted()) free_.set(team.number());
    if (!team.has_closed() && !team.has_given_up()) {
        TUTTI_ASSERT(open_ > 0, "it was open");
        --open_;
    }
    return open_ > 0;
}

}  // namespace tutti::transport::verbs
