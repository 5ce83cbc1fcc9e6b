// SPDX-License-Identifier: BSD-3-Clause
// Barrier rooted at the last arriver, which releases all by one multicast: see
// plan/algo/meeting_round.h.
#include "plan/algo/meeting_round.h"

namespace tutti::algo {

Algorithm barrier_adaptive_multicast() {
    Algorithm record = meeting_record<Releases::kByMulticast>(TUTTI_BARRIER);
    record.summary = "to the last arriver, then one multicast";
    record.obstacle = unless_met_by_multicast;
    return record;
}

}  // namespace tutti::algo
