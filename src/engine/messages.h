// SPDX-License-Identifier: BSD-3-Clause
// Lines for people.
#pragma once

#include <string>
#include <vector>

#include "engine/team.h"

namespace tutti::engine {

// "ranks 0, 2-5": ascending ranks, runs of three or more joined.
std::string rank_list(const std::vector<uint32_t>& ranks);

// Who called what, for TUTTI_CHECK; the same text on all members.
std::string mismatch_message(const std::string& team_name, uint64_t call,
                             const std::vector<CallCard>& cards);

// Who has not arrived, for TUTTI_STALL.
std::string stall_message(const std::string& team_name, const node::Team& team, const node::Op& op,
                          uint64_t waited_ns);

}  // namespace tutti::engine
