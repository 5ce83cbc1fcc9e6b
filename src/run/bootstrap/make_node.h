// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "run/arena/arena.h"
#include "run/arena/home.h"
#include "run/bootstrap/node_home.h"
#include "run/bootstrap/rounds.h"
#include "run/engine/context.h"
#include "run/engine/members.h"
#include "run/node/node_team.h"

namespace tutti::bootstrap {

// The identity of a member.
struct NodeMember {
    arena::ProcessId process;
    uint64_t token = 0;  // of this member in this team
    uint64_t scheduling_group = 0;
    uint64_t segment = 0;  // of XPMEM; 0: none
    HomeCard home;
    topo::CpuSet cpus;
};
NodeMember introduce(engine::Context& context);

// What the members of a team on one node have in common.
struct NodePart {
    std::shared_ptr<arena::Arena> arena;  // none for a member that is alone on its node
    arena::TeamMemory memory;
    std::vector<node::Team> nodes;  // of each track
    uint32_t leader = 0;  // its number in the circle: who owns the arena, but of lean teams
    engine::NodeSource source;
    bool is_crowded = false;         // more ranks than processors
    bool has_many_sessions = false;  // scheduling_group() differs between members
};

// Collective over the circle: the members of one node. An error has the same text on all of them
// and names the member that could not go on. members: where all have told each other already;
// empty: they do so first. tracks: so many of the team have memory of their own. may_be_lean: see
// tutti_team_params.in_turn, of all members of a team of one track.
Result<NodePart> make_node(engine::Context& context, Circle& circle,
                           std::span<const NodeMember> members, uint32_t tracks, bool may_be_lean);

// The same on each node of a team across nodes, and then collective over all of it: every member
// gets its part or none does. explain: the report of a node without one, the same on its members.
Result<NodePart> make_nodes(engine::Context& context, Circle& node, Circle& all,
                            std::span<const NodeMember> members, uint32_t tracks,
                            const std::function<Report(const Error&)>& explain);

}  // namespace tutti::bootstrap
