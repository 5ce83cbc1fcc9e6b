// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/tracks.h"

#include <utility>

#include "run/engine/team.h"

namespace tutti::engine {

Tracks::Tracks(Team& first, uint32_t count) : failed_(&first) {
    all_.reserve(count);
    others_.reserve(count - 1);
    all_.push_back(&first);
}

Tracks::~Tracks() = default;

void Tracks::add(std::unique_ptr<Team> track) {
    all_.push_back(track.get());
    others_.push_back(std::move(track));
}

void Tracks::fail(Team& failed) {
    failed_ = &failed;
    for (Team* track : all_) {
        if (track == failed_) continue;
        const HeldTeam held(*track);
        track->follow(failed);
    }
}

void Tracks::give_up(tutti_status status, const char* why) {
    for (Team* track : all_) {
        const HeldTeam held(*track);
        track->give_up(status, why);
    }
}

void Tracks::settle(const Team& own) {
    for (Team* track : all_) {
        if (track == &own) continue;
        const HeldTeam held(*track);
        track->settle();
    }
}

}  // namespace tutti::engine
