// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/active.h"

#include <sched.h>

#include "base/assert.h"
#include "run/engine/team.h"

namespace tutti::engine {
namespace {

void release(Team& team) {
    if (team.tracks().are_idle()) team.context().active().leave(team);
    // Behind this the team may be gone.
    team.link().is_held.clear(std::memory_order_release);
}

}  // namespace

// Whoever else holds it is in a few steps of it.
HeldTeam::HeldTeam(Team& team) : team_(nullptr) {
    if (!team.link().is_listed.load(std::memory_order_acquire)) return;
    while (team.link().is_held.test_and_set(std::memory_order_acquire)) sched_yield();
    team_ = &team;
}

HeldTeam::~HeldTeam() {
    if (team_) release(*team_);
}

void ActiveTeams::enter(Team& team) {
    ActiveLink& link = team.link();
    if (link.is_listed.load(std::memory_order_relaxed)) return;
    TUTTI_ASSERT(!team.tracks().are_idle(), "a listed team has requests under way");
    const std::lock_guard lock(mutex_);
    link.before = last_;
    link.after = nullptr;
    (last_ ? last_->link().after : first_) = &team;
    last_ = &team;
    count_.fetch_add(1, std::memory_order_relaxed);
    link.is_listed.store(true, std::memory_order_release);
}

void ActiveTeams::leave(Team& team) {
    ActiveLink& link = team.link();
    if (!link.is_listed.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex_);
    (link.before ? link.before->link().after : first_) = link.after;
    (link.after ? link.after->link().before : last_) = link.before;
    count_.fetch_sub(1, std::memory_order_relaxed);
    link.is_listed.store(false, std::memory_order_release);
}

// The next team that nobody holds, now held and at the end of the list; nullptr: none.
Team* ActiveTeams::take() {
    const std::lock_guard lock(mutex_);
    Team* team = first_;
    while (team && team->link().is_held.test_and_set(std::memory_order_acquire)) {
        team = team->link().after;
    }
    if (!team || team == last_) return team;
    ActiveLink& link = team->link();
    (link.before ? link.before->link().after : first_) = link.after;
    link.after->link().before = link.before;
    link.before = last_;
    link.after = nullptr;
    last_->link().after = team;
    last_ = team;
    return team;
}

void ActiveTeams::advance() {
    for (uint32_t left = count_.load(std::memory_order_relaxed); left > 0; --left) {
        Team* team = take();
        if (!team) return;
        team->tracks().move_on();
        release(*team);
    }
}

}  // namespace tutti::engine
