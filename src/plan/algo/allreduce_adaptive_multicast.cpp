// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of short vectors, rooted at the last arriver, which sends the result by one multicast:
// see plan/algo/meeting_round.h and allreduce_adaptive.cpp.
#include "plan/algo/meeting_round.h"

namespace tutti::algo {

Algorithm allreduce_adaptive_multicast() {
    Algorithm record = meeting_record<Releases::kByMulticast>(TUTTI_ALLREDUCE);
    record.summary = "to the last arriver, then one multicast";
    record.obstacle = [](const Shape& shape) -> std::string_view {
        if (auto why = unless_met_by_multicast(shape); !why.empty()) return why;
        return shape.bytes > kMeetingMulticastBytesMax ? kTooLongForMulticast : "";
    };
    record.segment_bytes = record.segment_bytes_max = kMeetingMulticastBytesMax;
    return record;
}

}  // namespace tutti::algo
