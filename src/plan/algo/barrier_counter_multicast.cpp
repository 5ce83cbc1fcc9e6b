// SPDX-License-Identifier: BSD-3-Clause
// Barrier by a counter at rank 0, or at each parent of a tree, then one multicast: see
// plan/algo/counter_tree.h and barrier_gather_multicast.cpp.
#include "plan/algo/counter_tree.h"

namespace tutti::algo {

Algorithm barrier_counter_multicast() {
    Algorithm record = counted_record<true>();
    record.summary = "adds up at counters, then one multicast";
    return record;
}

}  // namespace tutti::algo
