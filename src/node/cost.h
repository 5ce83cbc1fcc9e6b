// SPDX-License-Identifier: BSD-3-Clause
// What a call costs its ranks, counted from what they would do: for `tutti explain`.
#pragma once

#include <cstdint>

#include "node/team.h"

namespace tutti::node {

struct Cost {
    // Flags of the longest chain that wait for each other.
    uint64_t rounds = 0;
    // Payload in shared memory, of one rank; copies within its own memory are left out.
    uint64_t written_bytes = 0;
    uint64_t read_bytes = 0;
    uint64_t folded_bytes = 0;
};

struct Algorithm;
// Of team.rank. The call is not in place; the team needs no memory.
Cost cost_of(const Team& team, const Call& call, const Algorithm& algorithm);
// By the one that start() would choose.
Cost cost_of(const Team& team, const Call& call);

}  // namespace tutti::node
