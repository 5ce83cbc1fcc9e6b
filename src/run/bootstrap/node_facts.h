// SPDX-License-Identifier: BSD-3-Clause
// What the members of a node find out about each other when they first make a team: whether all can
// read in the memory of all, and how fast data moves between them. Later teams of the same
// processes take it from there.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/arena/process_memory.h"
#include "run/bootstrap/make_node.h"
#include "run/engine/context.h"
#include "run/node/meter.h"
#include "run/node/node_team.h"
#include "run/node/read_once.h"
#include "run/node/tuning.h"

namespace tutti::bootstrap {

// Tries it by calls of a team of its own, on memory that is proved and that nobody else uses.
class FactFinder {
  public:
    // Allocates all that run() cannot do without. team: of which this one takes place, layout and
    // memory; is_crowded: ranks share processors, and each measures by itself. Both outlive this.
    FactFinder(engine::Context& context, const node::Team& team,
               std::span<const NodeMember> members, bool is_crowded);
    ~FactFinder();
    FactFinder(const FactFinder&) = delete;
    FactFinder& operator=(const FactFinder&) = delete;

    // Waits for the other members, who all do the same; cannot fail. The same facts on all.
    engine::NodeFacts run();

  private:
    struct Place;
    struct Verdict;
    void try_reading(engine::NodeFacts& facts);

    engine::Context& context_;
    node::Team team_;
    std::shared_ptr<arena::ProcessMemory> by_process_;
    std::shared_ptr<node::PeerMemory> memory_;
    std::string obstacle_;  // to all reading; empty: it is tried
    std::vector<Place> places_;
    std::vector<Verdict> verdicts_;  // what each has come to
    std::optional<node::Meter> meter_;
    std::optional<node::ReadOnce> once_;  // in place of the meter, where ranks share processors
};

// Whether there may be anything to find out.
bool wants_facts(const Settings& settings, bool is_crowded);

// What settings and facts allow, in long rings.
node::Tuning tuning_of(const engine::NodeFacts& facts, const Settings& settings, uint32_t ranks);

// The team, whose slice is known, is to move data as the facts say. Allocates.
void apply(const engine::NodeFacts& facts, engine::Context& context,
           std::span<const NodeMember> members, node::Team& team);

// Equal for teams of the same processes, in whatever order.
uint64_t set_hash(std::span<const NodeMember> members);

}  // namespace tutti::bootstrap
