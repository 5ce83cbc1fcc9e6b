// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "arena/arena.h"
#include "bootstrap/circle.h"
#include "engine/context.h"
#include "engine/members.h"
#include "node/team.h"

namespace tutti::bootstrap {

// Who a member is.
struct NodeMember {
    arena::ProcessId process;
    uint64_t token = 0;  // of this member in this team
    uint64_t scheduling_group = 0;
    uint64_t segment = 0;  // of XPMEM; 0: none
    topo::CpuSet cpus;
};
NodeMember introduce(const engine::Context& context);

// What the members of a team on one node have in common.
struct NodePart {
    std::shared_ptr<arena::Arena> arena;  // none for a member that is alone on its node
    std::shared_ptr<arena::Mapping> mapping;
    node::Team node;
    uint32_t leader = 0;  // who owns the arena: its number in the circle
    engine::NodeSource source;
    bool is_crowded = false;         // more ranks than processors
    bool has_many_sessions = false;  // scheduling_group() differs between members

    NodePart() = default;
    NodePart(NodePart&&) = default;
    NodePart& operator=(NodePart&&) = delete;
    // Leaves the slice, unless a team has taken over the mapping.
    ~NodePart();
};

// Collective over the circle: the members of one node. An error has the same text on all of them
// and names the member that could not go on. members: where all have told each other already;
// empty: they do so first.
Result<NodePart> make_node(engine::Context& context, Circle& circle,
                           std::span<const NodeMember> members);

// The same on each node of a team across nodes, and then collective over all of it: every member
// gets its part or none does. explain: the report of a node without one, the same on its members.
Result<NodePart> make_nodes(engine::Context& context, Circle& node, Circle& all,
                            std::span<const NodeMember> members,
                            const std::function<Report(const Error&)>& explain);

}  // namespace tutti::bootstrap
