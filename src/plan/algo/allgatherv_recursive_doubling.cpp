// SPDX-License-Identifier: BSD-3-Clause
// Allgatherv by recursive doubling: see allgather_recursive_doubling.h.
#include "plan/algo/allgather_recursive_doubling.h"

namespace tutti::algo {

Algorithm allgatherv_recursive_doubling() {
    return allgather_recursive_doubling_of(TUTTI_ALLGATHERV);
}

}  // namespace tutti::algo
