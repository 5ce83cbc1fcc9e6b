// SPDX-License-Identifier: BSD-3-Clause
// Barrier by a counter at rank 0, or at each parent of a tree, which tells all down the same tree:
// see plan/algo/counter_tree.h and barrier_tree.cpp.
//
// Example, N = 4:  1, 2 and 3 add 1 at 0, which sees 3 more than before;  0 -> 3, 2, 1
#include "plan/algo/counter_tree.h"

namespace tutti::algo {

Algorithm barrier_counter() {
    Algorithm record = counted_record<false>();
    record.summary = "adds up at counters, then releases down the same tree";
    return record;
}

}  // namespace tutti::algo
