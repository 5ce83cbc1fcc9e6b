// SPDX-License-Identifier: BSD-3-Clause
// Facts about a team's hardware multicast: whether it is there, what it was measured to do, and
// what it has sent and repaired.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/facts.h"
#include "plan/sched/shape.h"
#include "run/multicast/team_multicast.h"

namespace tutti::multicast {

struct MulticastStory {
    enum class State {
        kNone,   // not tried
        kLater,  // not tried yet
        kOff,    // tried, and it does not work
        kOn,
        kFailed  // a host stopped answering; it may come back
    };

    State state = State::kNone;
    // Of kOff and kFailed; where it came back, of the last failure.
    std::string reason;
    uint32_t returns = 0;
    // Messages between two hosts; 0: not measured.
    sched::Speed message;
    // Of a group, which there is or was.
    const AgreedMulticast* agreed = nullptr;
    size_t network = 0;  // that carries it, by number
    // By the process that carries its host's packets.
    std::optional<Carried> carried;

    [[nodiscard]] bool has_group() const { return agreed != nullptr; }
};

// Of a group all processes tell that carry its packets, else the first rank.
FactRow facts_of(const MulticastStory& story, const Whose& whose);

}  // namespace tutti::multicast
