// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter of blocks of any lengths by recursive halving: see reduce_scatter_halving.h.
#include "plan/algo/reduce_scatter_halving.h"

namespace tutti::algo {

Algorithm reduce_scatter_halving() { return reduce_scatter_halving_of(TUTTI_REDUCE_SCATTER); }

}  // namespace tutti::algo
