// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/node_part.h"

#include <algorithm>

#include "plan/price/node_speed.h"
#include "plan/sched/operation_kinds.h"
#include "run/node/cost.h"

namespace tutti::price {
namespace {

using sched::Operation;

constexpr size_t kChunkBytes = 64 * 1024;  // of rings, as teams of many ranks have them

node::Call call_of(const Operation& op, uint32_t members) {
    node::Call call;
    call.root = op.peer;
    call.collective = *sched::row_of(op.kind).collective;
    call.is_signal = sched::has_no_blocks(op.kind);
    call.bytes = sched::node_bytes(op);
    // A scatter's root reads all members' blocks, a member writes its own alone. Where these differ
    // in length, it takes what as many alike would.
    const sched::OperationRow& row = sched::row_of(op.kind);
    if (sched::has_unequal_parts(row) || call.collective == TUTTI_SCATTER) {
        call.bytes = std::max(call.bytes, sched::root_block(op).bytes / members);
    }
    return call;
}

}  // namespace

NodeTimes node_operation_times(const Operation& operation, uint32_t members,
                               const NodeParameters& parameters) {
    const node::Call call = call_of(operation, members);
    if (members < 2 || call.is_empty()) return {};
    node::Team team;
    team.size = members;
    team.slice.geometry = node::Geometry::make(members, kChunkBytes);
    // Without a root the last one stands for it, which has most to read and the fold of all.
    const uint32_t root =
        sched::runs_along(sched::row_of(operation)) ? members - 1 : operation.peer;
    team.rank = root;
    node::Cost cost = node::cost_of(team, call);
    const uint64_t root_ns = time_ns(cost, parameters);
    cost.rounds = 0;
    team.rank = (root + 1) % members;
    const uint64_t next_ns = time_ns(node::cost_of(team, call), parameters);
    return {std::max(root_ns, next_ns), time_ns(cost, parameters)};
}

}  // namespace tutti::price
