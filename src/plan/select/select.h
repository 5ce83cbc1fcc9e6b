// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm runs a call, and why: one pure choice for all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/settings.h"
#include "base/topo/placement.h"
#include "plan/algo/registry.h"
#include "plan/sched/shape.h"
#include "plan/select/by_price.h"
#include "plan/select/rules.h"
#include "run/node/node_algorithms.h"

namespace tutti::select {

enum class Runs : uint8_t {
    kHost,  // your MPI
    kNode,  // the node level alone: a team on one host
    kPlan   // `algorithm`, by algo::make_plan
};

struct Choice {
    Runs runs = Runs::kHost;
    const algo::Algorithm* algorithm = nullptr;  // kPlan
    algo::Tuning tuning = {};
    std::string reason;  // a line for people
    // kNode: by this one; nullptr: the node level's own choice.
    const node::Algorithm* node_algorithm = nullptr;
    bool is_for_now = false;  // another one once sizes are compared
    // By what the user has forced or said in a rule of theirs: live tuning leaves it as it is.
    bool is_users = false;
    bool may_be_priced = false;  // what is measured between hosts could choose another
};

// Across hosts, a rule that leaves calls of some sizes only to the host MPI, where nobody compares,
// could send ranks that disagree on the size different ways, to wait for each other for ever. So it
// counts from there on: after so many calls of the collective, whose words were compared.
inline constexpr uint32_t kComparedCalls = 16;

// What all calls of an embedder are chosen by; all outlive what holds this.
struct Grounds {
    const Settings& settings;
    const Rules& rules;
    const char* host_mpi = nullptr;  // one of kHostMpiNames; nullptr: there is none
};

// Whether your MPI may run calls of a collective for which the user has decided nothing.
bool may_hand_back(const Grounds& grounds, tutti_collective collective);

// A call as the node level of a team on one host sees it.
struct NodeCall {
    const node::Team& team;
    const node::Call& call;
};

// Of barrier and allreduce: the last arriver releases all by multicast.
inline constexpr std::string_view kFollowing = "adaptive_multicast";

// A call, and all that decides how it runs; all ranks know it alike. What it refers to outlives it.
struct Question {
    const Rules& rules;
    const Settings& settings;   // of its `rules.forced` nothing counts, but `forced`
    const sched::Shape& shape;  // its ranks are those of the placement, its nodes are not set
    const topo::Placement& placement;
    std::string_view host_mpi;  // one of kHostMpiNames; empty: none, and nothing is handed to it
    // What is forced, as Rules::forced() or tutti_team_force() has it; nullptr: nothing.
    const Forced* forced = nullptr;
    // By a variable, where "adaptive" means by multicast where the team has it; else names are
    // exact.
    bool is_by_variable = false;
    // For messages only: what forced it, where it was not the variable; and why the shape has no
    // multicast.
    std::string_view forced_by = {};
    std::string_view no_multicast = {};
    // What calls across hosts cost, where parameters tell it (Rules::parameters); else nullptr.
    Prices* prices = nullptr;
    // The same by what was measured (plan/select/measured.h), where nobody has told any. Where they
    // do not lead (leading_prices), they count if the lowest is clearly below that of the built-in
    // rule's algorithm.
    Prices* measured = nullptr;
    // Whom node algorithms that are named are asked about, whether they can run; needed where the
    // placement has one host of several ranks.
    const NodeCall* on_node = nullptr;

    [[nodiscard]] bool is_on_one_host() const { return placement.nodes() == 1; }
    [[nodiscard]] bool is_reproducible() const {
        return settings.results.reproducible && is_reduction(shape.collective);
    }
};

// Depends on nothing but the question. What counts, in order:
//   1. a forced algorithm (TUTTI_ALLREDUCE=ring). One that cannot run this call is an error. On a
//      team of one host, where no message is sent, only `host` and node:NAME count; over several,
//      node:NAME cannot run the call.
//   2. TUTTI_REPRODUCIBLE: reductions over several hosts run `chain`, flat, whatever rules say.
//   3. the first rule that fits and whose algorithm can run this call, within TUTTI_SCRATCH: the
//      user's, then the tuned file's, then the built-in ones.
//   4. across hosts, where prices are known: the lowest, before the built-in rules.
//   5. where there are measured ones: one that is clearly below that of the messages by which a
//      built-in rule would run the call.
//   6. no rule left: the host MPI; an error where there is none.
Result<Choice> choose(const Question& question);

}  // namespace tutti::select
