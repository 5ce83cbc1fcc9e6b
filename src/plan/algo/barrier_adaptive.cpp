// SPDX-License-Identifier: BSD-3-Clause
// Barrier rooted at the last arriver: see plan/algo/meeting_round.h.
#include "plan/algo/meeting_round.h"

namespace tutti::algo {

Algorithm barrier_adaptive() {
    Algorithm record = meeting_record<Releases::kAlongTree>(TUTTI_BARRIER);
    record.summary = "a tree rooted at the last arriver";
    return record;
}

}  // namespace tutti::algo
