// SPDX-License-Identifier: BSD-3-Clause
// Allgather by multicast: see allgather_multicast.h.
#include "plan/algo/allgather_multicast.h"

namespace tutti::algo {

Algorithm allgather_multicast() { return allgather_multicast_of(TUTTI_ALLGATHER); }

}  // namespace tutti::algo
