// SPDX-License-Identifier: BSD-3-Clause
// A schedule on the tree of switches that its hosts are on: one small tree a step, each link with
// the messages that it carries up and down in that step.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/topo/fabric.h"
#include "base/topo/placement.h"
#include "lab/check/count.h"
#include "lab/explain/fabric_text.h"
#include "plan/algo/registry.h"
#include "plan/sched/shape.h"

namespace tutti::explain {

// The hosts of a call on their cluster: host i of both is node i of the placement.
struct HostsOnFabric {
    const FabricView& view;
    const topo::Fabric& fabric;  // of view.tree
    const topo::Placement& placement;
};

// An error where it would hold more than a person can look at.
Result<std::string> tree_drawing(const std::string& title, const HostsOnFabric& hosts,
                                 const std::vector<std::vector<check::Passage>>& steps);

// Of an algorithm that has no obstacle.
Result<std::string> draw_on_tree(const std::string& title, const algo::Algorithm& algorithm,
                                 const sched::Shape& shape, const HostsOnFabric& hosts,
                                 const algo::Tuning& tuning);

}  // namespace tutti::explain
