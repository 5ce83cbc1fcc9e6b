// SPDX-License-Identifier: BSD-3-Clause
// Allgatherv on a circulant graph: see allgather_bruck.h.
#include "plan/algo/allgather_bruck.h"

namespace tutti::algo {

Algorithm allgatherv_bruck() { return allgather_bruck_of(TUTTI_ALLGATHERV); }

}  // namespace tutti::algo
