// SPDX-License-Identifier: BSD-3-Clause
// Multicast for a team that has made calls already: for the first time, or again after it has
// failed. All members are in one and the same call, which they have counted to alike, so that they
// can agree as they do while a team is made; none has a message of a call under way.
#include "run/bootstrap/try_multicast.h"

#include <new>
#include <optional>

#include "run/bootstrap/make_multicast.h"
#include "run/bootstrap/node_talk.h"

namespace tutti::bootstrap {
namespace {

void tell_return(engine::InterNode& inter_node, const engine::Members& members) {
    try {
        const std::string line = inter_node.multicast().tell_return(inter_node.first().call() + 1);
        if (!line.empty()) members.context.log(TUTTI_LOG_WARN, members.name + ": " + line);
    } catch (const std::bad_alloc&) {
        // A line for people.
    }
}

// All members are in the same call of their own, and what a failure of multicast has left is done.
tutti_status begin_try(engine::Team& team) {
    engine::InterNode& inter_node = *team.inter_node();
    const tutti_status met = team.own_calls().meet();
    if (met != TUTTI_OK || !inter_node.multicast().is_lost()) return met;
    // All members are in the try and move the recovery on, so it ends. A member that has ended it
    // has no message of it under way, which the next group's recovery could take for its own.
    const tutti_status settled = team.own_calls().settle_multicast();
    if (settled == TUTTI_OK) inter_node.multicast().retire();
    return settled;
}

}  // namespace

bool MulticastDuty::is_due() {
    const auto held = team_.inter_node()->hold();
    return team_.inter_node()->multicast().is_due();
}

bool MulticastDuty::brings_ways() const { return team_.inter_node()->multicast().is_awaited(); }

// Whatever goes wrong here leaves the team without multicast; only where the members cannot talk to
// each other any more, there is no team.
tutti_status MulticastDuty::run() {
    const tutti_status begun = begin_try(team_);
    if (begun != TUTTI_OK) return begun;
    engine::InterNode& inter_node = *team_.inter_node();
    const engine::Members& members = team_.members();
    Circle all(members.rank, members.size, members.allgather, members.allgather_user);
    std::optional<NodeTalk> talk;
    bool are_apart = false;
    auto agreed = all.agree_briefly(guarded([&] {
        talk.emplace(inter_node, members.rank);
        return Report{};
    }));
    if (agreed) {
        const Report report = guarded([&] {
            const multicast::HostMembers host{talk->circle, members.arena.get(),
                                              members.node_leader};
            auto made = make_multicast(members.context, all, host, inter_node);
            are_apart = !made;
            if (!made) return report_of(made.error());
            tell_obstacle(members.context, members.name, members.rank, made.value());
            const auto adopted = inter_node.adopt_multicast(std::move(made.value()));
            return adopted ? Report{} : report_of(adopted.error());
        });
        agreed = all.agree_briefly(report);
    }
    inter_node.first().messages().forget_told();  // notes may have been lost meanwhile
    if (agreed) {
        tell_return(inter_node, members);
        return TUTTI_OK;
    }
    inter_node.drop_multicast(agreed.error().message);
    are_apart |= agreed.error().code == ErrorCode::kBootstrap;
    const bool is_cut = talk && talk->gather->has_failed();
    if (is_cut) members.context.remnants().keep(std::move(talk->gather));
    if (!are_apart && !is_cut) return TUTTI_OK;
    team_.give_up(TUTTI_ERR_NETWORK, agreed.error().message.c_str());
    return members.broken;
}

}  // namespace tutti::bootstrap
