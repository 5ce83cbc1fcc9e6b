// SPDX-License-Identifier: BSD-3-Clause
#include "cli/node_level.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "engine/node_shape.h"
#include "node/team.h"

namespace tutti::cli {
namespace {

// Stands for a user's operator, which nobody calls here.
void no_operator(void*, const void*, void*, size_t) {}

node::Call node_call(const Call& call, uint64_t bytes) {
    node::Call result;
    result.collective = call.collective;
    result.root = call.root;
    result.bytes = bytes;
    result.reducer.element_bytes = call.shape(bytes).element_bytes;
    if (!call.is_commutative) result.reducer.user_fn = no_operator;
    return result;
}

// Processors of this machine where it has enough of them, else a core a rank that all share a
// cache.
node::Layout make_layout(const Call& call, std::string& where) {
    Settings settings = call.settings;
    const topo::CpuSet cpus = topo::affinity();
    if (!settings.topology.empty()) {
        where = "TUTTI_TOPOLOGY";
    } else if (cpus.count() >= call.ranks) {
        where = "this machine";
    } else {
        where = "a core for each, which all share a cache; TUTTI_TOPOLOGY says what else";
        settings.topology = "core:1";
    }
    return engine::tree_layout(
        engine::tree_parents(settings, std::vector<topo::CpuSet>(call.ranks, cpus)));
}

std::string meet(const Call& call, node::Layout& layout) {
    const bool is_told = call.settings.layout != LayoutChoice::kAuto;
    const std::string limit =
        fmt::format("{} {} ranks", call.ranks > engine::kFlatRanksMax ? "more than" : "up to",
                    engine::kFlatRanksMax);
    if (!engine::wants_tree(call.settings, call.ranks, false)) {
        return "all with all: " + (is_told ? "TUTTI_LAYOUT" : limit);
    }
    std::string where;
    layout = make_layout(call, where);
    return fmt::format("in a tree: {}; {}", is_told ? "TUTTI_LAYOUT" : limit, where);
}

bool may_use_tree(tutti_collective collective) {
    return collective == TUTTI_BARRIER || collective == TUTTI_BCAST ||
           is_reduction(collective);
}

}  // namespace

NodeLevel node_level(const Call& call, uint64_t bytes) {
    NodeLevel result;
    node::Team team;
    team.size = call.ranks;
    const node::CopyWay copy_way = node::best_copy_way();
    if (call.ranks > 1) {
        team.slice.geometry = engine::choose_geometry(call.settings, call.ranks, copy_way, 0);
        const size_t needed = team.slice.geometry.slice_bytes;
        if (needed > call.settings.memory_bytes) {
            result.obstacle =
                fmt::format("{} of shared memory for this communicator, TUTTI_MEMORY allows {}",
                            format_bytes(needed), format_bytes(call.settings.memory_bytes));
            return result;
        }
        if (may_use_tree(call.collective)) result.meeting = meet(call, team.layout);
    }
    team.pieces = node::piece_rule(copy_way);
    team.rank_order = call.settings.reproducible;
    if (bytes == 0 && call.collective != TUTTI_BARRIER) {
        result.algorithm = "nothing";
        result.why = "there are no bytes";
        return result;
    }
    const node::Call wanted = node_call(call, bytes);
    const node::Preview preview = node::preview(team, wanted);
    result.algorithm = preview.name;
    result.why = preview.why;
    // Large reductions go one way in both; some small ones may not use the tree that is there.
    const bool is_bcast = call.collective == TUTTI_BCAST;
    const bool is_small = bytes <= node::kInlineBytesMax;
    const bool is_met = is_bcast || (is_small && (team.layout.flat || result.algorithm == "tree"));
    if (!is_met) result.meeting.clear();
    for (team.rank = 0; team.rank < team.size; ++team.rank) {
        const node::Cost cost = node::cost_of(team, wanted);
        result.most.rounds = std::max(result.most.rounds, cost.rounds);
        result.most.written_bytes = std::max(result.most.written_bytes, cost.written_bytes);
        result.most.read_bytes = std::max(result.most.read_bytes, cost.read_bytes);
        result.most.folded_bytes = std::max(result.most.folded_bytes, cost.folded_bytes);
    }
    return result;
}

}  // namespace tutti::cli
