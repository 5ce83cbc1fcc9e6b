// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/node_level.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "plan/price/node_speed.h"
#include "run/bootstrap/node_shape.h"
#include "run/node/figures_text.h"
#include "run/node/node_team.h"

namespace tutti::explain {
namespace {

// Stands for a user's operator, which nobody calls here.
void no_operator(void*, const void*, void*, size_t) {}

node::Call node_call(const Scenario& scenario, uint64_t bytes) {
    node::Call result;
    result.collective = scenario.collective;
    result.root = scenario.root;
    result.bytes = bytes;
    result.reducer.element_bytes = scenario.shape(bytes).element_bytes;
    if (!scenario.is_commutative) result.reducer.user_fn = no_operator;
    return result;
}

// Processors of this machine where it has enough of them, else a core a rank that all share a
// cache.
node::Layout make_layout(const Scenario& scenario, std::string& where) {
    Settings settings = scenario.settings;
    const topo::CpuSet cpus = topo::affinity();
    if (!settings.node.topology.empty()) {
        where = "TUTTI_TOPOLOGY";
    } else if (cpus.count() >= scenario.ranks) {
        where = "this machine";
    } else {
        where = "a core for each, which all share a cache; TUTTI_TOPOLOGY says what else";
        settings.node.topology = "core:1";
    }
    return bootstrap::tree_layout(bootstrap::encode_tree(
        bootstrap::rank_groups(settings, std::vector<topo::CpuSet>(scenario.ranks, cpus)),
        scenario.ranks));
}

std::string meet(const Scenario& scenario, node::Layout& layout) {
    const bool is_told = scenario.settings.node.layout != LayoutChoice::kAuto;
    const std::string limit = fmt::format(
        "{} {} ranks", scenario.ranks > bootstrap::kFlatRanksMax ? "more than" : "up to",
        bootstrap::kFlatRanksMax);
    if (!bootstrap::wants_tree(scenario.settings, scenario.ranks, false)) {
        return "all with all: " + (is_told ? "TUTTI_LAYOUT" : limit);
    }
    std::string where;
    layout = make_layout(scenario, where);
    return fmt::format("in a tree: {}; {}", is_told ? "TUTTI_LAYOUT" : limit, where);
}

node::TuningLimits limits_of(const Settings& settings, bool can_read, uint32_t ranks) {
    return {.piece_bytes_max = bootstrap::piece_bytes_max(settings),
            .has_single = can_read && settings.node.single_copy != SingleCopyChoice::kOff,
            .is_always_single = settings.node.single_copy == SingleCopyChoice::kOn,
            .ranks = ranks,
            .is_flat = !bootstrap::wants_tree(settings, ranks, false)};
}

// Stands for that of ranks that nobody runs.
class NoMemory final : public node::PeerMemory {
  public:
    bool read(node::Rank, std::byte*, uint64_t, size_t) override { return false; }
};

// A scenario has no processors between which anything could be measured.
std::string untried(const Settings& settings, const node::Tuning& tuning, uint32_t ranks) {
    const node::TuningLimits limits = limits_of(settings, true, ranks);
    return fmt::format(
        "nothing measured: {}",
        node::consequence_text({}, node::tune({}, tuning, limits), limits.has_single));
}

node::Cost most_of(node::Team& team, const node::Call& call, const node::Algorithm& algorithm) {
    node::Cost most;
    for (team.rank = 0; team.rank < team.size; ++team.rank) {
        const node::Cost cost = node::cost_of(team, call, algorithm);
        most.rounds = std::max(most.rounds, cost.rounds);
        most.written_bytes = std::max(most.written_bytes, cost.written_bytes);
        most.read_bytes = std::max(most.read_bytes, cost.read_bytes);
        most.folded_bytes = std::max(most.folded_bytes, cost.folded_bytes);
    }
    team.rank = 0;
    return most;
}

// A single copy reads at the rate that was measured for it, one way.
std::optional<uint64_t> time_of(node::Team& team, const node::Call& call,
                                const node::Algorithm& algorithm, const MeasuredNode& measured) {
    const bool is_single = std::string_view(algorithm.name) == "single";
    const auto speeds = is_single ? price::single_speeds_of(measured.figures, call.bytes)
                                  : price::speeds_of(measured.figures, team.tuning, measured.ranks);
    if (!speeds) return std::nullopt;
    uint64_t most = 0;
    for (team.rank = 0; team.rank < team.size; ++team.rank) {
        most = std::max(most, price::time_ns(node::cost_of(team, call, algorithm), *speeds));
    }
    team.rank = 0;
    return most;
}

}  // namespace

std::string MeasuredNode::text() const {
    std::string all;
    for (const std::string& line : node::figures_text(figures)) {
        all += (all.empty() ? "" : "; ") + line;
    }
    return fmt::format("{} ranks of {} measured: {}", ranks, host.empty() ? "a host" : host, all);
}

node::Tuning tuning_of(const MeasuredNode& measured, const Settings& settings, uint32_t ranks) {
    return node::tune(measured.figures, bootstrap::default_tuning(settings, ranks),
                      limits_of(settings, measured.can_read, ranks));
}

NodeSide node_side(const Scenario& scenario, uint64_t bytes,
                   const std::optional<MeasuredNode>& measured) {
    NodeSide side;
    side.measured = measured;
    node::Team& team = side.team;
    team.size = scenario.ranks;
    team.tuning = bootstrap::default_tuning(scenario.settings, scenario.ranks);
    side.tuned = untried(scenario.settings, team.tuning, scenario.ranks);
    team.tuning.has_cores = true;  // as elsewhere in a scenario
    if (measured) {
        team.tuning = tuning_of(*measured, scenario.settings, scenario.ranks);
        const bool has_single =
            limits_of(scenario.settings, measured->can_read, scenario.ranks).has_single;
        if (has_single) team.single_copy.peers = std::make_shared<NoMemory>();
        side.tuned = node::consequence_text(measured->figures, team.tuning, has_single);
    }
    if (scenario.ranks > 1) {
        team.slice.geometry =
            bootstrap::choose_geometry(scenario.settings, scenario.ranks, team.tuning, 0);
        const size_t needed = team.slice.geometry.slice_bytes;
        if (needed > scenario.settings.node.memory_bytes) {
            side.obstacle = fmt::format(
                "{} of shared memory for this communicator, TUTTI_MEMORY allows {}",
                format_bytes(needed), format_bytes(scenario.settings.node.memory_bytes));
        } else if (node::find(scenario.collective, "tree") || is_prefix(scenario.collective)) {
            side.meeting = meet(scenario, team.layout);
        }
    }
    team.rank_order = scenario.settings.results.reproducible;
    side.call = node_call(scenario, bytes);
    return side;
}

NodeLevel node_level(NodeSide& side, const node::Algorithm* named) {
    NodeLevel result;
    const node::Call& call = side.call;
    const bool has_data = tutti::has_data(call.collective);
    if (call.bytes == 0 && has_data) {
        result.algorithm = "nothing";
        result.why = "there are no bytes";
        result.ways.push_back({.name = "nothing", .is_chosen = true});
        return result;
    }
    const bool is_named = named != nullptr && side.team.size > 1;
    const node::Algorithm& chosen = is_named ? *named : node::chosen(side.team, call);
    result.algorithm = chosen.name;
    if (!is_named) result.why = chosen.when;
    // Some reductions may not use the tree that is there.
    const bool is_bcast = call.collective == TUTTI_BCAST;
    const bool is_small = chosen.plan == nullptr;
    const bool is_flat = side.team.layout.flat;
    const bool is_tree = result.algorithm == "tree" || result.algorithm == "turns";
    if (is_bcast || is_tree || (is_small && is_flat)) result.meeting = side.meeting;
    if (has_data && !is_small && side.team.size > 1) result.tuned = side.tuned;
    if (side.team.size == 1) {
        result.ways.push_back({.name = chosen.name, .is_chosen = true, .when = chosen.when});
        return result;
    }
    for (const node::Algorithm* one : node::algorithms(call.collective)) {
        NodeWay way{
            one->name, one->step == chosen.step, one->obstacle(side.team, call), one->when, {}, {}};
        if (way.is_chosen) way.when = chosen.when;
        if (way.obstacle.empty()) way.most = most_of(side.team, call, *one);
        if (way.obstacle.empty() && side.measured) {
            way.ns = time_of(side.team, call, *one, *side.measured);
        }
        result.ways.push_back(way);
    }
    return result;
}

}  // namespace tutti::explain
