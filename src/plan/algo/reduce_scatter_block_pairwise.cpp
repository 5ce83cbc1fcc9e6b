// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter of equal blocks in p - 1 rounds of pairs: see reduce_scatter_pairwise.h.
#include "plan/algo/reduce_scatter_pairwise.h"

namespace tutti::algo {

Algorithm reduce_scatter_block_pairwise() {
    return reduce_scatter_pairwise_of(TUTTI_REDUCE_SCATTER_BLOCK);
}

}  // namespace tutti::algo
