// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of short vectors, whose root is whoever comes last: see algo/meeting.h. Longer ones are
// cut into lanes.
//
// Operands keep their order; how they are put in parentheses depends on who came when, so floating
// point may differ in its last bits from call to call (not from rank to rank).
#include "algo/meeting.h"

namespace tutti::algo {

Algorithm allreduce_adaptive() {
    return {.name = MeetingProgram::kName,
            .collective = TUTTI_ALLREDUCE,
            .summary = "a tree whose root is whoever comes last",
            .obstacle = [](const Shape& shape) -> std::string_view {
                return shape.bytes > kMeetingBytesMax ? "a message would be longer than 32 KiB"
                                                      : "";
            },
            .make = make<MeetingProgram>,
            .scratch_bytes = meeting_scratch_bytes,
            .steps = meeting_steps,
            .segment_bytes = kMeetingBytesMax,
            .has_fan_in = true,
            .segment_bytes_max = kMeetingBytesMax,
            .fan_in_max = kMeetingFanInMax,
            .follows_arrival = true};
}

}  // namespace tutti::algo
