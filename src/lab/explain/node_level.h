// SPDX-License-Identifier: BSD-3-Clause
// What the node level does with a call of a team on one host, for `tutti explain`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/explain/scenario.h"
#include "plan/select/select.h"
#include "run/node/node_algorithms.h"

namespace tutti::explain {

// What a team of a node once measured.
struct MeasuredNode {
    std::string host;
    uint32_t ranks = 0;
    bool can_read = false;  // all in the memory of all
    node::Figures figures;  // a barrier at least
    // "2 ranks of node7 measured: barrier 0.06 us; ..."
    [[nodiscard]] std::string text() const;
};
// How a team of so many would move data by it, under these settings.
node::Tuning tuning_of(const MeasuredNode& measured, const Settings& settings, uint32_t ranks);

// The team and the call as the node level sees them. A core for every rank is assumed. The order of
// the ranks' operands is kept under TUTTI_REPRODUCIBLE and where the operator does not commute.
struct NodeSide {
    std::string obstacle;  // why there is no memory for such a team
    std::string meeting;   // how its ranks meet
    node::Team team;
    node::Call call;
    std::string tuned;  // how its ranks would move long data, and by which figures
    std::optional<MeasuredNode> measured;
};
NodeSide node_side(const Scenario& scenario, uint64_t bytes,
                   const std::optional<MeasuredNode>& measured = {});

// One algorithm of the node level.
struct NodeWay {
    std::string_view name;
    bool is_chosen = false;
    std::string_view obstacle = {};   // why it cannot run this; then it has no cost
    std::string_view when = {};       // it is chosen
    node::Cost most = {};             // of the rank that has most, each number by itself
    std::optional<uint64_t> ns = {};  // of the rank that takes longest, by what was measured
};
struct NodeLevel {
    std::string algorithm;
    std::string why;      // empty: it was named
    std::string meeting;  // how the ranks meet; empty where that makes no difference
    std::string tuned;    // how they move data; empty where that makes no difference
    std::vector<NodeWay> ways;
};
// side: without obstacle. named: by the choice; nullptr: the node level chooses.
NodeLevel node_level(NodeSide& side, const node::Algorithm* named);

}  // namespace tutti::explain
