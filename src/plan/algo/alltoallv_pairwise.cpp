// SPDX-License-Identifier: BSD-3-Clause
// Alltoallv with one partner a round: see alltoall_pairwise.h.
#include "plan/algo/alltoall_pairwise.h"

namespace tutti::algo {

Algorithm alltoallv_pairwise() { return pairwise_of(TUTTI_ALLTOALLV); }

}  // namespace tutti::algo
