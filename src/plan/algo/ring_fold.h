// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter on a ring: the first half of allreduce on a ring and of allreduce by multicast.
//
// Source: Patarasuk, Yuan 2007, doi:10.1109/IPDPS.2007.370405, section 3.2. Letters: p ranks, r own
// rank, s step.
//
// In step s, r sends block r - s - 1 to r + 1 and folds the block r - s - 2 that comes from r - 1
// into its own; after p - 1 steps it holds the whole result of block r. All numbers modulo p.
// Block b is folded along b + 1, b + 2, ..., b: rotated, so the operator must commute.
//
// Two landing areas are used by turns, so that a receive is posted one round ahead; empty blocks
// (fewer elements than ranks) are not sent.
#pragma once

#include "plan/algo/algorithms.h"

namespace tutti::algo {

// Step s < p - 1, p > 1: the arrival first, then the send, which waits for the one of the step
// before.
void add_ring_fold(const Shape& shape, Rank rank, uint64_t s, sched::Round& out);

// The landing areas.
inline uint64_t ring_fold_scratch(const Shape& shape) {
    return shape.ranks == 1 ? 0 : 2 * align_up(piece(shape, 0).bytes);
}

}  // namespace tutti::algo
