// SPDX-License-Identifier: BSD-3-Clause
// Alltoallw with one partner a round: see alltoall_pairwise.h.
#include "plan/algo/alltoall_pairwise.h"

namespace tutti::algo {

Algorithm alltoallw_pairwise() { return pairwise_of(TUTTI_ALLTOALLW); }

}  // namespace tutti::algo
