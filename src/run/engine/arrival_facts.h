// SPDX-License-Identifier: BSD-3-Clause
// Facts about when the members of a team come to its calls (run/adapt/arrival_figures.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/facts.h"
#include "run/adapt/arrival_figures.h"
#include "tutti/tutti.h"

namespace tutti::engine {

// Of one collective that was sampled.
struct ArrivalStory {
    tutti_collective collective = TUTTI_BARRIER;
    uint32_t rank = 0;  // of the member that tells: the first one speaks for all
    uint32_t ranks = 0;
    double calls_per_sample = 1;
    uint64_t clock_error_ns = 0;
    uint64_t follows_since = 0;  // see plan/select/follow.h; 0: never
    const adapt::ArrivalFigures& figures;
};

// The machine of a member, for people.
using HostOf = std::function<std::string(uint32_t rank)>;

// What all members know alike. Collectives for which members have waited longest stand first.
FactRow facts_of(const ArrivalStory& story, const HostOf& host_of);
// Of one member: what it has waited for others, in all calls, as far as samples tell.
FactRow own_wait(double waited_ns);
// Of one member: how late it came to the last samples, the oldest first.
FactRow own_lateness(tutti_collective collective, const adapt::ArrivalFigures& figures);

}  // namespace tutti::engine
