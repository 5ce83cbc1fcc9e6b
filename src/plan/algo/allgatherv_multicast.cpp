// SPDX-License-Identifier: BSD-3-Clause
// Allgatherv by multicast: see allgather_multicast.h.
#include "plan/algo/allgather_multicast.h"

namespace tutti::algo {

Algorithm allgatherv_multicast() { return allgather_multicast_of(TUTTI_ALLGATHERV); }

}  // namespace tutti::algo
