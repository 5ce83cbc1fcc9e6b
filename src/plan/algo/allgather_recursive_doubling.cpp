// SPDX-License-Identifier: BSD-3-Clause
// Allgather by recursive doubling: see allgather_recursive_doubling.h.
#include "plan/algo/allgather_recursive_doubling.h"

namespace tutti::algo {

Algorithm allgather_recursive_doubling() {
    return allgather_recursive_doubling_of(TUTTI_ALLGATHER);
}

}  // namespace tutti::algo
