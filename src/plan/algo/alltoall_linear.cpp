// SPDX-License-Identifier: BSD-3-Clause
// Alltoall in which every rank sends each block straight to its rank: see alltoall_linear.h.
#include "plan/algo/alltoall_linear.h"

namespace tutti::algo {

Algorithm alltoall_linear() { return linear_of(TUTTI_ALLTOALL); }

}  // namespace tutti::algo
