// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter of blocks of any lengths straight from every rank to every rank: see
// reduce_scatter_direct.h.
#include "plan/algo/reduce_scatter_direct.h"

namespace tutti::algo {

Algorithm reduce_scatter_direct() { return reduce_scatter_direct_of(TUTTI_REDUCE_SCATTER); }

}  // namespace tutti::algo
