// SPDX-License-Identifier: BSD-3-Clause
// What rules and settings say of calls of a team on one node: those that they leave to your MPI,
// and those that they run by a named node algorithm. Only made where some rule or setting can do
// either, so that all other teams pay nothing; and calls that no rule is about pay two comparisons.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/topo/placement.h"
#include "plan/sched/shape.h"
#include "plan/select/rules.h"
#include "plan/select/select.h"

namespace tutti::select {

struct NodeAnswer {
    bool is_host = false;
    bool is_users = false;                       // as Choice's
    const node::Algorithm* algorithm = nullptr;  // nullptr: the node level's own choice
};

class NodeChoice {
  public:
    // nullptr where the rules have nothing to say on a team of so many ranks on one node.
    static std::unique_ptr<NodeChoice> create(const Grounds& grounds, uint32_t ranks);
    // For force() alone.
    static std::unique_ptr<NodeChoice> create_silent(const Grounds& grounds, uint32_t ranks);

    // False: no rule is about such a call, whatever else is said of it.
    [[nodiscard]] bool is_about(tutti_collective collective, uint64_t bytes) const {
        const auto& range = said_[collective];
        return range && range->contains(bytes);
    }
    // By force().
    [[nodiscard]] bool is_forced(tutti_collective collective) const {
        return forced_[collective].has_value();
    }
    // Remembers what it answered; the same on all ranks. The root does not count. An error is that
    // of the call.
    Result<NodeAnswer> says(const sched::Shape& shape, const NodeCall& on_node);
    // See tutti_team_force(). The same on all ranks.
    Result<Done> force(const sched::Shape& shape, const NodeCall& on_node,
                       const std::string& algorithm);

  private:
    // Per collective the least range of bytes that holds all that some rule is about.
    using Ranges = std::array<std::optional<Range>, TUTTI_COLLECTIVE_COUNT>;
    struct Answer {
        sched::Shape shape;
        uint64_t all_bytes = 0;  // of blocks whose lengths differ
        bool is_user_op = false;
        bool is_known = false;
        NodeAnswer said;
        std::string error;  // empty: none
    };
    static constexpr size_t kAnswers = 64;

    NodeChoice(const Grounds& grounds, uint32_t ranks);
    static void add(const Grounds& grounds, const Rules& rules, uint32_t ranks, Ranges& said);
    static void add_forced(const Grounds& grounds, tutti_collective collective,
                           const Forced& forced, Ranges& said);
    [[nodiscard]] Result<Choice> choose(const sched::Shape& shape, const NodeCall& on_node,
                                        const std::optional<Forced>& forced) const;
    const Answer& answer(sched::Shape shape, const NodeCall& on_node);

    Grounds grounds_;
    topo::Placement placement_;
    Ranges by_rules_;  // and settings
    Ranges said_;      // and by force()
    // By force(), of each collective.
    std::array<std::optional<Forced>, TUTTI_COLLECTIVE_COUNT> forced_;
    std::array<Answer, kAnswers> answers_;
};

}  // namespace tutti::select
