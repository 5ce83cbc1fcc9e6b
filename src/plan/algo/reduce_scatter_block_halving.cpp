// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter of equal blocks by recursive halving: see reduce_scatter_halving.h.
#include "plan/algo/reduce_scatter_halving.h"

namespace tutti::algo {

Algorithm reduce_scatter_block_halving() {
    return reduce_scatter_halving_of(TUTTI_REDUCE_SCATTER_BLOCK);
}

}  // namespace tutti::algo
