// SPDX-License-Identifier: BSD-3-Clause
// Facts about a team's ranks on one node: what was measured between them, and what follows.
#pragma once

#include <cstdint>
#include <string>

#include "base/facts.h"
#include "run/node/tuning.h"

namespace tutti::node {

struct NodeStory {
    std::string host;
    uint64_t processes = 0;  // equal for teams of the same ones
    uint32_t rank = 0;       // of this member, among so many
    uint32_t ranks = 1;
    bool is_lean = false;     // it shares memory with other teams (in_turn)
    bool can_read = false;    // there is a single copy
    bool may_read = false;    // and all members could use it so far
    uint64_t ring_bytes = 0;  // in use, of a rank
    Tuning tuning;
    Figures figures;
    bool has_measured = false;    // them, when this team was made; else an earlier team has
    uint32_t again = 0;           // how often this team measured anew, because its ranks were moved
    const char* unmeasured = "";  // why, where there are no figures
};

FactRow facts_of(const NodeStory& story);

}  // namespace tutti::node
