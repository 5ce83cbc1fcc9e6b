// SPDX-License-Identifier: BSD-3-Clause
// All algorithms that could run a call, with what each would cost: the table of `tutti explain`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/topo/placement.h"
#include "lab/explain/schedule_cost.h"
#include "plan/algo/registry.h"
#include "plan/sched/shape.h"
#include "plan/select/predict.h"
#include "plan/select/select.h"

namespace tutti::explain {

struct Candidate {
    const algo::Algorithm* algorithm = nullptr;
    bool is_chosen = false;
    std::string_view obstacle;  // why it cannot run this; then it has no cost
    Cost cost;
    std::optional<uint64_t> ns;  // predicted; none: nothing tells how fast multicasts are
    select::Method method = select::Method::kFollowed;  // how
    // From the last arrival on, where one rank is late (select::predicted_late_ns): of that skew.
    std::optional<uint64_t> late_ns = {};
};

struct Comparison {
    std::vector<Candidate> candidates;  // in the registry's order
    bool are_followed = true;           // the rounds of all are known
    bool has_multicasts = false;        // one of them sends some
};

// The chosen one with its tuning, the others with their own.
Comparison compare(const sched::Shape& shape, const topo::Placement& placement,
                   const select::Choice& choice, const select::Cluster& cluster,
                   std::optional<uint64_t> skew_ns = {});

// From which skew on one that follows who arrives is faster than the one that runs, or, where that
// follows too or the host MPI's own runs, than the one with the lowest price of those that do not
// and may run unnamed.
struct Following {
    const algo::Algorithm* follower = nullptr;
    const algo::Algorithm* fixed = nullptr;
    uint64_t from_ns = 0;  // select::faster_from_ns()
};
std::vector<Following> followings(const Comparison& comparison, const sched::Shape& shape,
                                  const topo::Placement& placement, const select::Choice& choice,
                                  const select::Cluster& cluster);

}  // namespace tutti::explain
