// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter of blocks of any lengths on a ring: see reduce_scatter_ring.h.
#include "plan/algo/reduce_scatter_ring.h"

namespace tutti::algo {

Algorithm reduce_scatter_ring() { return reduce_scatter_ring_of(TUTTI_REDUCE_SCATTER); }

}  // namespace tutti::algo
