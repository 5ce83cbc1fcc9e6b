// SPDX-License-Identifier: BSD-3-Clause
// Allgather on a circulant graph: see allgather_bruck.h.
#include "plan/algo/allgather_bruck.h"

namespace tutti::algo {

Algorithm allgather_bruck() { return allgather_bruck_of(TUTTI_ALLGATHER); }

}  // namespace tutti::algo
