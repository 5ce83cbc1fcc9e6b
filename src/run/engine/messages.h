// SPDX-License-Identifier: BSD-3-Clause
// Lines of text for users.
#pragma once

#include <string>
#include <vector>

#include "run/engine/request.h"

namespace tutti::engine {

// "ranks 0, 2-5": ascending ranks, runs of three or more joined.
std::string rank_list(const std::vector<uint32_t>& ranks);

// Which rank called what, for TUTTI_CHECK; the same text on all members.
std::string mismatch_message(const std::string& team_name, uint64_t call,
                             const std::vector<CallCard>& cards);

// A wait that has become too long.
struct Stall {
    const std::string& team_name;
    uint32_t rank = 0;  // that waits
    uint64_t waited_ns = 0;
    tutti_collective collective = TUTTI_BARRIER;
    uint64_t call = 0;  // the number in its team
};

// The ranks that have not arrived, for TUTTI_STALL: ranks of the own node, ascending.
std::string stall_message(const Stall& stall, const std::vector<uint32_t>& not_arrived);

// The same across nodes: ranks as text.
struct StallAcross {
    std::vector<std::string> silent;     // have not answered
    std::vector<std::string> waiting;    // in the same call
    std::vector<std::string> elsewhere;  // in another call
    bool was_asked = true;               // false: nobody can be asked; all are silent
};
std::string stall_message(const Stall& stall, const StallAcross& across);

}  // namespace tutti::engine
