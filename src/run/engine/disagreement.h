// SPDX-License-Identifier: BSD-3-Clause
// The line that says how ranks of a team do not run the same call.
#pragma once

#include <cstdint>

#include "run/engine/call_track.h"
#include "run/engine/runner.h"
#include "run/node/word.h"
#include "run/transport/transport.h"

namespace tutti::engine {

// The call `number` of this rank, and what `rank` takes it to be; nullptr: something else.
Why why_disagreed(uint64_t number, const node::CallNote& mine, uint32_t rank,
                  const node::CallNote* theirs);
// The same call, a vector form, in which `from` sends `to` another length than that waits for.
// to: node::kNoRank where it is not known.
Why why_lengths_differ(uint64_t number, const node::CallNote& mine, uint32_t from, uint32_t to);
// As a message across nodes shows.
Why why_disagreed(CallTrack& track, const transport::Disagreement& with);

}  // namespace tutti::engine
