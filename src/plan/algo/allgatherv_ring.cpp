// SPDX-License-Identifier: BSD-3-Clause
// Allgatherv on a ring: see allgather_ring.h.
#include "plan/algo/allgather_ring.h"

namespace tutti::algo {

Algorithm allgatherv_ring() { return allgather_ring_of(TUTTI_ALLGATHERV); }

}  // namespace tutti::algo
