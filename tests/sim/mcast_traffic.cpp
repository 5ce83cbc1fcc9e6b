// SPDX-License-Identifier: BSD-3-Clause
#include "sim/mcast_traffic.h"

#include <algorithm>

namespace tutti::test {

using mcast::kNever;
using mcast::Member;

Traffic::Traffic(McastWorld& world, const TrafficPlan& plan, uint64_t seed)
    : world_(world), plan_(plan), prng_(seed), actors_(world.members()) {
    for (uint32_t team = 0; team < plan_.teams.size(); ++team) {
        for (const Member member : plan_.teams[team].members) {
            Actor actor;
            actor.team = team;
            actor.member = member;
            actors_[member].push_back(std::move(actor));
            static_cast<void>(world_.group(member).open_team(team));
            left_ += plan_.teams[team].calls.size();
        }
    }
    for (Member member = 0; member < world_.members(); ++member) {
        world_.wake_app(member, world_.now_ns());
    }
}

std::byte Traffic::pattern(uint32_t team, uint32_t call, size_t at) const {
    return static_cast<std::byte>((at * 2654435761u + team * 40503u + call * 97u) >> 7);
}

void Traffic::step(Member member) {
    if (world_.group(member).failure()) return;
    uint64_t wake_ns = kNever;
    for (Actor& actor : actors_[member]) {
        while (advance(actor)) {
        }
        const bool is_over = actor.call == plan_.teams[actor.team].calls.size();
        if (!is_over && actor.free_ns > world_.now_ns()) {
            wake_ns = std::min(wake_ns, actor.free_ns);
        }
    }
    world_.wake_app(member, wake_ns);
}

// One call further; false if it has to wait or is through.
bool Traffic::advance(Actor& actor) {
    const auto& calls = plan_.teams[actor.team].calls;
    if (actor.call == calls.size() || actor.free_ns > world_.now_ns()) return false;
    if (!actor.has_begun) begin(actor);
    if (!finish(actor)) return false;
    ++actor.call;
    --left_;
    actor.has_begun = false;
    if (plan_.compute_ns_max > 0) {
        actor.free_ns = world_.now_ns() + prng_.below(plan_.compute_ns_max);
    }
    return true;
}

void Traffic::begin(Actor& actor) {
    const TrafficPlan::Call& call = plan_.teams[actor.team].calls[actor.call];
    const mcast::MessageName name{actor.team, actor.call, 7, 3};
    actor.has_begun = true;
    actor.buffer.assign(call.bytes, std::byte{0xee});
    if (call.root == actor.member) {
        for (size_t i = 0; i < call.bytes; ++i) {
            actor.buffer[i] = pattern(actor.team, actor.call, i);
        }
        actor.outgoing = {name, actor.buffer, 0, false};
        return;
    }
    auto posted = world_.group(actor.member).post(world_.now_ns(), call.root, name, actor.buffer);
    if (posted) {
        actor.post = posted.value();
    } else if (wrong_.empty()) {
        wrong_ = posted.error().message;
    }
}

bool Traffic::finish(Actor& actor) {
    const TrafficPlan::Call& call = plan_.teams[actor.team].calls[actor.call];
    mcast::Group& group = world_.group(actor.member);
    if (call.root == actor.member) {
        if (!group.write(world_.now_ns(), actor.outgoing)) return false;
        // The buffer is the application's again.
        std::fill(actor.buffer.begin(), actor.buffer.end(), std::byte{0xdd});
        return true;
    }
    if (group.inbox().state(actor.post) == mcast::PostState::kPending) return false;
    bool is_right = group.inbox().state(actor.post) == mcast::PostState::kDone;
    for (size_t i = 0; i < call.bytes; ++i) {
        is_right &= actor.buffer[i] == pattern(actor.team, actor.call, i);
    }
    if (!is_right && wrong_.empty()) {
        wrong_ = "member " + std::to_string(actor.member) + " got a wrong call " +
                 std::to_string(actor.call) + " of team " + std::to_string(actor.team);
    }
    group.release(world_.now_ns(), actor.post);
    return true;
}

bool Traffic::is_done_without(Member dead) const {
    for (Member member = 0; member < world_.members(); ++member) {
        if (member == dead) continue;
        for (const Actor& actor : actors_[member]) {
            if (actor.call < plan_.teams[actor.team].calls.size()) return false;
        }
    }
    return true;
}

bool Traffic::is_settled() const {
    if (!is_done()) return false;
    for (Member member = 0; member < world_.members(); ++member) {
        if (!world_.group(member).sender().is_acknowledged()) return false;
    }
    return true;
}

}  // namespace tutti::test
