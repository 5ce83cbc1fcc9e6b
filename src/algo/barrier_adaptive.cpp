// SPDX-License-Identifier: BSD-3-Clause
// Barrier whose root is whoever comes last: see algo/meeting.h.
#include "algo/meeting.h"

namespace tutti::algo {

Algorithm barrier_adaptive() {
    return {.name = MeetingProgram::kName,
            .collective = TUTTI_BARRIER,
            .summary = "a tree whose root is whoever comes last",
            .make = make<MeetingProgram>,
            .scratch_bytes = meeting_scratch_bytes,
            .steps = meeting_steps,
            .has_fan_in = true,
            .fan_in_max = kMeetingFanInMax,
            .follows_arrival = true};
}

}  // namespace tutti::algo
