// SPDX-License-Identifier: BSD-3-Clause
// Alltoallw in which every rank sends each block straight to its rank: see alltoall_linear.h.
#include "plan/algo/alltoall_linear.h"

namespace tutti::algo {

Algorithm alltoallw_linear() { return linear_of(TUTTI_ALLTOALLW); }

}  // namespace tutti::algo
