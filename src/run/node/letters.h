// SPDX-License-Identifier: BSD-3-Clause
// Letters: short messages between ranks of a node, in a call of a schedule that follows arrivals
// (run/exec/meet_letters.h). There no rank knows beforehand which other one will write to it.
//
// All members begin such a call (start_letters) and end it, in their team's order of calls. In
// between each may write two letters, of kInlineBytesMax bytes at most, each once: the first into
// its up slot of the call, the second into its down slot. A rank that expects one looks there. So
// the words are those of slots (slice.h), written by their rank, and the same guard holds: a slot
// is written when all others have ended the call that used it last.
#pragma once

#include "run/node/node_team.h"

namespace tutti::node {

enum class Letter : uint8_t { kFirst, kSecond };

// Whether this rank may write those of the call.
bool may_write_letters(Team& team, Op& op);
// Others may see it from here on. Op.phase counts those that were written.
void write_letter(Team& team, Op& op, Letter letter, const std::byte* data, size_t bytes);
// The beginning of a letter, kLinePayloadBytes at most; nullptr: it is not there.
const std::byte* look_at_letter(const Team& team, const Op& op, Rank from, Letter letter);
// All of it; false: it is not yet there.
bool take_letter(const Team& team, const Op& op, Rank from, Letter letter, std::byte* out,
                 size_t bytes);
// This rank looks for no more of them. All others have begun the call.
void end_letters(Team& team, const Op& op);

}  // namespace tutti::node
