// SPDX-License-Identifier: BSD-3-Clause
// Alltoallv in which every rank sends each block straight to its rank: see alltoall_linear.h.
#include "plan/algo/alltoall_linear.h"

namespace tutti::algo {

Algorithm alltoallv_linear() { return linear_of(TUTTI_ALLTOALLV); }

}  // namespace tutti::algo
