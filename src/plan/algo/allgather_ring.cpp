// SPDX-License-Identifier: BSD-3-Clause
// Allgather on a ring: see allgather_ring.h.
#include "plan/algo/allgather_ring.h"

namespace tutti::algo {

Algorithm allgather_ring() { return allgather_ring_of(TUTTI_ALLGATHER); }

}  // namespace tutti::algo
