// SPDX-License-Identifier: BSD-3-Clause
// One call of all ranks of a simulated team across hosts (sim/script.h), by a given algorithm, with
// what the ranks keep while it lasts: as the engine does it (run/engine/program_runner.cpp).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/topo/placement.h"
#include "lab/simulate/cluster_simulator.h"
#include "plan/algo/plan.h"
#include "plan/sched/block_lengths.h"
#include "run/engine/block_places.h"
#include "sim/script.h"

namespace tutti::test {

struct Choice {
    const algo::Algorithm* algorithm = nullptr;
    algo::Tuning tuning;
};
std::string text_of(const Choice& choice);

class TeamCall {
  public:
    // The placement outlives it.
    TeamCall(const Spec& spec, const topo::Placement& placement);
    TeamCall(const TeamCall&) = delete;
    TeamCall& operator=(const TeamCall&) = delete;

    // What all ranks know alike of it.
    [[nodiscard]] const sched::Shape& shape() const { return shape_; }
    // Adds it for all ranks of the team. waits: whether this rank's process waits for it. The
    // choice has no obstacle. Empty, or what went wrong.
    std::string add(simulate::ClusterSimulator& simulator, uint32_t team, const Choice& choice,
                    const std::function<bool(uint32_t)>& waits);
    // Once it has run. Empty, or what is wrong.
    [[nodiscard]] std::string check();

  private:
    const topo::Placement& placement_;
    sched::OwnLengths lengths_;
    sched::Shape shape_;
    Exchange exchange_;
    std::vector<engine::BlockPlaces> places_;  // by rank
};

}  // namespace tutti::test
