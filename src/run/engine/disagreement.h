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
// As members of a node have found. with.rank, own: of the team.
Why why_disagreed(uint64_t number, const node::CallNote& mine, const node::Disagreement& with,
                  uint32_t own);
// As a message across nodes shows.
Why why_disagreed(CallTrack& track, const transport::Disagreement& with);

}  // namespace tutti::engine
