// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of short vectors, rooted at the last arriver: see plan/algo/meeting_round.h. Longer
// ones are cut into lanes.
//
// Operands keep their order; how they are put in parentheses depends on who came when, so floating
// point may differ in its last bits from call to call (not from rank to rank).
#include "plan/algo/meeting_round.h"

namespace tutti::algo {

Algorithm allreduce_adaptive() {
    Algorithm record = meeting_record<Releases::kAlongTree>(TUTTI_ALLREDUCE);
    record.summary = "a tree rooted at the last arriver";
    record.obstacle = [](const Shape& shape) -> std::string_view {
        return shape.bytes > kMeetingBytesMax ? "a message would be longer than 32 KiB" : "";
    };
    record.segment_bytes = record.segment_bytes_max = kMeetingBytesMax;
    return record;
}

}  // namespace tutti::algo
