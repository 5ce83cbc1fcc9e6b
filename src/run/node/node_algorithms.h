// SPDX-License-Identifier: BSD-3-Clause
// The table of node algorithms: what each is, which one runs a call, and why the others do not.
#pragma once

#include <string_view>
#include <vector>

#include "run/node/cost.h"
#include "run/node/node_team.h"

namespace tutti::node {

// Whose deeds can end the wait of a rank that is not the root.
enum class Wakes : uint8_t {
    kSome,       // of whom it waits for at the time
    kAll,        // every rank waits for all others at once: only the last one's
    kRoot,       // the root's
    kRootIfFlat  // the same where ranks meet all with all
};

struct Algorithm {
    const char* name;
    StepFunction step;
    void (*plan)(const Team&, Op&);  // nullptr: in slots, which need no plan
    // Of team.rank; op is planned.
    Cost (*cost)(const Team&, const Op& op);
    Wakes wakes;
    const char* when;  // it is chosen, in a few words for people
    // Empty if it can run the call of a team of several ranks, else why not.
    std::string_view (*obstacle)(const Team&, const Call&);
};

// Of a collective: those that can be named, in the order of the sizes that they are for.
std::vector<const Algorithm*> algorithms(tutti_collective collective);
// nullptr where there is none of this name.
const Algorithm* find(tutti_collective collective, std::string_view name);
// The one that start() would choose.
const Algorithm& chosen(const Team& team, const Call& call);

// As start(team, op), by this one, which has no obstacle: the same on all ranks.
void start(Team& team, Op& op, const Algorithm& algorithm);

// What start() would do, without doing it: for a team without memory, too. The call is planned, not
// begun.
Op planned(const Team& team, const Call& call, const Algorithm& algorithm);

}  // namespace tutti::node
