// SPDX-License-Identifier: BSD-3-Clause
// What a call costs its ranks, counted from what they would do: for `tutti explain`.
#pragma once

#include <cstdint>

#include "run/node/node_team.h"

namespace tutti::node {

struct Cost {
    // Flags of the longest chain that wait for each other.
    uint64_t rounds = 0;
    // Payload in shared memory, of one rank.
    uint64_t written_bytes = 0;
    uint64_t read_bytes = 0;
    uint64_t folded_bytes = 0;
    // What others write before this rank's first read.
    uint64_t first_bytes = 0;
    // Copies within its own memory.
    uint64_t own_bytes = 0;
};

// Leaders of a reduction of so many bytes along a tree, at a time: as many as weigh least.
Rank turns_for(const Layout& layout, size_t bytes);
// Whether it weighs less than the same by `split`, or by `direct`. What is measured has no say
// here, since the order of operands follows.
bool turns_beat_split(const Layout& layout, Rank ranks, size_t bytes);
bool turns_beat_direct(const Layout& layout, Rank ranks, size_t bytes);

struct Algorithm;
// Of team.rank. The call is not in place; the team needs no memory.
Cost cost_of(const Team& team, const Call& call, const Algorithm& algorithm);
// By the one that start() would choose.
Cost cost_of(const Team& team, const Call& call);

}  // namespace tutti::node
