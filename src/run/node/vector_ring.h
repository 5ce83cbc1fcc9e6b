// SPDX-License-Identifier: BSD-3-Clause
// Of a vector form: where in its ring a rank writes the pieces of its long blocks.
//
// Nobody knows how many rounds others need, so such a call takes kRoundsMax of the bases on every
// rank. If places in the ring jumped as far, the first piece of a call would wait until all others
// have read the call before. So where one such call follows the other, a rank goes on in its ring
// behind what it wrote last, and tells each taker where (LongBlock::ring). Other calls, and lean
// teams, have the place of a round by its number. Inside node/ only.
#pragma once

#include "run/node/detail.h"

namespace tutti::node {

// More than a call has: blocks of 4 GiB, a line at a time, and others that were withdrawn. Longer
// ones may need more, and are refused at both ends. Counters of 64 bits last for 2^37 such calls.
inline constexpr uint64_t kRoundsMax = 2 * kOfferedRound;

// Before the cells of a call, which is planned. tells_places: they say where its rounds stand.
void enter_ring(Team& team, const Op& op, bool tells_places);
// Of the call that has entered: the place of this rank's first round, of blocks that are offered
// or of others, as an index of its chunks.
uint64_t ring_place(const Team& team, bool is_offered);
// Whether the next round may be written there.
bool may_write_round(Team& team, Op& op);
// Where it is to be written; counts it.
std::byte* next_chunk(Team& team, const Op& op);

}  // namespace tutti::node
