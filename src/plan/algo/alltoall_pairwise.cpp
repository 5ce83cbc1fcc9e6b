// SPDX-License-Identifier: BSD-3-Clause
// Alltoall with one partner a round: see alltoall_pairwise.h.
#include "plan/algo/alltoall_pairwise.h"

namespace tutti::algo {

Algorithm alltoall_pairwise() { return pairwise_of(TUTTI_ALLTOALL); }

}  // namespace tutti::algo
